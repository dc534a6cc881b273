// Reads the clocks of this process; nothing else does.
#pragma once

#include <functional>

#include "orchestrator/process/now.h"

namespace retort::orchestrator {

struct Clocks {
  double monotonic = 0;     // seconds
  double unix_seconds = 0;  // may jump when somebody sets it
  double since_boot = 0;    // seconds, those in which the machine slept included
};
[[nodiscard]] Clocks ReadSystemClocks();
[[nodiscard]] Now ReadClocks();

// Calendar time that does not jump when somebody sets the clock: the time at the start and what has passed since.
// Quotas, waits and the times in the journal are counted in it.
class RunClock {
 public:
  explicit RunClock(std::function<Clocks()> read = ReadSystemClocks) : read_(std::move(read)), started_(read_()) {}
  [[nodiscard]] Now Read() const {
    const Clocks now = read_();
    return {now.monotonic, started_.unix_seconds + now.since_boot - started_.since_boot};
  }

 private:
  std::function<Clocks()> read_;
  Clocks started_;
};

}  // namespace retort::orchestrator
