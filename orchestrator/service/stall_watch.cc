#include "orchestrator/service/stall_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "experiments/base/number_text.h"
#include "orchestrator/results/trial_names.h"
#include "orchestrator/service/end_command.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kNamed = 3;  // trials in the message

// "no trial has made a step for 15 min: sleep-s0-0123abcd is at step 3 of 40, … and 2 more".
std::string DescribeStall(const Core& core, double silent_seconds) {
  std::string text = "no trial has made a step for " + FormatDuration(silent_seconds);
  std::size_t named = 0;
  for (const auto& [id, attempt] : core.fleet.active()) {
    if (named == kNamed) break;
    text += fmt::format("{} {} is at step {} of {}", named++ == 0 ? ":" : ",", FormatTrialName(core.Get(id).spec),
                        attempt.step, attempt.total_steps);
  }
  const std::size_t all = core.fleet.active().size();
  return all > named ? text + fmt::format(" and {} more", all - named) : text;
}

}  // namespace

std::string StallWatch::Look(const Core& core, double monotonic) {
  if (rule_.command.empty()) return "";
  if (std::string line = FollowCommand(monotonic); !line.empty()) return line;
  if (core.stop || core.ended || core.fleet.active().empty()) return "";
  double newest = 0;
  for (const auto& [id, attempt] : core.fleet.active()) newest = std::max(newest, attempt.watch.last());
  if (monotonic - newest < rule_.after_seconds || (told_of_ && *told_of_ >= newest) || running_) return "";
  told_of_ = newest;
  return Tell(core, monotonic - newest, monotonic);
}

std::string StallWatch::Tell(const Core& core, double silent_seconds, double monotonic) {
  const std::string what = DescribeStall(core, silent_seconds);
  SweepEnd so_far;
  so_far.sweep = core.sweep();
  so_far.results = core.settings().results;
  so_far.outcome = "stalled";
  so_far.message = what;
  so_far.trials = static_cast<std::int64_t>(core.plan().size());
  so_far.succeeded = static_cast<std::int64_t>(core.CountIn(TrialState::succeeded));
  so_far.failed = static_cast<std::int64_t>(core.CountIn(TrialState::failed));
  so_far.not_run = static_cast<std::int64_t>(core.CountIn(TrialState::parent_failed));
  so_far.cancelled = static_cast<std::int64_t>(core.CountIn(TrialState::cancelled));
  Result<ShellCommand> command = ShellCommand::Start(rule_.command, MakeEndEnvironment(so_far, rule_.environment));
  if (!command.ok()) return what + "; --on-stall failed: " + command.status().message();
  running_.emplace(std::move(command).value());
  started_ = monotonic;
  return what + "; the command of --on-stall runs";
}

std::string StallWatch::End(double monotonic) {
  if (std::string line = FollowCommand(monotonic); !line.empty() || !running_) return line;
  running_.reset();
  return "the command of --on-stall was killed, since the run has ended";
}

std::string StallWatch::FollowCommand(double monotonic) {
  if (!running_) return "";
  const std::optional<Status> ended = running_->Poll();
  if (ended) {
    running_.reset();
    return ended->ok() ? "" : "the command of --on-stall failed: " + ended->message();
  }
  if (monotonic - started_ < kCommandSeconds) return "";
  running_.reset();
  return fmt::format("the command of --on-stall was killed, since it took more than {}",
                     FormatDuration(kCommandSeconds));
}

}  // namespace retort::orchestrator
