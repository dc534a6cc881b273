#include "orchestrator/core/quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace retort::orchestrator {
namespace {

constexpr double kHour = 3600;

}  // namespace

void Usage::On(const JournalEvent& event) {
  const Event& what = event.event;
  if (std::holds_alternative<RunStarted>(what) || (std::holds_alternative<SweepOpened>(what) && !opened_)) {
    opened_ = true;
    Begin(event.at);
    return;
  }
  if (const auto* leased = std::get_if<AttemptLeased>(&what)) {
    begun_.insert(leased->attempt.trial);
    Held& held = active_[leased->attempt.trial];
    devices_ -= static_cast<int>(held.members.size());
    held = {ToRunTime(event.at), leased->members};
    devices_ += static_cast<int>(held.members.size());
    peak_ = std::max(peak_, devices_);
  } else if (const auto* ended = std::get_if<AttemptEnded>(&what)) {
    if (const auto held = active_.find(ended->attempt.trial); held != active_.end()) {
      device_ += (ToRunTime(event.at) - held->second.since) * held->second.devices();
      devices_ -= static_cast<int>(held->second.members.size());
      active_.erase(held);
    }
  } else if (!std::holds_alternative<AttemptStarted>(what) && !std::holds_alternative<ProgressNoted>(what) &&
             !std::holds_alternative<CheckpointNoted>(what) && !std::holds_alternative<SweepInterrupted>(what)) {
    return;  // plans and amendments take no time
  }
  AdvanceTo(event.at);
}

void Usage::AdvanceTo(double at) {
  put_back_ = std::max(put_back_, last_ - at);
  last_ = ToRunTime(at);
}

void Usage::Begin(double at) {
  EndActive(last_);
  wall_ += last_ - run_began_;
  run_began_ = last_ = at;
  put_back_ = 0;
  peak_ = 0;
}

void Usage::EndActive(double at) {
  for (const auto& [trial, held] : active_) device_ += std::max(0.0, at - held.since) * held.devices();
  active_.clear();
  devices_ = 0;
}

double Usage::WallSeconds(double now, bool running) const {
  return wall_ + (running ? ToRunTime(now) : last_) - run_began_;
}

double Usage::DeviceSeconds(double now, bool running) const {
  double seconds = device_;
  for (const auto& [trial, held] : active_)
    seconds += ((running ? ToRunTime(now) : last_) - held.since) * held.devices();
  return seconds;
}

std::string FindSpentQuota(const Quota& quota, const Usage& usage, double now, bool running) {
  if (quota.wall_seconds > 0 && usage.WallSeconds(now, running) >= quota.wall_seconds)
    return fmt::format("the quota of {:g} s wall clock is used up", quota.wall_seconds);
  if (quota.device_hours > 0 && usage.DeviceSeconds(now, running) >= quota.device_hours * kHour)
    return fmt::format("the quota of {:g} device-hours is used up", quota.device_hours);
  return "";
}

std::string RefuseByQuota(const Quota& quota, const Usage& usage, TrialId trial, double now, std::int64_t starting,
                          std::int64_t starting_new, bool running) {
  if (std::string spent = FindSpentQuota(quota, usage, now, running); !spent.empty()) return spent;
  if (quota.trials > 0 && !usage.HasBegun(trial) && usage.trials() + starting_new >= quota.trials)
    return fmt::format("the quota of {} trials is used up", quota.trials);
  if (quota.concurrency > 0 && usage.active() + starting >= quota.concurrency)
    return fmt::format("the quota of {} {} at once is in use", quota.concurrency,
                       quota.concurrency == 1 ? "trial" : "trials");
  return "";
}

}  // namespace retort::orchestrator
