// Collective over Gloo between CPU processes, met through a GangStore.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "worker/gang/collective.h"
#include "worker/gang/gang_store.h"

namespace retort::worker {

struct GangMembership {
  GangRank rank;
  int size = 1;
  Generation generation;                       // keys of one formation never meet another's
  std::string address;                         // of the store
  std::string host;                            // name or address of this host that peers can reach
  std::chrono::milliseconds deadline{60'000};  // for meeting and for each operation
};

// Error: environment, naming the member and the cause, when the gang does not meet in time.
[[nodiscard]] Result<std::unique_ptr<Collective>> JoinGlooGang(const GangMembership& membership);

}  // namespace retort::worker
