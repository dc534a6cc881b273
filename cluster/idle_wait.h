// How a loop waits when it has nothing to do: on descriptors at once, on MPI by polling ever less often.
#pragma once

#include <chrono>
#include <span>

namespace retort::cluster {

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

}  // namespace retort::cluster
