// The quota of a sweep: what the runs of a results folder have used of it, and whether more trials may start. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/events.h"

namespace retort::orchestrator {

// What the runs have used, from the events of the journal in order. Times are Unix seconds. A run lasts from its first
// event to the last one about an attempt; an attempt that died with its orchestrator ended when that was last heard of.
// A clock that is put back while a run goes on takes no time, and what follows counts on from there.
class Usage {
 public:
  // An attempt that has not ended.
  struct Held {
    double since = 0;                          // in run time: see AdvanceTo
    std::vector<std::pair<int, int>> members;  // (world rank, slot)
    [[nodiscard]] double devices() const { return members.empty() ? 1 : static_cast<double>(members.size()); }
  };

  void On(const JournalEvent& event);

  [[nodiscard]] std::int64_t trials() const { return static_cast<std::int64_t>(begun_.size()); }
  [[nodiscard]] bool HasBegun(TrialId trial) const { return begun_.contains(trial); }
  [[nodiscard]] std::int64_t active() const { return static_cast<std::int64_t>(active_.size()); }
  [[nodiscard]] const std::map<TrialId, Held>& held() const { return active_; }
  // Most devices that the newest run has held at once.
  [[nodiscard]] int peak_devices() const { return peak_; }
  // `running`: a run goes on now. Otherwise up to the last event.
  [[nodiscard]] double WallSeconds(double now, bool running) const;
  [[nodiscard]] double DeviceSeconds(double now, bool running) const;

 private:
  void Begin(double at);
  void EndActive(double at);
  void AdvanceTo(double at);
  // `at` on a clock that is never put back during the newest run; at least the time of its last event.
  [[nodiscard]] double ToRunTime(double at) const { return std::max(last_, at + put_back_); }

  std::unordered_set<TrialId> begun_;
  std::map<TrialId, Held> active_;
  double run_began_ = 0, last_ = 0;  // of the newest run: its first event, the last about an attempt
  double put_back_ = 0;              // seconds, in the newest run
  double wall_ = 0, device_ = 0;     // of what is over
  int devices_ = 0, peak_ = 0;       // held now, and at most in the newest run
  bool opened_ = false;
};

// Returns why a trial may not start now, for people: "the quota of 4 trials at once is in use"; empty when it may.
// `starting` trials are about to start besides, `starting_new` of them for the first time.
[[nodiscard]] std::string RefuseByQuota(const Quota& quota, const Usage& usage, TrialId trial, double now,
                                        std::int64_t starting = 0, std::int64_t starting_new = 0, bool running = true);
// Returns which part of the quota is used up for good, wall clock or device-hours, so that running attempts have to
// end, too; empty while some is left.
[[nodiscard]] std::string FindSpentQuota(const Quota& quota, const Usage& usage, double now, bool running = true);

}  // namespace retort::orchestrator
