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
  using LayerTexts = std::vector<std::shared_ptr<const std::string>>;
  // Lets `field`, if it has one, be the text of `known` that is equal to it.
  static void Share(std::shared_ptr<const std::string>& field, LayerTexts& known);
  std::string data_text_;  // of the newest spec's data set
  std::shared_ptr<const DataSpec> data_;
  LayerTexts layers_, generator_layers_;  // distinct ones that were read
};

}  // namespace retort
