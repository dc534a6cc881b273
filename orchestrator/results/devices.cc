#include "orchestrator/results/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "experiments/base/number_text.h"
#include "orchestrator/reactor/admission.h"

namespace retort::orchestrator {
namespace {

constexpr double kFreshSeconds = 5;     // steps are journaled every 15 s: a smaller age is not worth a word
constexpr double kSilenceSeconds = 60;  // a run with work in hand writes more often

using Place = std::pair<int, int>;  // (world rank, slot)

std::map<Place, std::vector<const TrialView*>> FindHolders(const ResultsView& view) {
  std::map<Place, std::vector<const TrialView*>> holders;
  for (const TrialView& trial : view.trials) {
    if (trial.state != TrialState::running && trial.state != TrialState::leased) continue;
    const auto held = view.usage.held().find(trial.spec.id);
    if (held == view.usage.held().end()) continue;
    for (const Place& place : held->second.members) holders[place].push_back(&trial);
  }
  return holders;
}

DeviceState FindState(const Inventory::Agent& agent, int slot, bool held) {
  if (agent.lost) return DeviceState::lost;
  if (held) return DeviceState::held;
  return agent.drained.contains(slot) ? DeviceState::drained : DeviceState::free;
}

}  // namespace

std::string_view GetDeviceStateName(DeviceState state) {
  switch (state) {
    case DeviceState::free:
      return "free";
    case DeviceState::held:
      return "busy";
    case DeviceState::drained:
      return "drained";
    case DeviceState::lost:
      return "lost";
  }
  return "";
}

std::vector<DeviceView> ListDevices(const ResultsView& view) {
  std::vector<DeviceView> devices;
  if (!view.running) return devices;
  auto holders = FindHolders(view);
  for (const auto& [rank, agent] : view.inventory.agents()) {
    for (std::size_t slot = 0; slot < agent.devices.size(); ++slot) {
      DeviceView device{agent.host, agent.devices[slot], rank, static_cast<int>(slot), DeviceState::free, {}, 0};
      device.trials = std::move(holders[{device.rank, device.slot}]);
      device.state = FindState(agent, device.slot, !device.trials.empty());
      if (agent.lost) device.since = agent.since;
      devices.push_back(std::move(device));
    }
  }
  std::stable_sort(devices.begin(), devices.end(), [](const DeviceView& a, const DeviceView& b) {
    return std::tie(a.host, a.rank, a.slot) < std::tie(b.host, b.rank, b.slot);
  });
  return devices;
}

int CountIn(const std::vector<DeviceView>& devices, DeviceState state) {
  return static_cast<int>(std::count_if(devices.begin(), devices.end(),
                                        [state](const DeviceView& device) { return device.state == state; }));
}

std::string FormatDevicePlace(const DeviceView& device) {
  return fmt::format("{} of {} (rank {} slot {})", device.device, device.host, device.rank, device.slot);
}

std::string DescribeDevices(const std::vector<DeviceView>& devices) {
  std::set<std::string> hosts;
  for (const DeviceView& device : devices) hosts.insert(device.host);
  std::string text = fmt::format("{} {} on {} {}:", devices.size(), devices.size() == 1 ? "device" : "devices",
                                 hosts.size(), hosts.size() == 1 ? "host" : "hosts");
  const char* separator = " ";
  for (const DeviceState state : {DeviceState::held, DeviceState::free, DeviceState::drained, DeviceState::lost}) {
    const int count = CountIn(devices, state);
    if (count == 0) continue;
    text += fmt::format("{}{} {}", separator, count, GetDeviceStateName(state));
    separator = ", ";
  }
  return text;
}

PendingTrial MakePendingTrial(const TrialView& trial, const TrialSpec* teacher, double now) {
  PendingTrial pending;
  pending.spec = &trial.spec;
  pending.teacher = teacher;
  pending.done = ComputeFractionDone(trial.step, trial.total_steps);
  pending.running = trial.state == TrialState::running || trial.state == TrialState::leased;
  if (pending.running) SetPace(pending, trial.pace, trial.step, trial.total_steps, now);
  return pending;
}

std::string FormatProgress(const TrialView& trial, const TrialSpec* teacher, double now, const CostModel& costs) {
  std::string text;
  if (trial.total_steps > 0) {
    text = fmt::format("step {} of {}", trial.step, trial.total_steps);
    const double age = now - trial.pace.noted_at();
    if (trial.pace.noted_at() > 0 && age >= kFreshSeconds) text += fmt::format(" ({} ago)", FormatDuration(age));
  }
  if (const std::optional<double> left = EstimateSecondsLeft(costs, MakePendingTrial(trial, teacher, now)))
    text += fmt::format("{}about {} left", text.empty() ? "" : ", ", FormatDuration(*left));
  return text;
}

std::optional<double> ComputeStaleness(const ResultsView& view, double now) {
  const double age = now - view.newest_event;
  if (!view.running || view.newest_event == 0 || view.usage.held().empty() || age < kSilenceSeconds)
    return std::nullopt;
  return age;
}

}  // namespace retort::orchestrator
