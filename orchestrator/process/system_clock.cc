#include "orchestrator/process/system_clock.h"

#include <ctime>

namespace retort::orchestrator {
namespace {

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

Clocks ReadSystemClocks() { return {Seconds(CLOCK_MONOTONIC), Seconds(CLOCK_REALTIME), Seconds(CLOCK_BOOTTIME)}; }

Now ReadClocks() {
  const Clocks now = ReadSystemClocks();
  return {now.monotonic, now.unix_seconds};
}

}  // namespace retort::orchestrator
