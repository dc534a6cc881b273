#include "orchestrator/core/privacy_charges.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/relation.h"

namespace retort::orchestrator {
namespace {

bool Overflown(const privacy::PrivacyEvent& sum) {
  return std::find(sum.voids.begin(), sum.voids.end(), privacy::kVoidTooManyDraws) != sum.voids.end();
}

// Adds the event to `sums` and returns the index of its sum.
std::size_t AddTo(std::vector<privacy::PrivacyEvent>& sums, const privacy::PrivacyEvent& event) {
  const auto same = std::find_if(sums.begin(), sums.end(),
                                 [&event](const privacy::PrivacyEvent& sum) { return sum.SameMechanism(event); });
  if (same == sums.end()) {
    sums.push_back(event);
    return sums.size() - 1;
  }
  same->Count(event.count);
  return static_cast<std::size_t>(same - sums.begin());
}

}  // namespace

void PrivacyCharges::Unpack(const std::string& digest, const std::string& unpacked) {
  unpacked_[digest] = unpacked;
  const auto packed = by_data_.extract(digest);
  if (packed.empty()) return;
  std::vector<TrialId>& trials = by_data_[unpacked];
  trials.insert(trials.end(), packed.mapped().begin(), packed.mapped().end());
  ++version_;
}

void PrivacyCharges::Load(const std::vector<storage::LedgerEntry>& entries) {
  for (const storage::LedgerEntry& entry : entries) {
    Add(entry.data_digest, entry.attempt.trial, entry.Charged());
    std::uint32_t& last = last_attempts_[entry.attempt.trial];
    last = std::max(last, entry.attempt.number);
    last_generation_ = std::max(last_generation_, entry.generation);
  }
}

std::uint32_t PrivacyCharges::FindLastAttempt(TrialId trial) const {
  const auto found = last_attempts_.find(trial);
  return found == last_attempts_.end() ? 0 : found->second;
}

PrivacyCharges::Handle PrivacyCharges::Add(const std::string& data_digest, TrialId trial,
                                           const privacy::PrivacyEvent& event) {
  const Handle handle = charges_.size();
  // A trial has one data set, so its first charge is also its first on this one.
  if (!by_trial_.contains(trial)) by_data_[FindUnpackedDigest(unpacked_, data_digest)].push_back(trial);
  Sums& sums = by_trial_[trial];
  charges_.push_back({trial, AddTo(sums, event), event.count});
  ++version_;
  return handle;
}

// A sum that overflowed stays unbounded.
void PrivacyCharges::Settle(Handle handle, std::int64_t used) {
  RETORT_CHECK(handle < charges_.size());
  Charge& charge = charges_[handle];
  RETORT_CHECK(used >= 0 && used <= charge.count);
  privacy::PrivacyEvent& sum = by_trial_.at(charge.trial)[charge.sum];
  if (!Overflown(sum)) sum.count -= charge.count - used;
  charge.count = used;
  ++version_;
}

std::vector<privacy::PrivacyEvent> PrivacyCharges::CollectEvents(TrialId trial) const {
  const auto found = by_trial_.find(trial);
  if (found == by_trial_.end()) return {};
  Sums events = found->second;
  std::erase_if(events, [](const privacy::PrivacyEvent& event) { return event.count == 0; });
  return events;
}

std::vector<privacy::PrivacyEvent> PrivacyCharges::SelectCounted(TrialId trial, const CountRule& counts) const {
  Events events = CollectEvents(trial);
  return counts ? counts(trial, std::move(events)) : events;
}

void PrivacyCharges::Share(const std::string& a, const std::string& b) {
  if (a == b || !shares_[a].insert(b).second) return;
  shares_[b].insert(a);
  ++version_;
}

std::set<std::string> PrivacyCharges::SharedWith(const std::string& digest) const {
  const auto others = shares_.find(digest);
  return others == shares_.end() ? std::set<std::string>() : others->second;
}

std::vector<TrialId> PrivacyCharges::ListTrials(const std::string& data_digest) const {
  const std::string& digest = FindUnpackedDigest(unpacked_, data_digest);
  std::vector<TrialId> trials;
  const auto add = [&](const std::string& name) {
    if (const auto found = by_data_.find(name); found != by_data_.end())
      trials.insert(trials.end(), found->second.begin(), found->second.end());
  };
  add(digest);
  for (const std::string& other : SharedWith(digest)) add(other);
  return trials;
}

std::vector<privacy::PrivacyEvent> PrivacyCharges::SumCharges(const std::string& data_digest,
                                                              const CountRule& counts) const {
  Sums all;
  for (const TrialId trial : ListTrials(data_digest))
    for (const privacy::PrivacyEvent& event : SelectCounted(trial, counts)) AddTo(all, event);
  return all;
}

std::vector<std::vector<privacy::PrivacyEvent>> PrivacyCharges::ListChargesByTrial(const std::string& data_digest,
                                                                                   const CountRule& counts) const {
  std::vector<std::vector<privacy::PrivacyEvent>> events;
  for (const TrialId trial : ListTrials(data_digest)) events.push_back(SelectCounted(trial, counts));
  return events;
}

std::vector<std::string> PrivacyCharges::Digests() const {
  std::vector<std::string> digests;
  for (const auto& [digest, trials] : by_data_) digests.push_back(digest);
  return digests;
}

privacy::ClaimContext MakeClaimContext(const ClaimSubject& trial, const PrivacyCharges& charges) {
  privacy::ClaimContext context;
  context.spec = trial.spec;
  if (trial.teacher == nullptr || trial.teacher_claims == nullptr) return context;
  context.teacher_claims = *trial.teacher_claims;
  privacy::WithdrawUnsupportedClaims({trial.teacher, {}}, charges.CollectEvents(trial.teacher->id),
                                     context.teacher_claims);
  return context;
}

PrivacyCharges::Events SelectCountedCharges(const ClaimSubject& trial, const PrivacyCharges& charges,
                                            PrivacyCharges::Events events) {
  if (!trial.audit_void.empty()) return privacy::VoidEvents(std::move(events), trial.audit_void);
  return privacy::ComputeChargedEvents(MakeClaimContext(trial, charges), events);
}

std::optional<std::string> RefuseOverBudget(const PrivacyCharges& charges, const DataSpec& data,
                                            const privacy::PrivacyEvent& event, const PrivacyCharges::CountRule& counts,
                                            const std::vector<privacy::PrivacyEvent>& elsewhere,
                                            const std::vector<OtherBudget>& others) {
  if (!data.budget && others.empty()) return std::nullopt;
  const std::vector<std::vector<privacy::PrivacyEvent>> all = {
      charges.SumCharges(data.digest, counts), {event}, elsewhere};
  const auto over = [&](const Budget& budget) -> std::optional<std::string> {
    const std::optional<double> total = privacy::FindTotalAboveBudget(all, budget);
    if (!total) return std::nullopt;
    return fmt::format(
        "data set '{}': this release would bring the total{} to epsilon = {:.3f} at delta = {:g}{}, over ", data.name,
        elsewhere.empty() ? "" : ", with what other sweeps in the same results root spent,", *total, budget.delta,
        event.voids.empty() ? "" : fmt::format(" ({})", privacy::DescribeReason(event.voids.front())));
  };
  if (const auto refusal = data.budget ? over(*data.budget) : std::nullopt)
    return *refusal + fmt::format("its budget of {:g}; raise [data.{}] budget, or ask for fewer trials or releases",
                                  data.budget->epsilon, data.name);
  for (const OtherBudget& other : others)
    if (const auto refusal = over(other.budget))
      return *refusal + fmt::format(
                            "the budget of {:g} that {} sets for these examples; raise it there, ask for fewer "
                            "trials or releases, or use another results root",
                            other.budget.epsilon, other.directory);
  return std::nullopt;
}

}  // namespace retort::orchestrator
