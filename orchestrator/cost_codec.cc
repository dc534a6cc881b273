#include "orchestrator/cost_codec.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace retort::orchestrator {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kFields = 7;  // the last was not always there

ordered_json SampleJson(const CostSample& sample) {
  return {sample.trial,         sample.at,         sample.unit_seconds,
          sample.start_seconds, sample.file_bytes, sample.checkpoint_bytes, sample.share};
}

bool ReadSample(const ordered_json& json, CostSample& sample) {
  if (!json.is_array() || json.size() > kFields || json.size() + 1 < kFields || !json[0].is_string()) return false;
  sample.trial = json[0].get<std::string>();
  double* const fields[] = {&sample.at, &sample.unit_seconds, &sample.start_seconds, &sample.file_bytes,
                            &sample.checkpoint_bytes, &sample.share};
  for (std::size_t i = 1; i < json.size(); ++i) {
    if (!json[i].is_number()) return false;
    *fields[i - 1] = json[i].get<double>();
    if (!std::isfinite(*fields[i - 1]) || *fields[i - 1] < 0) return false;
  }
  return sample.unit_seconds > 0 && sample.share > 0 && sample.share <= 1;
}

}  // namespace

std::string EncodeCosts(const MachineCosts& costs) {
  ordered_json document;
  document["retort_costs"] = kVersion;
  document["machines"] = ordered_json::object();
  for (const auto& [machine, model] : costs) {
    ordered_json& shapes = document["machines"][machine] = ordered_json::object();
    for (const auto& [shape, samples] : model.samples())
      for (const CostSample& sample : samples) shapes[shape].push_back(SampleJson(sample));
  }
  return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<MachineCosts> DecodeCosts(std::string_view text) {
  const ordered_json document = ordered_json::parse(text, nullptr, false);
  const Status broken = DamageError("it does not hold measured costs of this version of retort");
  if (!document.is_object() || !document.contains("retort_costs") || document["retort_costs"] != kVersion ||
      !document.contains("machines") || !document["machines"].is_object())
    return broken;
  MachineCosts costs;
  for (const auto& [machine, shapes] : document["machines"].items()) {
    if (!shapes.is_object()) return broken;
    for (const auto& [shape, samples] : shapes.items()) {
      if (!samples.is_array()) return broken;
      for (const ordered_json& entry : samples) {
        CostSample sample;
        if (!ReadSample(entry, sample)) return broken;
        costs[machine].Add(shape, sample);
      }
    }
  }
  return costs;
}

}  // namespace retort::orchestrator
