// What the agent asked a worker for.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/messages.h"
#include "experiments/spec/ids.h"

namespace retort::worker {

struct TrialOrder {
  AttemptId attempt;
  std::uint64_t generation = 0;
  cluster::Start start;
  std::string build;  // for provenance: what this program was built from
};

}  // namespace retort::worker
