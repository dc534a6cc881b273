#include "orchestrator/cli/explain_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "orchestrator/cli/devices.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/trial_names.h"
#include "orchestrator/dead_end.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kDevicesNamed = 4;

// Queued trials that are placed before it: larger priority, then the order of the plan.
std::vector<const TrialView*> QueuedBefore(const ResultsView& view, const TrialView& trial) {
  std::vector<const TrialView*> ahead;
  bool passed = false;
  for (const TrialView& other : view.trials) {
    passed = passed || &other == &trial;
    const int more = other.spec.priority - trial.spec.priority;
    if (other.state == TrialState::queued && &other != &trial && (more > 0 || (more == 0 && !passed)))
      ahead.push_back(&other);
  }
  return ahead;
}

struct Host {
  std::string name;
  int usable = 0, free = 0;
};

std::vector<Host> HostsOf(const std::vector<DeviceView>& devices) {
  std::vector<Host> hosts;
  for (const DeviceView& device : devices) {
    if (hosts.empty() || hosts.back().name != device.host) hosts.push_back({device.host, 0, 0});
    if (device.state == DeviceState::lost || device.state == DeviceState::drained) continue;
    ++hosts.back().usable;
    if (device.state == DeviceState::free) ++hosts.back().free;
  }
  return hosts;
}

// As the scheduler keeps devices for a gang: those of the host that lacks the fewest, where one is large
// enough.
std::string HostOfGang(const std::vector<Host>& hosts, int devices) {
  const Host* best = nullptr;
  for (const Host& host : hosts)
    if (host.usable >= devices && (best == nullptr || host.free > best->free)) best = &host;
  return best == nullptr ? "" : best->name;
}

// Devices that take work.
int InUse(const std::vector<DeviceView>& devices) {
  int usable = 0;
  for (const Host& host : HostsOf(devices)) usable += host.usable;
  return usable;
}

class Busy {
 public:
  Busy(const ResultsView& view, double now, const CostModel& costs) : now_(now), costs_(costs) {
    for (const TrialView& trial : view.trials) specs_.emplace(trial.spec.id, &trial.spec);
  }

  // The first to be free come first.
  void Sort(std::vector<const DeviceView*>& devices) const {
    std::stable_sort(devices.begin(), devices.end(),
                     [this](const DeviceView* a, const DeviceView* b) { return LeftOn(*a) < LeftOn(*b); });
  }
  [[nodiscard]] std::string Text(const DeviceView& device) const {
    std::string text = DevicePlace(device);
    const char* verb = ", which";
    for (const TrialView* trial : device.trials) {
      const std::string progress = ProgressText(*trial, TeacherOf(*trial), now_, costs_);
      text += fmt::format("{} {} {}{}{}", verb, trial->state == TrialState::running ? "runs" : "starts",
                          ShownName(trial->spec), progress.empty() ? "" : ", ", progress);
      verb = ", and";
    }
    return text;
  }

 private:
  [[nodiscard]] const TrialSpec* TeacherOf(const TrialView& trial) const {
    const auto found = trial.spec.parent ? specs_.find(*trial.spec.parent) : specs_.end();
    return found == specs_.end() ? nullptr : found->second;
  }
  [[nodiscard]] double LeftOn(const DeviceView& device) const {
    double left = 0;
    for (const TrialView* trial : device.trials)
      left = std::max(left, SecondsLeft(costs_, PendingOf(*trial, TeacherOf(*trial), now_))
                                .value_or(std::numeric_limits<double>::infinity()));
    return left;
  }
  std::unordered_map<TrialId, const TrialSpec*> specs_;
  double now_;
  const CostModel& costs_;
};

void ExplainBusy(const std::vector<DeviceView>& devices, const std::string& host, const Busy& busy,
                 Explanation& out) {
  std::vector<const DeviceView*> held;
  for (const DeviceView& device : devices)
    if (device.state == DeviceState::held && (host.empty() || device.host == host)) held.push_back(&device);
  if (held.empty()) return;
  busy.Sort(held);
  std::string text;
  for (std::size_t i = 0; i < std::min(held.size(), kDevicesNamed); ++i)
    text += (i == 0 ? "" : "; ") + busy.Text(*held[i]);
  if (held.size() > kDevicesNamed) text += fmt::format("; and {} more", held.size() - kDevicesNamed);
  out.sentences.push_back("It waits for " + text + ".");
}

// Why nothing of what is free is this trial's.
void ExplainFree(const TrialView& trial, const std::vector<const TrialView*>& ahead, int free,
                 Explanation& out) {
  if (free == 0) return;
  const auto gang =
      std::find_if(ahead.begin(), ahead.end(), [](const TrialView* t) { return t->spec.devices > 1; });
  const std::string count = fmt::format("{} {} free", free, free == 1 ? "is" : "are");
  if (gang != ahead.end())
    out.sentences.push_back(fmt::format("{}, and may be kept for {}, a gang of {} that is queued before it.",
                                        count, ShownName((*gang)->spec), (*gang)->spec.devices));
  else if (trial.spec.devices <= free)
    out.sentences.push_back(count + ": what is queued gets it within a second.");
}

void ExplainMissing(const std::vector<DeviceView>& devices, double now, Explanation& out) {
  std::string text;
  std::size_t count = 0;
  for (const DeviceView& device : devices) {
    const bool lost = device.state == DeviceState::lost;
    if (!lost && device.state != DeviceState::drained) continue;
    if (++count > kDevicesNamed) continue;
    text += (text.empty() ? "" : "; ") + DevicePlace(device) +
            (lost ? " has been lost for " + DurationText(now - device.since)
                  : " is drained, since trials failed there");
  }
  if (count > kDevicesNamed) text += fmt::format("; and {} more", count - kDevicesNamed);
  if (count > 0) out.sentences.push_back("Out of use: " + text + ".");
}

}  // namespace

void ExplainDevices(const ResultsView& view, const TrialView& trial, double now, const CostModel& costs,
                    Explanation& out) {
  const std::vector<const TrialView*> ahead = QueuedBefore(view, trial);
  const int wanted = trial.spec.devices;
  out.sentences.push_back(fmt::format("It is queued, {} before it, and needs {}.", ahead.size(),
                                      wanted == 1 ? "a device" : fmt::format("{} devices at once", wanted)));
  const std::vector<DeviceView> devices = DevicesOf(view);
  if (devices.empty()) {
    out.sentences.emplace_back("No agent has told yet which devices there are.");
  } else {
    const std::string host = wanted > 1 ? HostOfGang(HostsOf(devices), wanted) : "";
    out.sentences.push_back("The run has " + DeviceCounts(devices) + ".");
    if (wanted > InUse(devices))
      out.sentences.push_back(
          fmt::format("That is too few for it: if no more come back, the run ends with its "
                      "state saved {:.0f} s after the last trial that can run.",
                      kDeadEndSeconds));
    else if (wanted > 1)
      out.sentences.push_back(host.empty() ? "No host has enough for it: it takes those of several."
                                           : "It gets those of " + host + ", where the fewest are lacking.");
    ExplainBusy(devices, host, {view, now, costs}, out);
    ExplainFree(trial, ahead, CountIn(devices, DeviceState::free), out);
    ExplainMissing(devices, now, out);
  }
  if (const std::optional<double> age = Staleness(view, now))
    out.sentences.push_back(
        fmt::format("The run has written nothing for {}: this is as old.", DurationText(*age)));
  if (trial.spec.pack == PackMode::automatic && wanted == 1)
    for (const std::string& measured : view.packed)
      out.sentences.push_back("Sharing a device: " + measured + ".");
  out.next = "More devices or a larger --slots start it sooner";
  out.next += ahead.empty() ? "." : "; so does a larger `priority`.";
}

}  // namespace retort::orchestrator::cli
