#include "orchestrator/charge_book.h"

#include <algorithm>

#include "experiments/spec/status.h"

namespace retort::orchestrator {

void ChargeBook::Load(const std::vector<storage::LedgerEntry>& entries) {
  for (const storage::LedgerEntry& entry : entries)
    Add(entry.data_digest, entry.attempt.trial, entry.Charged());
}

ChargeBook::Handle ChargeBook::Add(const std::string& data_digest, TrialId trial,
                                   const privacy::PrivacyEvent& event) {
  const Handle handle = charges_.size();
  charges_.push_back({trial, event});
  by_trial_[trial].push_back(handle);
  std::vector<TrialId>& trials = by_data_[data_digest];
  // A trial has one data set, so its first charge is also its first on this one.
  if (by_trial_[trial].size() == 1) trials.push_back(trial);
  ++version_;
  return handle;
}

void ChargeBook::Settle(Handle handle, std::int64_t used) {
  RETORT_CHECK(handle < charges_.size());
  RETORT_CHECK(used >= 0 && used <= charges_[handle].event.count);
  charges_[handle].event.count = used;
  ++version_;
}

std::vector<privacy::PrivacyEvent> ChargeBook::EventsOf(TrialId trial) const {
  std::vector<privacy::PrivacyEvent> events;
  const auto found = by_trial_.find(trial);
  if (found == by_trial_.end()) return events;
  for (const Handle handle : found->second) {
    const privacy::PrivacyEvent& event = charges_[handle].event;
    if (event.count == 0) continue;
    const auto same =
        std::find_if(events.begin(), events.end(),
                     [&event](const privacy::PrivacyEvent& other) { return other.SameMechanism(event); });
    if (same == events.end())
      events.push_back(event);
    else
      same->Count(event.count);
  }
  return events;
}

std::vector<std::vector<privacy::PrivacyEvent>> ChargeBook::EventsOn(const std::string& data_digest,
                                                                     const Counts& counts) const {
  std::vector<std::vector<privacy::PrivacyEvent>> events;
  const auto found = by_data_.find(data_digest);
  if (found == by_data_.end()) return events;
  for (const TrialId trial : found->second)
    if (!counts || counts(trial)) events.push_back(EventsOf(trial));
  return events;
}

std::vector<std::string> ChargeBook::Digests() const {
  std::vector<std::string> digests;
  for (const auto& [digest, trials] : by_data_) digests.push_back(digest);
  return digests;
}

}  // namespace retort::orchestrator
