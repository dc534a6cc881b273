// What audits of one finished trial found, and what that means for its claims.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/attack_bounds.h"
#include "experiments/privacy/claim.h"

namespace retort::privacy {

// Where an audit is held against a proof, it must not be wrong more often than once in a million times.
inline constexpr double kAlarmConfidence = 1 - 1e-6;
// One-run audits are compared at this delta: with m coins no result of theirs is surer than about m delta.
inline constexpr double kAlarmDelta = 1e-12;

enum class AuditKind : std::uint8_t { release_step, transcript, canary, membership, inversion };

// "release-step", "transcript", "canary", "membership", "inversion", in this order.
[[nodiscard]] const std::vector<std::string>& AuditKindNames();
[[nodiscard]] std::string_view AuditKindName(AuditKind kind);
[[nodiscard]] std::optional<AuditKind> FindAuditKind(std::string_view name);

// Attacks of the audit "inversion".
enum class InversionAttack : std::uint8_t { fredrikson, gmi, plg_mi };

// "fredrikson", "gmi", "plg-mi", in this order.
[[nodiscard]] const std::vector<std::string>& ListInversionAttackNames();
[[nodiscard]] std::string_view GetInversionAttackName(InversionAttack attack);
[[nodiscard]] std::optional<InversionAttack> FindInversionAttack(std::string_view name);

// The share of its runs in which an effect must be found that an audit says it would have found.
inline constexpr double kAuditPower = 0.8;

// The receiver operating characteristic of an attack, as counts, from which rates and their limits follow.
struct AuditCurve {
  std::int64_t members = 0, others = 0;  // examples of either kind, at least 1
  std::vector<CurvePoint> points;        // rising in both counts
  bool operator==(const AuditCurve&) const = default;
};

struct AuditFinding {
  AuditKind kind = AuditKind::release_step;
  std::string attack;   // of an inversion: the name of an InversionAttack; empty for other kinds
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
  // The probability, at most, of as many right guesses if all that is proven holds (ComputeOneRunTradeOffPValue).
  std::optional<double> p_value;
  // The least epsilon that a paper's formula, no guarantee, claims under the claim's relation at its delta.
  std::optional<double> formula;
  // The share of its guesses that an attack must get right so that it is found in kAuditPower of all such audits.
  std::optional<double> needed_accuracy;
  std::optional<AuditCurve> curve;  // of attacks by score
  std::vector<std::pair<std::string, double>> figures;
  std::string note;
};

// What disagrees, as a sentence, when a lower bound lies above a proven one, or when what was found is less probable
// than 1 - kAlarmConfidence if what is proven holds; else empty.
[[nodiscard]] std::string FindContradiction(const AuditFinding& finding);
// "membership", or with its attack "inversion/gmi".
[[nodiscard]] std::string FormatAuditName(const AuditFinding& finding);
// "no leak detected at this power", the leak in a sentence, or why it did not run.
[[nodiscard]] std::string FormatVerdict(const AuditFinding& finding);

struct AuditReport {
  std::string trial;       // 16 hex
  std::string row_digest;  // of the result that was audited
  std::vector<AuditFinding> findings;
};

// One JSON object; round-trips exactly.
[[nodiscard]] std::string EncodeAuditReport(const AuditReport& report);
// Error: damage, naming the field.
[[nodiscard]] Result<AuditReport> DecodeAuditReport(const std::string& json);

// What a worker is asked to audit: one finished trial, by what it left.

// The argument with which the worker program, in place of its work, takes the order that follows it.
inline constexpr const char* kAuditArgument = "--audit";

struct AuditOrder {
  std::string trial;         // 16 hex
  std::string spec;          // EncodeTrialSpec
  std::string data_path;     // absolute
  std::string attempt_file;  // absolute path of the trial's attempt.h5
  std::string teacher_file;  // absolute path of its teacher's, or empty
  std::string device = "cpu";
  std::vector<AuditKind> kinds;  // in the order in which they are done
  double confidence = 0.95;      // in (0, 1): of the bounds that are printed
  std::int64_t samples = 0;      // of a release step, under each neighbour; 0 = by the mechanism
  std::int64_t canaries = 0;     // 0 = an eighth of the private examples, at most 1000
  std::int64_t shadows = 0;      // trials trained anew for LiRA and RMIA; 0 = none
  std::vector<InversionAttack> attacks = {InversionAttack::fredrikson};  // in the order in which they are done
  std::int64_t gan_steps = 0, latent_steps = 0;  // of the attacker's GAN, and in its latent space; 0 = by the attack
  std::vector<Claim> claims;                     // of the trial's row
  std::vector<Claim> alarm_claims;               // the same at kAlarmDelta
};

// One JSON object; round-trips exactly.
[[nodiscard]] std::string EncodeAuditOrder(const AuditOrder& order);
// Error: damage, naming the field.
[[nodiscard]] Result<AuditOrder> DecodeAuditOrder(const std::string& json);

}  // namespace retort::privacy
