// Which slots may be broken: what failed where and nowhere else. Volatile; pure.
#pragma once

#include <map>
#include <vector>

#include "experiments/spec/ids.h"
#include "orchestrator/seat.h"

namespace retort::orchestrator {

inline constexpr std::size_t kSuspectsToDrain = 2;  // different trials

class Quarantine {
 public:
  // A telling failure of a trial that failed nowhere else. True when enough different trials have failed
  // there, with no success in between, for the slot to be the cause.
  [[nodiscard]] bool Failed(Seat seat, TrialId trial);
  void Succeeded(Seat seat) { suspects_.erase(seat); }
  // The trial failed in a second place: it is the cause, and the slots are not.
  void Blame(TrialId trial);
  [[nodiscard]] std::vector<TrialId> SuspectsAt(Seat seat) const;

 private:
  std::map<Seat, std::vector<TrialId>> suspects_;
};

}  // namespace retort::orchestrator
