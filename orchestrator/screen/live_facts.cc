#include "orchestrator/screen/live_facts.h"

#include <algorithm>
#include <limits>
#include <variant>
#include <vector>

#include "orchestrator/process/system_clock.h"
#include "orchestrator/reactor/admission.h"
#include "orchestrator/reactor/result_row.h"
#include "orchestrator/screen/progress_text.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kTrialsDrawnLive = 20'000;

}  // namespace

std::optional<SweepEstimate> EstimateRun(const Core& core, Now now, std::size_t most) {
  const std::size_t left = core.plan().size() - CountEnded(core);
  if (left == 0 || left > most || core.stop) return std::nullopt;
  std::vector<PendingTrial> pending;
  pending.reserve(left);
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (IsFinal(trial.state)) continue;
    const Trial* teacher = trial.spec.parent ? core.Find(*trial.spec.parent) : nullptr;
    const ActiveAttempt* active = core.fleet.Find(trial.spec.id);
    PendingTrial one;
    one.spec = &trial.spec;
    one.teacher = teacher == nullptr ? nullptr : &teacher->spec;
    one.running = active != nullptr;
    one.done = active != nullptr && active->total_steps > 0 ? ComputeFractionDone(active->step, active->total_steps)
                                                            : ComputeFractionDone(trial.step, trial.total_steps);
    if (active != nullptr) SetPace(one, trial.pace, trial.step, trial.total_steps, now.unix_seconds);
    pending.push_back(one);
  }
  const int slots = std::max(core.fleet.CountLiveSlots(), 1);
  return EstimateSweep(core.costs, pending, slots, static_cast<int>(core.quota.concurrency), kTrialsDrawnLive);
}

const std::optional<SweepEstimate>& LiveEstimate::Of(const Core& core, Now now) {
  if (now.monotonic < next_) return newest_;
  const double began = ReadClocks().monotonic;
  newest_ = EstimateRun(core, now, kMaxTrials);
  const double took = ReadClocks().monotonic - began;
  next_ = now.monotonic + std::max(kPauseSeconds, kPauseFactor * took);
  return newest_;
}

SpendingFacts MakeSpendingFacts(const Core& core) {
  SpendingFacts facts;
  for (std::size_t index = 0; index < core.known(); ++index) {
    const Trial& trial = core.At(index);
    facts.trials.push_back({&trial.spec, trial.planned, core.FindAuditVoid(trial.spec.id)});
  }
  facts.results = core.settings().results;
  facts.charges = &core.charges;
  facts.counts = MakeCountRule(core);
  facts.ledger_lost = core.ledger_lost;
  for (const auto& [digest, events] : core.other_spending) facts.elsewhere[digest] = {events};
  for (const auto& [digest, sweeps] : core.other_charges) facts.elsewhere[digest] = sweeps;
  facts.other_budgets = core.other_budgets;
  facts.root = core.root;
  facts.root_trouble = core.root_trouble;
  return facts;
}

const std::vector<DataSpending>& LiveSpending::Of(const Core& core, Now now) {
  const bool same = version_ == core.charges.version() && audit_voids_ == core.audit_voids;
  if (same || now.monotonic < next_) return newest_;
  const double began = ReadClocks().monotonic;
  version_ = core.charges.version();
  audit_voids_ = core.audit_voids;
  newest_ = ComputeSpending(MakeSpendingFacts(core));
  next_ = now.monotonic + std::max(kPauseSeconds, kPauseFactor * (ReadClocks().monotonic - began));
  return newest_;
}

namespace {

constexpr double kRateSeconds = 60;
constexpr double kStepPauseSeconds = 0.5;  // between two that are kept
constexpr double kHour = 3600;
constexpr double kEndsPauseSeconds = 60;
constexpr double kMinEndsSeconds = 10;  // that a pace is told of

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

// Where the next step is late, the time since the last one counts as well.
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
  facts_.spent = SelectShownSpending(spending_.Of(core, now));
  return facts_;
}

// Adds failures of earlier runs.
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
  const std::size_t done = CountEnded(core);
  if (ends_.empty()) ends_.emplace_back(now.monotonic, done);
  if (now.monotonic - ends_.back().first >= kEndsPauseSeconds) ends_.emplace_back(now.monotonic, done);
  while (ends_.size() > 1 && now.monotonic - ends_[1].first >= kHour) ends_.pop_front();
  const auto& [since, before] = ends_.front();
  const double seconds = now.monotonic - since;
  const bool known = seconds >= kMinEndsSeconds && done > before;
  facts_.trials_per_hour = known ? static_cast<double>(done - before) * kHour / seconds : 0;
}

}  // namespace retort::orchestrator
