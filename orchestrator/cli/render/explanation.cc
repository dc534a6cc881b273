#include "orchestrator/cli/render/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "experiments/base/number_text.h"
#include "orchestrator/cli/render/claim_text.h"
#include "orchestrator/core/cost_model.h"
#include "orchestrator/reactor/admission.h"
#include "orchestrator/reactor/attempt_failure.h"
#include "orchestrator/results/devices.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kDevicesNamed = 4;

// Queued trials that are placed before it: larger priority, then the order of the plan.
std::vector<const TrialView*> QueuedBefore(const ResultsView& view, const TrialView& trial) {
  std::vector<const TrialView*> ahead;
  bool passed = false;
  for (const TrialView& other : view.trials) {
    passed = passed || &other == &trial;
    const int more = other.spec.execution.priority - trial.spec.execution.priority;
    if (other.state == TrialState::queued && &other != &trial && (more > 0 || (more == 0 && !passed)))
      ahead.push_back(&other);
  }
  return ahead;
}

struct Host {
  std::string name;
  int usable = 0, free = 0;
};

std::vector<Host> ListHosts(const std::vector<DeviceView>& devices) {
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
  for (const Host& host : ListHosts(devices)) usable += host.usable;
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
    std::string text = FormatDevicePlace(device);
    const char* verb = ", which";
    for (const TrialView* trial : device.trials) {
      const std::string progress = FormatProgress(*trial, FindTeacher(*trial), now_, costs_);
      text += fmt::format("{} {} {}{}{}", verb, trial->state == TrialState::running ? "runs" : "starts",
                          FormatTrialName(trial->spec), progress.empty() ? "" : ", ", progress);
      verb = ", and";
    }
    return text;
  }

 private:
  [[nodiscard]] const TrialSpec* FindTeacher(const TrialView& trial) const {
    const auto found = trial.spec.parent ? specs_.find(*trial.spec.parent) : specs_.end();
    return found == specs_.end() ? nullptr : found->second;
  }
  [[nodiscard]] double LeftOn(const DeviceView& device) const {
    double left = 0;
    for (const TrialView* trial : device.trials)
      left = std::max(left, EstimateSecondsLeft(costs_, MakePendingTrial(*trial, FindTeacher(*trial), now_))
                                .value_or(std::numeric_limits<double>::infinity()));
    return left;
  }
  std::unordered_map<TrialId, const TrialSpec*> specs_;
  double now_;
  const CostModel& costs_;
};

void ExplainBusy(const std::vector<DeviceView>& devices, const std::string& host, const Busy& busy, Explanation& out) {
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
void ExplainFree(const TrialView& trial, const std::vector<const TrialView*>& ahead, int free, Explanation& out) {
  if (free == 0) return;
  const auto gang = std::find_if(ahead.begin(), ahead.end(), [](const TrialView* t) { return t->spec.devices > 1; });
  const std::string count = fmt::format("{} {} free", free, free == 1 ? "is" : "are");
  if (gang != ahead.end())
    out.sentences.push_back(fmt::format("{}, and may be kept for {}, a gang of {} that is queued before it.", count,
                                        FormatTrialName((*gang)->spec), (*gang)->spec.devices));
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
    text +=
        (text.empty() ? "" : "; ") + FormatDevicePlace(device) +
        (lost ? " has been lost for " + FormatDuration(now - device.since) : " is drained, since trials failed there");
  }
  if (count > kDevicesNamed) text += fmt::format("; and {} more", count - kDevicesNamed);
  if (count > 0) out.sentences.push_back("Out of use: " + text + ".");
}

// Says which devices a queued trial waits for, and who has them. `view` is of a run that goes on.
void ExplainDevices(const ResultsView& view, const TrialView& trial, double now, const CostModel& costs,
                    Explanation& out) {
  const std::vector<const TrialView*> ahead = QueuedBefore(view, trial);
  const int wanted = trial.spec.devices;
  out.sentences.push_back(fmt::format("It is queued, {} before it, and needs {}.", ahead.size(),
                                      wanted == 1 ? "a device" : fmt::format("{} devices at once", wanted)));
  const std::vector<DeviceView> devices = ListDevices(view);
  if (devices.empty()) {
    out.sentences.emplace_back("No agent has told yet which devices there are.");
  } else {
    const std::string host = wanted > 1 ? HostOfGang(ListHosts(devices), wanted) : "";
    out.sentences.push_back("The run has " + DescribeDevices(devices) + ".");
    if (wanted > InUse(devices))
      out.sentences.push_back(
          fmt::format("That is too few for it: if no more come back, the run ends with its "
                      "state saved {:.0f} s after the last trial that can run.",
                      kDeadlockSeconds));
    else if (wanted > 1)
      out.sentences.push_back(host.empty() ? "No host has enough for it: it takes those of several."
                                           : "It gets those of " + host + ", where the fewest are lacking.");
    ExplainBusy(devices, host, {view, now, costs}, out);
    ExplainFree(trial, ahead, CountIn(devices, DeviceState::free), out);
    ExplainMissing(devices, now, out);
  }
  if (const std::optional<double> age = ComputeStaleness(view, now))
    out.sentences.push_back(fmt::format("The run has written nothing for {}: this is as old.", FormatDuration(*age)));
  if (trial.spec.execution.pack == PackMode::automatic && wanted == 1)
    for (const std::string& measured : view.packed) out.sentences.push_back("Sharing a device: " + measured + ".");
  out.next = "More devices or a larger --slots start it sooner";
  out.next += ahead.empty() ? "." : "; so does a larger `priority`.";
}

const TrialView* FindTeacher(const ResultsView& view, const TrialView& trial) {
  if (!trial.spec.parent) return nullptr;
  const auto found = std::find_if(view.trials.begin(), view.trials.end(),
                                  [&](const TrialView& other) { return other.spec.id == *trial.spec.parent; });
  return found == view.trials.end() ? nullptr : &*found;
}

// RESULTS stands for the results folder.
std::string_view Advice(FailureKind kind) {
  switch (kind) {
    case FailureKind::none:
    case FailureKind::stopped:
      return "";
    case FailureKind::crowded:
      return "It shared its device with too many; fewer do from now on. `pack = \"off\"` gives each trial a device of "
             "its own.";
    case FailureKind::worker_killed:
      return "Somebody or something outside retort killed the worker; see the batch system's or the kernel's log.";
    case FailureKind::worker_crash:
      return "Look at the end of the worker's log, `RESULTS/workers/rank<r>-slot<s>.log` of the place where the "
             "attempt "
             "ran; a crash that repeats is a bug or a broken library.";
    case FailureKind::worker_hang:
      return "Raise `deadline` in the sweep file if the steps are truly that slow.";
    case FailureKind::out_of_memory:
      return "Lower `batch`, run fewer workers at once (--slots), or give the machine more memory.";
    case FailureKind::not_finite:
      return "Lower `lr` or `kappa`: training diverged, and will again with the same spec.";
    case FailureKind::bad_message:
      return "The worker and retort are of different builds, or the worker's memory is damaged. Rebuild "
             "both.";
    case FailureKind::disk:
      return "Free space on the results folder's disk, or make the folder writable; then run again.";
    case FailureKind::data:
      return "Restore the data files that `retort plan RESULTS/sweep.toml` names.";
    case FailureKind::agent_lost:
      return "A rank or its host was lost. Run the same command again.";
    case FailureKind::budget_refused:
      return "Raise [data.NAME] budget, or ask for fewer releases.";
    case FailureKind::configuration:
      return "Change the sweep file: as specified the trial can never run.";
    case FailureKind::spawn:
      return "Check that retort-worker lies beside retort and starts (`retort-worker --version`).";
    case FailureKind::gang_broken:
      return "Its devices could not reach each other. On several hosts, RETORT_GANG_INTERFACE names the network "
             "to use; a firewall must let it through.";
    case FailureKind::device:
      return "The device reported an error. The worker was replaced; when it happens again, look at the driver's "
             "messages (`dmesg`, `nvidia-smi -q`), or take the device out (CUDA_VISIBLE_DEVICES).";
    case FailureKind::internal:
      return "This is a bug; the detail above and the worker's log, `RESULTS/workers/rank<r>-slot<s>.log` of the place "
             "where the attempt ran, belong in the report.";
  }
  return "";
}

std::string AdviceIn(const std::string& directory, FailureKind kind) {
  constexpr std::string_view kFolder = "RESULTS";
  std::string advice(Advice(kind));
  if (const std::size_t at = advice.find(kFolder); at != std::string::npos)
    advice.replace(at, kFolder.size(), QuoteForShell(directory));
  return advice;
}

std::string GoOn(const ResultsView& view) { return "`" + RunAgainCommand(view.directory) + "` goes on."; }

std::string FailureSentence(const TrialView& trial) {
  std::string text = fmt::format("Attempt {} ended with {}", trial.attempts, GetFailureName(trial.failure));
  return text + (trial.detail.empty() ? "." : ": " + trial.detail + ".");
}

// What the quota says, running or not.
bool ExplainQuota(const ResultsView& view, const TrialView& trial, double now, Explanation& out) {
  const std::string refusal = RefuseByQuota(view.quota, view.usage, trial.spec.id, now, 0, 0, view.running);
  if (refusal.empty()) return false;
  const bool passes = view.running && FindSpentQuota(view.quota, view.usage, now).empty() && view.usage.active() > 0;
  out.sentences.push_back("It may not start: " + refusal + ".");
  if (!passes) out.next = "Raise [sweep] quota in the sweep file, and run it again.";
  return true;
}

void ExplainBudget(const ResultsView& view, const TrialView& trial, const RootCharges* root, Explanation& out) {
  if (!trial.spec.data) return;
  for (const DataSpending& spent : ComputeStatus(view, {}, 0, root).spending) {
    if (!spent.budget || spent.digest != FindUnpackedDigest(view.unpacked, trial.spec.data->digest)) continue;
    out.sentences.push_back(fmt::format(
        "The budget of data set {}{} is ε ≤ {} at δ = {} over all trials, of which {} is spent{}; a "
        "release that would cross it is refused and ends the trial.",
        trial.spec.data->name, spent.budget_of.empty() ? "" : ", set by " + spent.budget_of + ",",
        FormatEpsilon(spent.budget->epsilon), FormatShortNumber(spent.budget->delta), FormatEpsilon(spent.root_epsilon),
        spent.root_reason.empty() ? "" : " (" + spent.root_reason + ")"));
  }
}

Explanation ExplainState(const ResultsView& view, const TrialView& trial, double now_unix_seconds,
                         const CostModel& costs);

// A run that has to stop soon starts only what gets to a checkpoint before.
bool ExplainTime(const ResultsView& view, const TrialView& trial, double now, const CostModel& costs,
                 Explanation& out) {
  if (!view.running || view.terms.work_ends <= 0) return false;
  const TrialView* teacher = FindTeacher(view, trial);
  const std::string refusal =
      RefuseByTime(ComputeSecondsToCheckpoint(costs, trial.spec, teacher == nullptr ? nullptr : &teacher->spec,
                                              ComputeFractionDone(trial.step, trial.total_steps)),
                   view.terms.work_ends - now);
  if (refusal.empty()) return false;
  out.sentences.push_back("It is not started any more in this run: " + refusal + ".");
  out.next = "The next run, with more time, starts it: `" + RunAgainCommand(view.directory) + "`.";
  return true;
}

void ExplainWaiting(const ResultsView& view, const TrialView& trial, double now, const CostModel& costs,
                    Explanation& out) {
  const TrialView* teacher = FindTeacher(view, trial);
  if (teacher == nullptr) {
    out.sentences.emplace_back("It waits for a teacher that is not in this sweep.");
    return;
  }
  out.sentences.push_back(fmt::format("It waits for its teacher {}, which is {}.", FormatTrialName(teacher->spec),
                                      GetStateName(teacher->state)));
  if (teacher->state == TrialState::running)
    if (const std::string progress = FormatProgress(*teacher, nullptr, now, costs); !progress.empty())
      out.sentences.push_back("The teacher: " + progress + ".");
  if (teacher->state == TrialState::queued) {
    Explanation cause = ExplainState(view, *teacher, now, costs);
    for (const std::string& sentence : cause.sentences) out.sentences.push_back("Teacher: " + sentence);
    out.next = cause.next;
  }
  if (!view.running) out.next = "Nobody is running the sweep: " + GoOn(view);
}

void ExplainQueued(const ResultsView& view, const TrialView& trial, double now, const CostModel& costs,
                   Explanation& out) {
  if (trial.failure != FailureKind::none && trial.attempts > 0) out.sentences.push_back(FailureSentence(trial));
  bool kept_back = ExplainQuota(view, trial, now, out);
  kept_back = ExplainTime(view, trial, now, costs, out) || kept_back;
  if (!view.running) {
    out.sentences.emplace_back("It is queued, and nobody is running the sweep.");
    if (!kept_back) out.next = GoOn(view);
  } else if (!IsRetryDue(trial.retry_at, now)) {
    out.sentences.push_back(
        fmt::format("It is tried again in {}: after {}, at most {} times in all, with a growing pause.",
                    FormatDuration(trial.retry_at - now), GetFailureName(trial.failure),
                    FindRetryRule(trial.failure).max_attempts));
  } else if (!kept_back) {
    ExplainDevices(view, trial, now, costs, out);
  }
}

// Queues the trial again.
std::string MakeRetryCommand(const ResultsView& view, const TrialView& trial) {
  return "`" + AddResultsOption(FormatTrialCommand("retry", trial.spec), view.directory) + "`";
}

void ExplainFailed(const ResultsView& view, const TrialView& trial, Explanation& out) {
  out.sentences.push_back(FailureSentence(trial));
  const RetryRule rule = FindRetryRule(trial.failure);
  out.sentences.push_back(rule.max_attempts <= 1
                              ? "A failure of this kind repeats itself and is not retried."
                              : fmt::format("A failure of this kind is tried at most {} times.", rule.max_attempts));
  const std::string advice = AdviceIn(view.directory, trial.failure);
  out.next = advice + (advice.empty() ? "" : " Then: ") + MakeRetryCommand(view, trial) + ", and `" +
             RunAgainCommand(view.directory) + "`.";
}

// The devices that it has.
std::string FindPlaces(const ResultsView& view, const TrialView& trial) {
  std::string places;
  for (const DeviceView& device : ListDevices(view))
    if (std::find(device.trials.begin(), device.trials.end(), &trial) != device.trials.end())
      places += (places.empty() ? "" : ", ") + FormatDevicePlace(device);
  return places.empty() ? "a device" : places;
}

std::string RunningText(const ResultsView& view, const TrialView& trial, double now, const CostModel& costs) {
  const TrialView* teacher = FindTeacher(view, trial);
  const std::string progress = FormatProgress(trial, teacher == nullptr ? nullptr : &teacher->spec, now, costs);
  return fmt::format("Attempt {} is running on {}{}{}.", trial.attempts, FindPlaces(view, trial),
                     progress.empty() ? "" : ": ", progress);
}

void ExplainSucceeded(const TrialView& trial, Explanation& out) {
  for (const std::string& what : trial.refuted)
    out.sentences.push_back("A proven claim of it is refuted by " + what + ".");
  if (!trial.audit_unknown.empty())
    out.sentences.push_back("Nothing is claimed of it, since nobody can say what audits found: " + trial.audit_unknown +
                            ".");
  if (trial.unknown_teacher_audit)
    out.sentences.emplace_back("Its claims rested on its teacher's, of which nobody can say what audits found.");
  if (trial.refuted_teacher) out.sentences.emplace_back("Its claims rested on its teacher's, which an audit refutes.");
  std::string cost =
      fmt::format("It succeeded after {} {}", trial.attempts, trial.attempts == 1 ? "attempt" : "attempts");
  if (trial.row)
    for (const auto& [name, value] : trial.row->timings)
      if (name == "seconds") cost += fmt::format(" and took {}", FormatDuration(value));
  out.sentences.push_back(cost + ".");
  if (!trial.row) return;
  for (const auto& [name, value] : trial.row->timings)
    if (name != "seconds") out.sentences.push_back(fmt::format("{}: {:.4g}", name, value));
}

Explanation ExplainState(const ResultsView& view, const TrialView& trial, double now_unix_seconds,
                         const CostModel& costs) {
  Explanation out;
  switch (trial.state) {
    case TrialState::waiting:
      ExplainWaiting(view, trial, now_unix_seconds, costs, out);
      break;
    case TrialState::queued:
      ExplainQueued(view, trial, now_unix_seconds, costs, out);
      break;
    case TrialState::leased:
      out.sentences.push_back(
          fmt::format("Attempt {} has {}, and its worker is starting.", trial.attempts, FindPlaces(view, trial)));
      break;
    case TrialState::running:
      out.sentences.push_back(RunningText(view, trial, now_unix_seconds, costs));
      if (trial.failure != FailureKind::none && trial.attempts > 1)
        out.sentences.push_back(fmt::format("The attempt before it ended with {}{}.", GetFailureName(trial.failure),
                                            trial.detail.empty() ? "" : ": " + trial.detail));
      break;
    case TrialState::succeeded:
      ExplainSucceeded(trial, out);
      break;
    case TrialState::failed:
      ExplainFailed(view, trial, out);
      break;
    case TrialState::parent_failed: {
      const TrialView* teacher = FindTeacher(view, trial);
      out.sentences.emplace_back("It never ran, because its teacher did not succeed.");
      if (teacher == nullptr) break;
      Explanation cause = ExplainState(view, *teacher, now_unix_seconds, costs);
      out.sentences.push_back("Teacher " + FormatTrialName(teacher->spec) + ": " + cause.sentences.front());
      out.next = cause.next;
      break;
    }
    case TrialState::cancelled:
      out.sentences.emplace_back("It was cancelled.");
      out.next = MakeRetryCommand(view, trial) + " queues it again.";
      break;
  }
  return out;
}

// Which outputs of a file are the classes, where the trial is loaded from one or asks one; else empty.
std::string DescribeOutputs(const ResultsView& view, const TrialView& trial) {
  const TrialView* teacher = FindTeacher(view, trial);
  const std::string& outputs = teacher == nullptr ? trial.spec.outputs : teacher->spec.outputs;
  if (outputs.empty()) return "";
  return fmt::format("{} outputs {} are the classes of the data set, in order.",
                     teacher == nullptr ? "Its" : "Its teacher's", outputs);
}

}  // namespace

Explanation Explain(const ResultsView& view, const TrialView& trial, double now_unix_seconds, const CostModel& costs,
                    const RootCharges* root) {
  Explanation out = ExplainState(view, trial, now_unix_seconds, costs);
  if (trial.state == TrialState::waiting || trial.state == TrialState::queued) ExplainBudget(view, trial, root, out);
  if (std::string outputs = DescribeOutputs(view, trial); !outputs.empty()) out.sentences.push_back(std::move(outputs));
  return out;
}

}  // namespace retort::orchestrator::cli
