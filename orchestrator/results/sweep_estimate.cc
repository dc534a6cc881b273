#include "orchestrator/results/sweep_estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>

#include "orchestrator/reactor/list_schedule.h"

namespace retort::orchestrator {
namespace {

constexpr double kHour = 3600;
constexpr std::uint64_t kSeed = 20;     // of the simulated sweeps: the same plan says the same twice
constexpr std::size_t kMaxDraws = 199;  // simulated sweeps
constexpr std::size_t kMinDraws = 19;

// What the simulated sweeps take of a trial's cost: no more, since there may be a hundred thousand.
struct Priced {
  double left = 0;          // expected seconds of a slot
  double spread = 0;        // of the logarithm of its time
  std::uint32_t shape = 0;  // index of its common factor
  int measured = 0;         // samples behind it
};

// Files that stay, and checkpoints of the trials that need most of them at once.
class DiskNeed {
 public:
  void Add(const CostEstimate& cost, const TrialSpec& spec) {
    known_ = known_ && cost.file_bytes.has_value();
    files_ += cost.file_bytes.value_or(0);
    // One more is being written while the oldest is still there.
    checkpoints_.push_back(cost.checkpoint_bytes * static_cast<double>(spec.execution.checkpoint_keep + 1));
  }
  // Nothing when that of a trial is unknown.
  [[nodiscard]] std::optional<std::uint64_t> Bytes(int slots) && {
    if (!known_) return std::nullopt;
    std::sort(checkpoints_.begin(), checkpoints_.end(), std::greater<>());
    checkpoints_.resize(std::min(checkpoints_.size(), static_cast<std::size_t>(std::max(slots, 0))));
    return static_cast<std::uint64_t>(std::accumulate(checkpoints_.begin(), checkpoints_.end(), files_));
  }

 private:
  bool known_ = true;
  double files_ = 0;
  std::vector<double> checkpoints_;
};

// With what running trials show, where nothing like them has ended.
CostModel WithPaces(const CostModel& costs, const std::vector<PendingTrial>& trials, bool& used) {
  CostModel known = costs;
  for (const PendingTrial& trial : trials) {
    if (trial.step_seconds <= 0 || trial.total_steps <= 0 || costs.For(*trial.spec, trial.teacher)) continue;
    CostSample sample;
    sample.trial = trial.spec->id.Hex();
    sample.unit_seconds = trial.step_seconds * static_cast<double>(trial.total_steps) / CountWorkUnits(*trial.spec);
    known.Add(ComputeCostShape(*trial.spec, trial.teacher), sample);
    used = true;
  }
  return known;
}

bool MayShareDevice(const TrialSpec& spec) { return spec.execution.pack == PackMode::automatic && spec.devices == 1; }

double ComputeLeft(const CostEstimate& cost, const PendingTrial& trial) {
  if (trial.step_seconds > 0) return trial.steps_left_seconds + cost.start_seconds;
  return cost.seconds - (cost.seconds - cost.start_seconds) * std::clamp(trial.done, 0.0, 1.0);
}

std::vector<TimedTrial> MakeTimedTrials(const std::vector<PendingTrial>& trials, const std::vector<Priced>& priced) {
  std::unordered_map<TrialId, std::size_t> teachers;  // index in `trials`
  std::vector<TimedTrial> timed;
  timed.reserve(trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialSpec& spec = *trials[i].spec;
    TimedTrial one{priced[i].left, spec.devices, spec.execution.priority, trials[i].running, TimedTrial::kNoTeacher};
    if (spec.parent)
      if (const auto teacher = teachers.find(*spec.parent); teacher != teachers.end()) one.teacher = teacher->second;
    if (spec.role == Role::teacher) teachers.emplace(spec.id, i);
    timed.push_back(one);
  }
  return timed;
}

double ComputeDeviceHours(const std::vector<TimedTrial>& timed) {
  double seconds = 0;
  for (const TimedTrial& one : timed) seconds += one.seconds * one.devices;
  return seconds / kHour;
}

// The fifth and the ninety-fifth of a hundred.
Interval ComputeInterval(double mean, std::vector<double> draws) {
  std::sort(draws.begin(), draws.end());
  const auto at = [&draws](double fraction) {
    const double position = fraction * static_cast<double>(draws.size() - 1);
    return draws[static_cast<std::size_t>(std::lround(position))];
  };
  return {mean, std::min(mean, at(0.05)), std::max(mean, at(0.95))};
}

// One number in (0, 1), the same with every standard library.
double Uniform(std::mt19937_64& random) { return (static_cast<double>(random() >> 11U) + 0.5) / 9007199254740992.0; }
double Normal(std::mt19937_64& random) {
  constexpr double kTwoPi = 6.283185307179586;
  const double radius = std::sqrt(-2 * std::log(Uniform(random)));
  return radius * std::cos(kTwoPi * Uniform(random));
}

// Every trial of a shape is off by the same factor, since few were measured, and by one of its own.
void DrawSeconds(const std::vector<Priced>& priced, std::size_t shapes, std::mt19937_64& random,
                 std::vector<TimedTrial>& timed) {
  std::vector<double> common(shapes);
  for (double& factor : common) factor = Normal(random);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const Priced& trial = priced[i];
    if (trial.spread == 0) continue;
    const double shared = common[trial.shape] / std::sqrt(std::max(trial.measured, 1));
    timed[i].seconds = trial.left * std::exp(trial.spread * (shared + Normal(random)));
  }
}

}  // namespace

void SetPace(PendingTrial& trial, const Pace& pace, std::int64_t step, std::int64_t total_steps, double now) {
  const double seconds = pace.SecondsPerStep();
  if (seconds <= 0 || total_steps <= 0) return;
  trial.step_seconds = seconds;
  trial.total_steps = total_steps;
  const double ahead = seconds * static_cast<double>(std::max<std::int64_t>(total_steps - step, 0));
  trial.steps_left_seconds = std::max(0.0, ahead - std::max(0.0, now - pace.noted_at()));
}

std::optional<double> EstimateSecondsLeft(const CostModel& costs, const PendingTrial& trial) {
  const std::optional<CostEstimate> cost = costs.For(*trial.spec, trial.teacher);
  if (cost) return ComputeLeft(*cost, trial);
  if (trial.step_seconds > 0) return trial.steps_left_seconds;
  return std::nullopt;
}

std::optional<SweepEstimate> EstimateSweep(const CostModel& costs, const std::vector<PendingTrial>& trials, int slots,
                                           int at_once, std::size_t drawn) {
  std::vector<Priced> priced;
  priced.reserve(trials.size());
  std::map<std::string, std::uint32_t> shapes;
  DiskNeed disk;
  SweepEstimate sweep;
  sweep.slots = slots;
  bool exact = true;
  const CostModel known = WithPaces(costs, trials, sweep.from_running);
  for (const PendingTrial& trial : trials) {
    const std::optional<CostEstimate> cost = known.For(*trial.spec, trial.teacher);
    if (!cost) return std::nullopt;
    const auto next = static_cast<std::uint32_t>(shapes.size());
    const std::uint32_t shape = shapes.try_emplace(ComputeCostShape(*trial.spec, trial.teacher), next).first->second;
    priced.push_back({cost->share * ComputeLeft(*cost, trial), cost->spread, shape, cost->measured});
    disk.Add(*cost, *trial.spec);
    exact = exact && cost->spread == 0;
    sweep.as_if_alone = sweep.as_if_alone || (MayShareDevice(*trial.spec) && cost->share == 1);
    if (cost->measured > 0)
      sweep.measured = sweep.measured == 0 ? cost->measured : std::min(sweep.measured, cost->measured);
  }
  std::vector<TimedTrial> timed = MakeTimedTrials(trials, priced);
  const std::optional<double> mean = ComputeMakespan(timed, slots, at_once);
  if (!mean) return std::nullopt;
  const double hours = ComputeDeviceHours(timed);
  std::vector<double> makespans, device_hours;
  std::mt19937_64 random(kSeed);
  const std::size_t draws =
      exact ? 1 : std::clamp(drawn / std::max<std::size_t>(trials.size(), 1), kMinDraws, kMaxDraws);
  for (std::size_t draw = 0; draw < draws; ++draw) {
    DrawSeconds(priced, shapes.size(), random, timed);
    makespans.push_back(ComputeMakespan(timed, slots, at_once).value_or(*mean));
    device_hours.push_back(ComputeDeviceHours(timed));
  }
  sweep.seconds = ComputeInterval(*mean, std::move(makespans));
  sweep.device_hours = ComputeInterval(hours, std::move(device_hours));
  sweep.disk_bytes = std::move(disk).Bytes(slots);
  return sweep;
}

std::size_t CountUnknown(const CostModel& costs, const std::vector<PendingTrial>& trials) {
  return static_cast<std::size_t>(std::count_if(
      trials.begin(), trials.end(), [&](const PendingTrial& trial) { return !costs.For(*trial.spec, trial.teacher); }));
}

}  // namespace retort::orchestrator
