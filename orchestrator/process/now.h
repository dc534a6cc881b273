// A point in time. Whoever only decides takes one as an argument; system_clock.h reads the clocks.
#pragma once

namespace retort::orchestrator {

struct Now {
  double monotonic = 0;     // seconds; for deadlines inside this process
  double unix_seconds = 0;  // for what is written down
};

}  // namespace retort::orchestrator
