#include "orchestrator/quarantine.h"

#include <algorithm>

namespace retort::orchestrator {

bool Quarantine::Failed(Seat seat, TrialId trial) {
  std::vector<TrialId>& trials = suspects_[seat];
  if (std::find(trials.begin(), trials.end(), trial) == trials.end()) trials.push_back(trial);
  return trials.size() >= kSuspectsToDrain;
}

void Quarantine::Blame(TrialId trial) {
  for (auto& [seat, trials] : suspects_) std::erase(trials, trial);
}

std::vector<TrialId> Quarantine::SuspectsAt(Seat seat) const {
  const auto found = suspects_.find(seat);
  return found == suspects_.end() ? std::vector<TrialId>() : found->second;
}

}  // namespace retort::orchestrator
