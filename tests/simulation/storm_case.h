// One simulated sweep by a few numbers, and the smallest one that still shows a failure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "experiments/base/status.h"

namespace retort::testing {

struct StormCase {
  std::uint64_t seed = 1;
  int agents = 4;
  int slots = 2;  // of each agent
  int trials = 24;
  int gang = 4;        // largest gang
  bool rough = false;  // trials may fail for good, slots may be drained
  [[nodiscard]] std::string Text() const {
    return "seed " + std::to_string(seed) + ", " + std::to_string(agents) + " agents of " + std::to_string(slots) +
           " slots, " + std::to_string(trials) + " trials, gangs up to " + std::to_string(gang) +
           (rough ? ", rough" : "");
  }
};

// Smaller in one number after the other, as long as `run` still fails; `failing` is such a case.
inline StormCase Shrink(StormCase failing, const std::function<Status(const StormCase&)>& run) {
  constexpr int StormCase::*kNumbers[] = {&StormCase::trials, &StormCase::agents, &StormCase::slots, &StormCase::gang};
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const auto number : kNumbers) {
      for (const int divisor : {2, 0}) {
        StormCase candidate = failing;
        candidate.*number = divisor == 0 ? candidate.*number - 1 : candidate.*number / divisor;
        if (candidate.*number < 1 || candidate.*number == failing.*number || run(candidate).ok()) continue;
        failing = candidate;
        smaller = true;
        break;
      }
    }
  }
  return failing;
}

}  // namespace retort::testing
