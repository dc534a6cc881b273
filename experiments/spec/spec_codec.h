// TrialSpec as bytes: the canonical encoding behind TrialId, and the JSON that travels and is stored.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"

namespace retort {

// Raised when results of the method change for an unchanged spec; part of identity.
[[nodiscard]] int MethodRevision(const TrialSpec& spec);
// Length-prefixed, sorted keys, resolved values; only fields that are part of identity.
[[nodiscard]] std::string CanonicalEncoding(const TrialSpec& spec);
[[nodiscard]] TrialId ComputeTrialId(const TrialSpec& spec);
// JSON object of every field, data set included; doubles round-trip exactly.
[[nodiscard]] std::string EncodeTrialSpec(const TrialSpec& spec);
[[nodiscard]] Result<TrialSpec> DecodeTrialSpec(const std::string& json);

// Decodes the specs of one sweep one after the other: trials with the same data set share its description.
class TrialSpecReader {
 public:
  // As DecodeTrialSpec.
  [[nodiscard]] Result<TrialSpec> Read(const std::string& json);

 private:
  std::string data_text_;  // of the newest spec's data set
  std::shared_ptr<const DataSpec> data_;
};

// SHA-256 as 64 hex digits.
[[nodiscard]] std::string Sha256Hex(std::string_view bytes);

}  // namespace retort
