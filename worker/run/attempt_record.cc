#include "worker/run/attempt_record.h"

#include <ATen/Version.h>
#include <torch/headeronly/version.h>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <vector>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "worker/gang/row_share.h"
#include "worker/models/model_registry.h"
#include "worker/training/evaluation.h"

namespace retort::worker {

namespace {

constexpr const char* kRevision = "revision";
constexpr const char* kGangSize = "gang_size";
constexpr const char* kSpec = "spec";  // SHA-256 of the canonical encoding
constexpr const char* kTrainedOn = "trained_on";

Status Compare(const std::map<std::string, std::string>& attributes, const std::string& key, const std::string& wanted,
               const std::string& what) {
  const auto found = attributes.find(key);
  if (found != attributes.end() && found->second == wanted) return {};
  const std::string has = found == attributes.end() ? "none" : found->second;
  return Refused("The trial's checkpoint cannot be continued: " + what + " differs (the checkpoint has " + has +
                 ", this attempt " + wanted +
                 "). Go on with the program and the sweep file that wrote it, or move the trial's attempt folders "
                 "away to train it anew, which charges its releases again.");
}

}  // namespace

void StampCheckpoint(std::map<std::string, std::string>& attributes, const TrialSpec& spec, int gang_size) {
  attributes[kRevision] = std::to_string(kCheckpointRevision);
  attributes[kGangSize] = std::to_string(gang_size);
  attributes[kSpec] = Sha256Hex(CanonicalEncoding(spec));
}

Status CheckStamp(const std::map<std::string, std::string>& attributes, const TrialSpec& spec, int gang_size) {
  RETORT_RETURN_IF_ERROR(
      Compare(attributes, kRevision, std::to_string(kCheckpointRevision), "the revision of its format"));
  RETORT_RETURN_IF_ERROR(Compare(attributes, kGangSize, std::to_string(gang_size), "the gang's size"));
  return Compare(attributes, kSpec, Sha256Hex(CanonicalEncoding(spec)), "the trial's spec");
}

std::string TrainedOn(const std::map<std::string, std::string>& attributes, const std::string& device) {
  const std::string kind = device.substr(0, device.find(':'));
  const auto found = attributes.find(kTrainedOn);
  if (found == attributes.end() || found->second == kind) return kind;
  return found->second.ends_with(", " + kind) ? found->second : found->second + ", " + kind;
}

void StampTrainedOn(std::map<std::string, std::string>& attributes, const std::string& trained_on) {
  attributes[kTrainedOn] = trained_on;
}

Series MakeTimings(const AttemptCost& cost) {
  Series timings = {
      {"seconds", cost.seconds}, {"training_seconds", cost.training_seconds}, {"step_seconds", cost.step_seconds}};
  if (cost.joules) timings.emplace_back("energy_joules", *cost.joules);
  return timings;
}

Status SumEnergyOverGang(const std::string& device, const EnergyMeter* meter, Collective& gang,
                         std::optional<double>& joules) {
  joules.reset();
  if (device == "cpu") return {};
  const std::optional<double> own = meter != nullptr ? meter->Joules() : std::nullopt;
  std::vector<double> sums = {own.value_or(0), own ? 1.0 : 0.0};
  RETORT_RETURN_IF_ERROR(SumOverGang(sums, gang));
  if (sums[1] == static_cast<double>(gang.size())) joules = sums[0];
  return {};
}

Result<Series> ComputeTrialMetrics(const TrialSpec& spec, const Dataset& data, const Outcome& outcome) {
  Series metrics;
  if (data.skipped > 0) metrics.emplace_back("data.skipped", static_cast<double>(data.skipped));
  if (outcome.evaluation) {
    if (const std::optional<double> value = AccuracyOn(spec.data->sensitive_classes, *outcome.evaluation))
      metrics.emplace_back("test.sensitive_accuracy", *value);
  }
  if (spec.role == Role::student) {
    RETORT_ASSIGN_OR_RETURN(const std::int64_t count, CountParameters(spec, data.shape, data.classes));
    metrics.emplace_back("student.parameters", static_cast<double>(count));
  }
  return metrics;
}

std::string ProvenanceJson(const std::string& build, const TrialSpec& spec, const std::string& device,
                           const std::string& trained_on, const std::vector<std::pair<std::string, double>>& timings,
                           const std::vector<RegionUse>& regions) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  nlohmann::json json = {
      {"build", build},         {"torch", TORCH_VERSION}, {"cpu_capability", at::get_cpu_capability()},
      {"host", host.data()},    {"device", device},       {"trained_on", trained_on},
      {"threads", spec.threads}};
  for (const auto& [name, value] : timings) json["timings"][name] = value;
  for (const RegionUse& use : regions) {
    nlohmann::json& region = json["graphs"][use.name];
    region = {{"eager", use.eager}, {"recorded", use.recorded}, {"replayed", use.replayed}};
    if (!use.declined.empty()) region["declined"] = use.declined;
  }
  return json.dump();
}

}  // namespace retort::worker
