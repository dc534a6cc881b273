// A place for one worker.
#pragma once

#include <compare>

#include "experiments/spec/ids.h"

namespace retort::orchestrator {

struct Seat {
  WorldRank rank;
  int slot = 0;
  constexpr auto operator<=>(const Seat&) const = default;
};

}  // namespace retort::orchestrator
