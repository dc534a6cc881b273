// How loops wait when they have nothing to do, and how long after its death a worker is started again.
#pragma once

#include <chrono>
#include <span>

namespace retort::cluster {

// Waits of a loop that has nothing to do: on descriptors at once, on MPI by polling ever less often.
// Starts at `shortest` and doubles to `longest` while nothing happens. MPI offers no descriptor to wait
// on and its blocking receive burns a core, hence the polling; a message on a worker's socket ends the
// wait at once. Not thread-safe.
class IdleWait {
 public:
  using Duration = std::chrono::milliseconds;
  // 1-20 ms suits a loop that polls MPI. Without MPI `longest` can be the time to the next deadline.
  explicit IdleWait(Duration shortest = Duration(1), Duration longest = Duration(20));

  // Blocks until one of `readable` (negative entries are skipped) has data or is closed, a signal
  // arrives, or the current pause, at most `at_most`, has passed. True when a descriptor is ready.
  bool Wait(std::span<const int> readable, Duration at_most);
  // Something happened: the next wait is short again.
  void Reset() { pause_ = shortest_; }
  [[nodiscard]] Duration pause() const { return pause_; }

 private:
  Duration shortest_;
  Duration longest_;
  Duration pause_;
};

// Keeps a worker that dies at once from being started again at once. One per worker slot. Times are on the caller's
// monotonic clock.
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
  void MarkHealthy() {
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
