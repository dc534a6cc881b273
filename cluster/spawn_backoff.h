// Keeps a worker that dies at once from being started in a storm.
#pragma once

#include <chrono>

namespace retort::cluster {

// One per worker slot. Times are on the caller's monotonic clock.
class SpawnBackoff {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Policy {
    std::chrono::milliseconds first{100};  // pause after the first death that counts
    std::chrono::milliseconds longest{30'000};
    std::chrono::milliseconds settled{5'000};  // a worker that lived this long died for other reasons
    int max_in_a_row = 10;                     // early deaths after which the slot is given up
  };
  SpawnBackoff() = default;
  explicit SpawnBackoff(Policy policy) : policy_(policy) {}

  // Whether a worker may be started now.
  [[nodiscard]] bool MaySpawn(TimePoint now) const { return !GaveUp() && now >= not_before_; }
  [[nodiscard]] TimePoint not_before() const { return not_before_; }
  // No worker of this slot stays alive: the agent should report it and stop trying.
  [[nodiscard]] bool GaveUp() const { return early_deaths_ >= policy_.max_in_a_row; }

  void Spawned(TimePoint now) { spawned_at_ = now; }
  // The worker did useful work (said Hello and took a Start): its end is no start-up failure.
  void Proved() {
    early_deaths_ = 0;
    proved_ = true;
  }
  // The worker ended, or could not be started.
  void Ended(TimePoint now);

 private:
  Policy policy_;
  TimePoint spawned_at_{};
  TimePoint not_before_{};
  int early_deaths_ = 0;
  bool proved_ = false;
};

}  // namespace retort::cluster
