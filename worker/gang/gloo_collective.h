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
  Generation generation;                          // keys of one formation never meet another's
  std::string address;                            // of the store: "HOST:PORT/SECRET"
  std::string host;                               // name or address of this host that peers can reach
  std::chrono::milliseconds deadline{60'000};     // for each operation
  std::chrono::milliseconds meeting_deadline{0};  // for meeting; 0 = `deadline`
  [[nodiscard]] std::chrono::milliseconds meeting() const {
    return meeting_deadline.count() > 0 ? meeting_deadline : deadline;
  }
};

// Error: environment, naming the member and the cause, when the gang does not meet in time.
[[nodiscard]] Result<std::unique_ptr<Collective>> JoinGlooGang(const GangMembership& membership);

}  // namespace retort::worker
