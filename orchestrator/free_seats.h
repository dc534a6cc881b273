// The free slots of one scheduling round, by host.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/fleet.h"

namespace retort::orchestrator {

class FreeSeats {
 public:
  explicit FreeSeats(const Fleet& fleet);

  [[nodiscard]] bool empty() const { return free_ == 0; }
  // One slot, spread over the ranks: every agent's first slot before any second one; where there is a choice,
  // none of `avoid`, (world rank, slot).
  [[nodiscard]] std::optional<Seat> TakeOne(const std::vector<Seat>& avoid = {});
  // All or nothing: on the host with the fewest free slots that still has enough, else on as few hosts as
  // possible, the fullest last. Slots of one host are neighbours in the answer.
  [[nodiscard]] std::optional<std::vector<Seat>> TakeGang(int devices);
  // Takes out of this round what a gang of `devices`, for which there are too few, should find free later:
  // of the host that lacks the fewest where any is large enough, else of all.
  void KeepFor(int devices);

 private:
  struct Host {
    std::string key;
    int seats = 0;  // of live agents, busy or not
    std::vector<Seat> free;
  };
  [[nodiscard]] std::vector<Seat> TakeFrom(Host& host, std::size_t count);

  std::vector<Host> hosts_;  // in order of their first rank
  std::size_t free_ = 0;
};

}  // namespace retort::orchestrator
