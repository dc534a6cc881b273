// What an attempt records about itself: the stamp of its checkpoints, its timings, its metrics, its provenance.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/devices/energy_meter.h"
#include "worker/gang/collective.h"
#include "worker/methods/method.h"
#include "worker/tensors/step_graphs.h"

namespace retort::worker {

// The format of a checkpoint's tensors and attributes; raised when an older one can no longer be continued
// bit for bit.
inline constexpr int kCheckpointRevision = 1;

// A stamp keeps a checkpoint from being loaded into another trial, gang or program.
void StampCheckpoint(std::map<std::string, std::string>& attributes, const TrialSpec& spec, int gang_size);
// Error: refused, naming what differs and what to do about it.
[[nodiscard]] Status CheckStamp(const std::map<std::string, std::string>& attributes, const TrialSpec& spec,
                                int gang_size);

// Kinds of device that the trial's steps were made on, in order, up to and with `device`: "cuda, cpu". Stated in
// the provenance, never refused: equal bits are promised on one kind of device alone.
[[nodiscard]] std::string TrainedOn(const std::map<std::string, std::string>& attributes, const std::string& device);
void StampTrainedOn(std::map<std::string, std::string>& attributes, const std::string& trained_on);

// What an attempt took: time, and energy where its devices are counted.
struct AttemptCost {
  double seconds = 0, training_seconds = 0, step_seconds = 0;  // wall clock: all of it, its steps, one of them
  std::optional<double> joules;                                // of all devices of the gang
};

[[nodiscard]] Series MakeTimings(const AttemptCost& cost);
// `joules` becomes what all devices of the gang have used, by all that they did since each was opened; unset where one
// of them is not counted. A collective call, but on CPUs. `device`: this member's; `meter`: its, or null. Error: of the
// gang.
[[nodiscard]] Status SumEnergyOverGang(const std::string& device, const EnergyMeter* meter, Collective& gang,
                                       std::optional<double>& joules);

// Metrics of every finished trial, beside those of its method: "data.skipped", where pictures were left out;
// "test.sensitive_accuracy", where the data names sensitive classes and `outcome` was evaluated; "student.parameters",
// trainable values of a student's network. Error: usage, as MakeNetwork.
[[nodiscard]] Result<Series> ComputeTrialMetrics(const TrialSpec& spec, const Dataset& data, const Outcome& outcome);

// What a result was made with, one JSON object: build, torch, cpu capability, host, device, kinds of device that it was
// trained on (TrainedOn), threads, timings, and where steps were recorded how often each region ran by what, and why
// not by a graph.
[[nodiscard]] std::string ProvenanceJson(const std::string& build, const TrialSpec& spec, const std::string& device,
                                         const std::string& trained_on,
                                         const std::vector<std::pair<std::string, double>>& timings,
                                         const std::vector<RegionUse>& regions = {});

}  // namespace retort::worker
