// The claims of a trial, from what its ledger charged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::privacy {

// What claims depend on beside the events. The noise comes from the events alone.
struct ClaimContext {
  const TrialSpec* spec = nullptr;
  std::vector<Claim> teacher_claims;  // of the parent teacher; empty when there is none
};

// Returns every claim that applies: the paper's formula, and for each adjacency the proven one or the reason
// there is none. Fails closed: what cannot be bounded is unbounded, with its reason.
// Planning many trials: see class ClaimCache, which remembers equal ones.
[[nodiscard]] std::vector<Claim> ComputeClaims(const ClaimContext& context, const std::vector<PrivacyEvent>& events);

// Returns the trial's events as totals of its private data set count them, by the rules of its claims: none where it
// only asks a teacher whose own training carries a proven `example` claim, since that training is charged by itself;
// each void, with the reason, where releases of such a trial have no finite `example` claim. Those of an unknown trial
// are void, too.
[[nodiscard]] std::vector<PrivacyEvent> ComputeChargedEvents(const ClaimContext& context,
                                                             const std::vector<PrivacyEvent>& events);

// Returns the events with `reason` (of reasons.h, or a void) as the first of their voids: no total with one of them is
// finite.
[[nodiscard]] std::vector<PrivacyEvent> VoidEvents(std::vector<PrivacyEvent> events, std::string_view reason);

// Withdraws from `claims`, which the trial was given before, the proven ones that cannot hold by its events and today's
// rules (an older program wrote the row, and its ledger lacks a fact). Returns whether there was one; false without
// events.
bool WithdrawUnsupportedClaims(const ClaimContext& context, const std::vector<PrivacyEvent>& events,
                               std::vector<Claim>& claims);

// Claims of many trials: equal ones are computed once. Remembers results of ComputeClaims; nothing else. Not
// thread-safe.
class ClaimCache {
 public:
  // As the free ComputeClaims. The reference stays valid until the cache is destroyed.
  [[nodiscard]] const std::vector<Claim>& ComputeClaims(const ClaimContext& context,
                                                        const std::vector<PrivacyEvent>& events);
  [[nodiscard]] std::size_t computed() const { return known_.size(); }

 private:
  std::unordered_map<std::string, std::vector<Claim>> known_;
};

}  // namespace retort::privacy
