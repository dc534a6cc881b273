#include "orchestrator/cli/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "orchestrator/cli/claim_text.h"
#include "orchestrator/cli/devices.h"
#include "orchestrator/cli/explain_devices.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/printed_command.h"
#include "orchestrator/cli/shell_text.h"
#include "orchestrator/cli/sweep_status.h"
#include "orchestrator/cli/trial_names.h"
#include "orchestrator/retry_policy.h"
#include "orchestrator/time_fit.h"

namespace retort::orchestrator::cli {
namespace {

const TrialView* TeacherOf(const ResultsView& view, const TrialView& trial) {
  if (!trial.spec.parent) return nullptr;
  const auto found = std::find_if(view.trials.begin(), view.trials.end(), [&](const TrialView& other) {
    return other.spec.id == *trial.spec.parent;
  });
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
      return "Look at the end of the worker's log, `RESULTS/workers/rank<r>-slot<s>.log` of the place where the attempt "
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
    advice.replace(at, kFolder.size(), ShellText(directory));
  return advice;
}

std::string GoOn(const ResultsView& view) { return "`" + RunAgain(view.directory) + "` goes on."; }

std::string FailureSentence(const TrialView& trial) {
  std::string text = fmt::format("Attempt {} ended with {}", trial.attempts, FailureName(trial.failure));
  return text + (trial.detail.empty() ? "." : ": " + trial.detail + ".");
}

// What the quota says, running or not.
bool ExplainQuota(const ResultsView& view, const TrialView& trial, double now, Explanation& out) {
  const std::string refusal = RefuseByQuota(view.quota, view.usage, trial.spec.id, now, 0, 0, view.running);
  if (refusal.empty()) return false;
  const bool passes =
      view.running && SpentQuota(view.quota, view.usage, now).empty() && view.usage.active() > 0;
  out.sentences.push_back("It may not start: " + refusal + ".");
  if (!passes) out.next = "Raise [sweep] quota in the sweep file, and run it again.";
  return true;
}

void ExplainBudget(const ResultsView& view, const TrialView& trial, const RootCharges* root, Explanation& out) {
  if (!trial.spec.data) return;
  for (const DataSpending& spent : StatusOf(view, {}, 0, root).spending) {
    if (!spent.budget || spent.digest != UnpackedOf(view.unpacked, trial.spec.data->digest)) continue;
    out.sentences.push_back(
        fmt::format("The budget of data set {}{} is ε ≤ {} at δ = {} over all trials, of which {} is spent{}; a "
                    "release that would cross it is refused and ends the trial.",
                    trial.spec.data->name, spent.budget_of.empty() ? "" : ", set by " + spent.budget_of + ",",
                    EpsilonText(spent.budget->epsilon), ShortNumber(spent.budget->delta),
                    EpsilonText(spent.root_epsilon),
                    spent.root_reason.empty() ? "" : " (" + spent.root_reason + ")"));
  }
}

Explanation ExplainState(const ResultsView& view, const TrialView& trial, double now_unix_seconds,
                         const CostModel& costs);

// A run that has to stop soon starts only what gets to a checkpoint before.
bool ExplainTime(const ResultsView& view, const TrialView& trial, double now, const CostModel& costs,
                 Explanation& out) {
  if (!view.running || view.terms.work_ends <= 0) return false;
  const TrialView* teacher = TeacherOf(view, trial);
  const std::string refusal =
      RefuseByTime(SecondsToCheckpoint(costs, trial.spec, teacher == nullptr ? nullptr : &teacher->spec,
                                       FractionDone(trial.step, trial.total_steps)),
                   view.terms.work_ends - now);
  if (refusal.empty()) return false;
  out.sentences.push_back("It is not started any more in this run: " + refusal + ".");
  out.next = "The next run, with more time, starts it: `" + RunAgain(view.directory) + "`.";
  return true;
}

void ExplainWaiting(const ResultsView& view, const TrialView& trial, double now, const CostModel& costs,
                    Explanation& out) {
  const TrialView* teacher = TeacherOf(view, trial);
  if (teacher == nullptr) {
    out.sentences.emplace_back("It waits for a teacher that is not in this sweep.");
    return;
  }
  out.sentences.push_back(fmt::format("It waits for its teacher {}, which is {}.", ShownName(teacher->spec),
                                      StateName(teacher->state)));
  if (teacher->state == TrialState::running)
    if (const std::string progress = ProgressText(*teacher, nullptr, now, costs); !progress.empty())
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
  if (trial.failure != FailureKind::none && trial.attempts > 0)
    out.sentences.push_back(FailureSentence(trial));
  bool kept_back = ExplainQuota(view, trial, now, out);
  kept_back = ExplainTime(view, trial, now, costs, out) || kept_back;
  if (!view.running) {
    out.sentences.emplace_back("It is queued, and nobody is running the sweep.");
    if (!kept_back) out.next = GoOn(view);
  } else if (!RetryIsDue(trial.retry_at, now)) {
    out.sentences.push_back(
        fmt::format("It is tried again in {}: after {}, at most {} times in all, with a growing pause.",
                    DurationText(trial.retry_at - now), FailureName(trial.failure),
                    RetryRuleFor(trial.failure).max_attempts));
  } else if (!kept_back) {
    ExplainDevices(view, trial, now, costs, out);
  }
}

// Queues the trial again.
std::string RetryOf(const ResultsView& view, const TrialView& trial) {
  return "`" + AtResults(TrialCommand("retry", trial.spec), view.directory) + "`";
}

void ExplainFailed(const ResultsView& view, const TrialView& trial, Explanation& out) {
  out.sentences.push_back(FailureSentence(trial));
  const RetryRule rule = RetryRuleFor(trial.failure);
  out.sentences.push_back(
      rule.max_attempts <= 1
          ? "A failure of this kind repeats itself and is not retried."
          : fmt::format("A failure of this kind is tried at most {} times.", rule.max_attempts));
  const std::string advice = AdviceIn(view.directory, trial.failure);
  out.next = advice + (advice.empty() ? "" : " Then: ") + RetryOf(view, trial) + ", and `" + RunAgain(view.directory) +
             "`.";
}

// The devices that it has.
std::string PlacesOf(const ResultsView& view, const TrialView& trial) {
  std::string places;
  for (const DeviceView& device : DevicesOf(view))
    if (std::find(device.trials.begin(), device.trials.end(), &trial) != device.trials.end())
      places += (places.empty() ? "" : ", ") + DevicePlace(device);
  return places.empty() ? "a device" : places;
}

std::string RunningText(const ResultsView& view, const TrialView& trial, double now, const CostModel& costs) {
  const TrialView* teacher = TeacherOf(view, trial);
  const std::string progress = ProgressText(trial, teacher == nullptr ? nullptr : &teacher->spec, now, costs);
  return fmt::format("Attempt {} is running on {}{}{}.", trial.attempts, PlacesOf(view, trial),
                     progress.empty() ? "" : ": ", progress);
}

void ExplainSucceeded(const TrialView& trial, Explanation& out) {
  for (const std::string& what : trial.refuted)
    out.sentences.push_back("A proven claim of it is refuted by " + what + ".");
  if (!trial.audit_unknown.empty())
    out.sentences.push_back("Nothing is claimed of it, since nobody can say what audits found: " + trial.audit_unknown + ".");
  if (trial.unknown_teacher_audit)
    out.sentences.emplace_back("Its claims rested on its teacher's, of which nobody can say what audits found.");
  if (trial.refuted_teacher)
    out.sentences.emplace_back("Its claims rested on its teacher's, which an audit refutes.");
  std::string cost =
      fmt::format("It succeeded after {} {}", trial.attempts, trial.attempts == 1 ? "attempt" : "attempts");
  if (trial.row)
    for (const auto& [name, value] : trial.row->timings)
      if (name == "seconds") cost += fmt::format(" and took {}", DurationText(value));
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
          fmt::format("Attempt {} has {}, and its worker is starting.", trial.attempts, PlacesOf(view, trial)));
      break;
    case TrialState::running:
      out.sentences.push_back(RunningText(view, trial, now_unix_seconds, costs));
      if (trial.failure != FailureKind::none && trial.attempts > 1)
        out.sentences.push_back(fmt::format("The attempt before it ended with {}{}.",
                                            FailureName(trial.failure),
                                            trial.detail.empty() ? "" : ": " + trial.detail));
      break;
    case TrialState::succeeded:
      ExplainSucceeded(trial, out);
      break;
    case TrialState::failed:
      ExplainFailed(view, trial, out);
      break;
    case TrialState::parent_failed: {
      const TrialView* teacher = TeacherOf(view, trial);
      out.sentences.emplace_back("It never ran, because its teacher did not succeed.");
      if (teacher == nullptr) break;
      Explanation cause = ExplainState(view, *teacher, now_unix_seconds, costs);
      out.sentences.push_back("Teacher " + ShownName(teacher->spec) + ": " + cause.sentences.front());
      out.next = cause.next;
      break;
    }
    case TrialState::cancelled:
      out.sentences.emplace_back("It was cancelled.");
      out.next = RetryOf(view, trial) + " queues it again.";
      break;
  }
  return out;
}

}  // namespace

Explanation Explain(const ResultsView& view, const TrialView& trial, double now_unix_seconds, const CostModel& costs,
                    const RootCharges* root) {
  Explanation out = ExplainState(view, trial, now_unix_seconds, costs);
  if (trial.state == TrialState::waiting || trial.state == TrialState::queued) ExplainBudget(view, trial, root, out);
  return out;
}

}  // namespace retort::orchestrator::cli
