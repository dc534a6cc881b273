#include "orchestrator/charge_book.h"

#include <algorithm>
#include <utility>

#include "experiments/spec/status.h"

namespace retort::orchestrator {
namespace {

bool Overflown(const privacy::PrivacyEvent& sum) {
  return std::find(sum.voids.begin(), sum.voids.end(), privacy::kVoidTooManyDraws) != sum.voids.end();
}

// Returns where in `sums` the event is counted now.
std::size_t AddTo(std::vector<privacy::PrivacyEvent>& sums, const privacy::PrivacyEvent& event) {
  const auto same = std::find_if(sums.begin(), sums.end(), [&event](const privacy::PrivacyEvent& sum) {
    return sum.SameMechanism(event);
  });
  if (same == sums.end()) {
    sums.push_back(event);
    return sums.size() - 1;
  }
  same->Count(event.count);
  return static_cast<std::size_t>(same - sums.begin());
}

}  // namespace

void ChargeBook::Unpack(const std::string& digest, const std::string& unpacked) {
  unpacked_[digest] = unpacked;
  const auto packed = by_data_.extract(digest);
  if (packed.empty()) return;
  std::vector<TrialId>& trials = by_data_[unpacked];
  trials.insert(trials.end(), packed.mapped().begin(), packed.mapped().end());
  ++version_;
}

void ChargeBook::Load(const std::vector<storage::LedgerEntry>& entries) {
  for (const storage::LedgerEntry& entry : entries) {
    Add(entry.data_digest, entry.attempt.trial, entry.Charged());
    std::uint32_t& last = last_attempts_[entry.attempt.trial];
    last = std::max(last, entry.attempt.number);
    last_generation_ = std::max(last_generation_, entry.generation);
  }
}

std::uint32_t ChargeBook::LastAttemptOf(TrialId trial) const {
  const auto found = last_attempts_.find(trial);
  return found == last_attempts_.end() ? 0 : found->second;
}

ChargeBook::Handle ChargeBook::Add(const std::string& data_digest, TrialId trial,
                                   const privacy::PrivacyEvent& event) {
  const Handle handle = charges_.size();
  // A trial has one data set, so its first charge is also its first on this one.
  if (!by_trial_.contains(trial)) by_data_[UnpackedOf(unpacked_, data_digest)].push_back(trial);
  Sums& sums = by_trial_[trial];
  charges_.push_back({trial, AddTo(sums, event), event.count});
  ++version_;
  return handle;
}

// A sum that once held more than can be counted stays so.
void ChargeBook::Settle(Handle handle, std::int64_t used) {
  RETORT_CHECK(handle < charges_.size());
  Charge& charge = charges_[handle];
  RETORT_CHECK(used >= 0 && used <= charge.count);
  privacy::PrivacyEvent& sum = by_trial_.at(charge.trial)[charge.sum];
  if (!Overflown(sum)) sum.count -= charge.count - used;
  charge.count = used;
  ++version_;
}

std::vector<privacy::PrivacyEvent> ChargeBook::EventsOf(TrialId trial) const {
  const auto found = by_trial_.find(trial);
  if (found == by_trial_.end()) return {};
  Sums events = found->second;
  std::erase_if(events, [](const privacy::PrivacyEvent& event) { return event.count == 0; });
  return events;
}

std::vector<privacy::PrivacyEvent> ChargeBook::CountedOf(TrialId trial, const Counts& counts) const {
  Events events = EventsOf(trial);
  return counts ? counts(trial, std::move(events)) : events;
}

void ChargeBook::Share(const std::string& a, const std::string& b) {
  if (a == b || !shares_[a].insert(b).second) return;
  shares_[b].insert(a);
  ++version_;
}

std::set<std::string> ChargeBook::SharedWith(const std::string& digest) const {
  const auto others = shares_.find(digest);
  return others == shares_.end() ? std::set<std::string>() : others->second;
}

std::vector<TrialId> ChargeBook::TrialsOn(const std::string& data_digest) const {
  const std::string& digest = UnpackedOf(unpacked_, data_digest);
  std::vector<TrialId> trials;
  const auto add = [&](const std::string& name) {
    if (const auto found = by_data_.find(name); found != by_data_.end())
      trials.insert(trials.end(), found->second.begin(), found->second.end());
  };
  add(digest);
  for (const std::string& other : SharedWith(digest)) add(other);
  return trials;
}

std::vector<privacy::PrivacyEvent> ChargeBook::SumOn(const std::string& data_digest,
                                                     const Counts& counts) const {
  Sums all;
  for (const TrialId trial : TrialsOn(data_digest))
    for (const privacy::PrivacyEvent& event : CountedOf(trial, counts)) AddTo(all, event);
  return all;
}

std::vector<std::vector<privacy::PrivacyEvent>> ChargeBook::EventsOn(const std::string& data_digest,
                                                                     const Counts& counts) const {
  std::vector<std::vector<privacy::PrivacyEvent>> events;
  for (const TrialId trial : TrialsOn(data_digest)) events.push_back(CountedOf(trial, counts));
  return events;
}

std::vector<std::string> ChargeBook::Digests() const {
  std::vector<std::string> digests;
  for (const auto& [digest, trials] : by_data_) digests.push_back(digest);
  return digests;
}

}  // namespace retort::orchestrator
