// Which slots may be broken: what failed where, and where else. Volatile: the slots of another run are others.
// Pure.
#pragma once

#include <map>
#include <optional>
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
  // The trial succeeded there.
  void Succeeded(Seat seat, TrialId trial);
  // The slots are new.
  void Reset(Seat seat) { suspects_.erase(seat); }
  // The trial failed in a second place: it is the cause, and the slots are not. Those that were held for the
  // cause until now.
  [[nodiscard]] std::vector<Seat> Blame(TrialId trial);
  // What the trial did is of no account any more.
  void Forget(TrialId trial) { failed_at_.erase(trial); }
  // Trials that failed at the seat, and nowhere else.
  [[nodiscard]] std::vector<TrialId> SuspectsAt(Seat seat) const;
  // Where the trial failed, each place once.
  [[nodiscard]] const std::vector<Seat>& FailedAt(TrialId trial) const;

 private:
  std::map<Seat, std::vector<TrialId>> suspects_;
  std::map<TrialId, std::vector<Seat>> failed_at_;
  std::vector<Seat> nowhere_;
};

}  // namespace retort::orchestrator
