// Stores and reads the reports of audits. A report lies beside its trial (TRIAL/audit.json). One that refutes a claim
// is also noted in the results root and in the results folder (ROOT/refuted/TRIAL-DIGEST.json): so it stays known where
// the report beside the trial is lost or cannot be read. The name of a note alone says that there is one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/audit_report.h"
#include "orchestrator/results/results_view.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

inline constexpr std::uint64_t kMaxBytesOfReport = std::uint64_t{16} << 20;

// Where they lie below `root`, which may be a results folder, too.
[[nodiscard]] std::string GetRefutationsFolder(const std::string& root);

// What was noted when it was listed.
class RefutationNotes {
 public:
  RefutationNotes(storage::Env& env, const std::string& root);

  // Why nobody can say what is noted; empty when it is known.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Of any result of the trial (16 hex digits).
  [[nodiscard]] bool Names(const std::string& trial) const;
  // Of the result with that row digest; nothing when there is none. Error: environment or damage, for one that is noted
  // and cannot be read.
  [[nodiscard]] Result<std::optional<privacy::AuditReport>> Of(const std::string& trial,
                                                               const std::string& row_digest) const;

 private:
  storage::Env& env_;
  std::string folder_, trouble_;
  std::set<std::string> names_;
};

// Durable on return; by rename. Error: environment, or damage for a report of no trial.
[[nodiscard]] Status NoteRefutation(storage::Env& env, const std::string& root, const privacy::AuditReport& report);

// Before the first report is stored the results folder gets a mark, which is written again after each: so whoever keeps
// what it read of the folder sees that there may be more.

// What audits found of the trials of one results folder. Notes are listed once, when it is made.
class StoredAudits {
 public:
  StoredAudits(storage::Env& env, std::string results);

  // Whether anything may ever have been found of the trial (16 hex digits) in `folder`, relative to the results; empty:
  // it left no folder. True where nobody can say.
  [[nodiscard]] bool MayKnow(const std::string& trial, const std::string& folder) const;
  // The report on the trial's present row, with what is noted of it; nothing when there is none, or when it
  // is of an earlier result. Error: where nobody can say what audits found, naming the file; never where a
  // note tells.
  [[nodiscard]] Result<std::optional<privacy::AuditReport>> Of(const std::string& folder,
                                                               const storage::ResultRow& row) const;
  // The report beside the trial alone.
  [[nodiscard]] Result<std::optional<privacy::AuditReport>> Beside(const std::string& folder,
                                                                   const storage::ResultRow& row) const;

 private:
  [[nodiscard]] Result<std::optional<privacy::AuditReport>> Noted(const storage::ResultRow& row) const;

  storage::Env& env_;
  std::string results_;
  std::array<RefutationNotes, 2> notes_;  // of the root, and of the folder wherever it is moved
};

// Of an error of these, what a sentence goes on after.
[[nodiscard]] std::string RemoveFullStop(std::string text);

// True where nobody can say.
[[nodiscard]] bool MayBeAudited(storage::Env& env, const std::string& results);
// Of the mark: another one after every audit that was stored. Error: environment, as when there is none.
[[nodiscard]] Result<storage::FileStamp> ReadAuditStamp(storage::Env& env, const std::string& results);
// StoredAudits::Of one trial; nothing before it has a row.
[[nodiscard]] Result<std::optional<privacy::AuditReport>> ReadAudit(storage::Env& env, const std::string& results,
                                                                    const TrialView& trial);

// Whether StoreAudit would take the trial's findings: not beside a report that cannot be read, whose findings would be
// lost. Error: as StoredAudits::Beside, with the remedy.
[[nodiscard]] Status MayStoreAudit(storage::Env& env, const std::string& results, const TrialView& trial);
// By rename. New findings take the place of earlier ones of the same kinds and attacks, but no refutation is taken back
// by an attack that refutes nothing: the result must be made anew. What refutes is noted in the results root and in the
// folder before. The trial has a row. Returns what is stored now. Error: as MayStoreAudit; environment.
[[nodiscard]] Result<privacy::AuditReport> StoreAudit(storage::Env& env, const std::string& results,
                                                      const TrialView& trial,
                                                      std::vector<privacy::AuditFinding> findings);

// What the report says of the trial itself at 95 % or more, as claims of status audited: not the release step, whose
// noise was scaled. Lower bounds are rounded down to thousandths.
[[nodiscard]] std::vector<privacy::Claim> ListAuditedClaims(const privacy::AuditReport& report);

// Sentences about what audits of the trial refute; empty when they refute nothing.
[[nodiscard]] std::vector<std::string> ListContradictions(const privacy::AuditReport& report);

}  // namespace retort::orchestrator
