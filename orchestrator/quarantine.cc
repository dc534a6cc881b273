#include "orchestrator/quarantine.h"

#include <algorithm>

namespace retort::orchestrator {
namespace {

template <typename T>
void AddOnce(std::vector<T>& values, const T& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

}  // namespace

bool Quarantine::Failed(Seat seat, TrialId trial) {
  AddOnce(failed_at_[trial], seat);
  std::vector<TrialId>& trials = suspects_[seat];
  AddOnce(trials, trial);
  return trials.size() >= kSuspectsToDrain;
}

void Quarantine::Succeeded(Seat seat, TrialId trial) {
  suspects_.erase(seat);
  failed_at_.erase(trial);
}

std::vector<Seat> Quarantine::Blame(TrialId trial) {
  std::vector<Seat> cleared;
  for (auto& [seat, trials] : suspects_) {
    const bool held = trials.size() >= kSuspectsToDrain;
    std::erase(trials, trial);
    if (held && trials.size() < kSuspectsToDrain) cleared.push_back(seat);
  }
  return cleared;
}

std::vector<TrialId> Quarantine::SuspectsAt(Seat seat) const {
  const auto found = suspects_.find(seat);
  return found == suspects_.end() ? std::vector<TrialId>() : found->second;
}

const std::vector<Seat>& Quarantine::FailedAt(TrialId trial) const {
  const auto found = failed_at_.find(trial);
  return found == failed_at_.end() ? nowhere_ : found->second;
}

}  // namespace retort::orchestrator
