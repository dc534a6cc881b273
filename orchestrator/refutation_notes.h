// What audits have refuted of a results root's trials, noted in the root and in the results folder: it stays
// known where the report beside a trial is lost or cannot be read. ROOT/refuted/TRIAL-DIGEST.json, a report
// as audit.json is; the name alone says that there is one.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "experiments/privacy/audit_report.h"
#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::orchestrator {

inline constexpr std::uint64_t kMostBytesOfReport = std::uint64_t{16} << 20;

// Where they lie below `root`, which may be a results folder, too.
[[nodiscard]] std::string RefutationsFolder(const std::string& root);

// What was noted when it was listed.
class RefutationNotes {
 public:
  RefutationNotes(storage::Env& env, const std::string& root);

  // Why nobody can say what is noted; empty when it is known.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Of any result of the trial (16 hex digits).
  [[nodiscard]] bool Names(const std::string& trial) const;
  // Of the result with that row digest; nothing when there is none. Error: environment or damage, for one that is noted and
  // cannot be read.
  [[nodiscard]] Result<std::optional<privacy::AuditReport>> Of(const std::string& trial,
                                                               const std::string& row_digest) const;

 private:
  storage::Env& env_;
  std::string folder_, trouble_;
  std::set<std::string> names_;
};

// Durable on return; by rename. Error: environment, or damage for a report of no trial.
[[nodiscard]] Status NoteRefutation(storage::Env& env, const std::string& root, const privacy::AuditReport& report);

}  // namespace retort::orchestrator
