// What a worker is asked to audit: one finished trial, by what it left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/privacy/audit_report.h"
#include "experiments/privacy/claim.h"
#include "experiments/spec/status.h"

namespace retort::privacy {

// The argument with which the worker program, in place of its work, takes the order that follows it.
inline constexpr const char* kAuditArgument = "--audit";

struct AuditOrder {
  std::string trial;         // 16 hex
  std::string spec;          // EncodeTrialSpec
  std::string data_path;     // absolute
  std::string attempt_file;  // absolute path of the trial's attempt.h5
  std::string teacher_file;  // absolute path of its teacher's, or empty
  std::string device = "cpu";
  std::vector<AuditKind> kinds;     // in the order in which they are done
  double confidence = 0.95;         // in (0, 1): of the bounds that are printed
  std::int64_t samples = 0;         // of a release step, under each neighbour; 0 = by the mechanism
  std::int64_t canaries = 0;        // 0 = an eighth of the private examples, at most 1000
  std::int64_t shadows = 0;         // networks trained for LiRA; 0 = none
  std::vector<Claim> claims;        // of the trial's row
  std::vector<Claim> alarm_claims;  // the same at kAlarmDelta
};

// One JSON object; round-trips exactly.
[[nodiscard]] std::string EncodeAuditOrder(const AuditOrder& order);
// Error: damage, naming the field.
[[nodiscard]] Result<AuditOrder> DecodeAuditOrder(const std::string& json);

}  // namespace retort::privacy
