#include "orchestrator/live_facts.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "orchestrator/progress_text.h"

namespace retort::orchestrator {
namespace {

constexpr double kRateSeconds = 60;
constexpr double kStepPauseSeconds = 0.5;  // between two that are kept
constexpr double kHour = 3600;
constexpr double kEndsPauseSeconds = 60;
constexpr double kLeastEndsSeconds = 10;  // that a pace is told of

}  // namespace

void StepRates::Look(const Core& core, double monotonic) {
  std::erase_if(tracks_, [&core](const auto& track) { return core.fleet.Find(track.first) == nullptr; });
  for (const auto& [trial, attempt] : core.fleet.active()) {
    Track& track = tracks_[trial];
    if (track.generation != attempt.generation) track = {attempt.generation, {}};
    auto& steps = track.steps;
    if (attempt.step <= 0 || (!steps.empty() && steps.back().second == attempt.step)) continue;
    if (!steps.empty() && attempt.step < steps.back().second) steps.clear();
    const bool close = steps.size() > 1 && monotonic - steps[steps.size() - 2].first < kStepPauseSeconds;
    if (close) steps.pop_back();
    steps.emplace_back(monotonic, attempt.step);
    while (steps.size() > 2 && monotonic - steps.front().first > kRateSeconds) steps.pop_front();
  }
}

// A trial whose next step is late is as slow as it shows.
std::map<TrialId, double> StepRates::PerSecond(double monotonic) const {
  std::map<TrialId, double> rates;
  for (const auto& [trial, track] : tracks_) {
    if (track.steps.size() < 2) continue;
    const auto& [first_at, first] = track.steps.front();
    const auto& [last_at, last] = track.steps.back();
    const double seconds = last_at - first_at, made = static_cast<double>(last - first);
    const double late = monotonic - last_at - seconds / static_cast<double>(track.steps.size() - 1);
    if (seconds > 0) rates[trial] = made / (seconds + std::max(0.0, late));
  }
  return rates;
}

void LiveWatch::Events(const std::vector<JournalEvent>& events) {
  for (const JournalEvent& event : events) {
    const auto* ended = std::get_if<AttemptEnded>(&event.event);
    if (ended == nullptr || ended->succeeded || !ended->for_good) continue;
    std::erase(facts_.failed, ended->attempt.trial);
    facts_.failed.push_front(ended->attempt.trial);
    if (facts_.failed.size() > kFailuresKept) facts_.failed.pop_back();
  }
}

const LiveFacts& LiveWatch::Look(const Core& core, Now now) {
  if (!looked_) FindOldFailures(core);
  looked_ = true;
  LookAtDisk(core, now);
  CountEnds(core, now);
  rates_.Look(core, now.monotonic);
  facts_.steps_per_second = rates_.PerSecond(now.monotonic);
  facts_.left = estimate_.Of(core, now);
  facts_.spent = ShownSpending(spending_.Of(core, now));
  return facts_;
}

// Those of earlier runs.
void LiveWatch::FindOldFailures(const Core& core) {
  if (core.CountIn(TrialState::failed) == 0) return;
  for (const std::size_t index : core.plan()) {
    if (facts_.failed.size() >= kFailuresKept) return;
    const Trial& trial = core.At(index);
    const auto known = std::find(facts_.failed.begin(), facts_.failed.end(), trial.spec.id);
    if (trial.state == TrialState::failed && known == facts_.failed.end()) facts_.failed.push_back(trial.spec.id);
  }
}

void LiveWatch::LookAtDisk(const Core& core, Now now) {
  if (env_ == nullptr || now.monotonic < next_disk_) return;
  next_disk_ = now.monotonic + kDiskSeconds;
  const Result<std::uint64_t> free = env_->FreeBytes(core.settings().results);
  const bool known = free.ok() && *free != std::numeric_limits<std::uint64_t>::max();
  facts_.free_bytes = known ? std::optional(*free) : std::nullopt;
}

void LiveWatch::CountEnds(const Core& core, Now now) {
  const std::size_t done = CountDone(core);
  if (ends_.empty()) ends_.emplace_back(now.monotonic, done);
  if (now.monotonic - ends_.back().first >= kEndsPauseSeconds) ends_.emplace_back(now.monotonic, done);
  while (ends_.size() > 1 && now.monotonic - ends_[1].first >= kHour) ends_.pop_front();
  const auto& [since, before] = ends_.front();
  const double seconds = now.monotonic - since;
  const bool known = seconds >= kLeastEndsSeconds && done > before;
  facts_.trials_per_hour = known ? static_cast<double>(done - before) * kHour / seconds : 0;
}

}  // namespace retort::orchestrator
