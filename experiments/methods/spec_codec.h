// A TrialSpec as the JSON that travels and is stored.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/canonical_encoding.h"
#include "experiments/methods/trial_spec.h"

namespace retort {

// JSON object of every field, data set included; doubles round-trip exactly.
[[nodiscard]] std::string EncodeTrialSpec(const TrialSpec& spec);
[[nodiscard]] Result<TrialSpec> DecodeTrialSpec(const std::string& json);

// Decodes the specs of one sweep one after the other: trials with the same data set share its description, and
// trials of the same described network its layers.
class TrialSpecReader {
 public:
  // As DecodeTrialSpec.
  [[nodiscard]] Result<TrialSpec> Read(const std::string& json);

 private:
  std::string data_text_;  // of the newest spec's data set
  std::shared_ptr<const DataSpec> data_;
  std::vector<std::shared_ptr<const std::string>> layers_;  // distinct ones that were read
};

}  // namespace retort
