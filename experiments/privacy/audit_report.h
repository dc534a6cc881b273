// What audits of one finished trial found, and what that means for its claims.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/spec/status.h"

namespace retort::privacy {

// Where an audit is held against a proof, it must not be wrong more often than once in a million times.
inline constexpr double kAlarmConfidence = 1 - 1e-6;
// One-run audits are compared at this delta: with m coins no result of theirs is surer than about m delta.
inline constexpr double kAlarmDelta = 1e-12;

enum class AuditKind : std::uint8_t { release_step, transcript, canary, membership, inversion };

// "release-step", "transcript", "canary", "membership", "inversion", in this order.
[[nodiscard]] const std::vector<std::string>& AuditKindNames();
[[nodiscard]] std::string_view AuditKindName(AuditKind kind);
[[nodiscard]] std::optional<AuditKind> AuditKindOf(std::string_view name);

struct AuditFinding {
  AuditKind kind = AuditKind::release_step;
  std::string subject;  // what was attacked, how, with how many samples
  bool ran = true;      // false: it does not apply, or could not be done; `note` says why
  // Status audited, `lower` at `confidence`; nothing where the attack bounds no epsilon.
  std::optional<Claim> claim;
  double confidence = 0.95;
  std::optional<double> proven;  // the bound of what was attacked, at the claim's delta
  // The lower bound on epsilon at kAlarmConfidence, and what is proven at the delta that it was computed at:
  // nothing = `proven`.
  std::optional<double> alarm_lower, alarm_proven;
  // The same as parameters of Gaussian differential privacy, where that is what is proven.
  std::optional<double> mu_lower, mu_proven;
  std::optional<double> detectable;  // the least epsilon that this audit could have told from 0
  std::optional<double> ceiling;     // the lower bound that a perfect attack would have reached
  std::vector<std::pair<std::string, double>> figures;
  std::string note;
};

// What disagrees, as a sentence, when a lower bound lies above a proven one; else empty.
[[nodiscard]] std::string ContradictionOf(const AuditFinding& finding);
// "no leak detected at this power", the leak in a sentence, or why it did not run.
[[nodiscard]] std::string VerdictOf(const AuditFinding& finding);

struct AuditReport {
  std::string trial;       // 16 hex
  std::string row_digest;  // of the result that was audited
  std::vector<AuditFinding> findings;
};

// One JSON object; round-trips exactly.
[[nodiscard]] std::string EncodeAuditReport(const AuditReport& report);
// Error: damage, naming the field.
[[nodiscard]] Result<AuditReport> DecodeAuditReport(const std::string& json);

}  // namespace retort::privacy
