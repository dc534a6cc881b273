// Estimates what trials will cost from what trials of the same shape have cost on the same kind of machine. There is no
// estimate without a measurement. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/methods/trial_spec.h"

namespace retort::orchestrator {

// Name of a timing of an attempt that shared its device: its mean part of a slot, below 1.
inline constexpr const char* kDeviceShare = "device_share";

// One trial that succeeded.
struct CostSample {
  std::string trial;            // id in hex
  double at = 0;                // unix seconds of its end
  double unit_seconds = 0;      // > 0, for each unit of work
  double start_seconds = 0;     // besides: loading, evaluation, writing
  double file_bytes = 0;        // of attempt.h5; 0 = unknown
  double checkpoint_bytes = 0;  // of its largest checkpoint; 0 = unknown
  double share = 1;             // of a slot that it had meanwhile, in (0, 1]
};

struct CostEstimate {
  double seconds = 0;        // wall clock of one attempt from its start
  double low = 0, high = 0;  // a trial like it ends between them nine times out of ten
  int measured = 0;          // number of samples; 0 = the estimate follows from the spec alone
  double unit_seconds = 0, start_seconds = 0;
  double spread = 0;                 // of the logarithm of a single trial's time, scaled so that 1.645 of it are 90 %
  std::optional<double> file_bytes;  // largest measured
  double checkpoint_bytes = 0;       // largest measured; 0 = unknown
  double share = 1;                  // of a slot; times seconds: what it takes from the others
};

// Returns the generator's name, and of one that a sweep file describes a digest of its layers with it: files may
// describe different generators under one name.
[[nodiscard]] std::string NameGenerator(const TrialSpec& spec);
// Returns a key that is equal for trials whose units of work cost the same: method, role, network, shape of the data,
// batch, threads, devices, what distillation repeats, the teacher's network, and whether it may share its device.
// `teacher` may be null.
[[nodiscard]] std::string ComputeCostShape(const TrialSpec& spec, const TrialSpec* teacher);
// Returns the units of work of a trial: the steps the worker makes, the examples that a single step goes through, or 1
// where steps of a trial differ in kind.
[[nodiscard]] double CountWorkUnits(const TrialSpec& spec);
// Makes a sample of the timings of an attempt that succeeded. `total_steps`: as its worker reported them, 0 = unknown.
// Returns nothing where the timings do not say how long the attempt took.
[[nodiscard]] std::optional<CostSample> MakeSample(const TrialSpec& spec,
                                                   const std::vector<std::pair<std::string, double>>& timings,
                                                   double total_steps);

class CostModel {
 public:
  static constexpr std::size_t kKept = 16;  // newest samples of a shape

  // Adds a sample. The same end of the same trial counts once, with all that is known of it.
  void Add(const std::string& shape, const CostSample& sample);
  void Merge(const CostModel& other);
  // Returns the estimate for a trial. A trial that may share its device, where only unshared ones were measured, is
  // estimated as if it had the device alone.
  [[nodiscard]] std::optional<CostEstimate> For(const TrialSpec& spec, const TrialSpec* teacher) const;
  // By shape, oldest first.
  [[nodiscard]] const std::map<std::string, std::vector<CostSample>>& samples() const { return samples_; }

 private:
  std::map<std::string, std::vector<CostSample>> samples_;
};

}  // namespace retort::orchestrator
