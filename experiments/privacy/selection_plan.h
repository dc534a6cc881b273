// What a selecting sweep is charged: one event, planned from its candidates before any of them runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/accountants/selection_draws.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::privacy {

// `distribution`: "poisson", "geometric", "logarithmic" or "truncated-negative-binomial", which alone has an `eta`.
// Error: usage.
[[nodiscard]] Result<DrawLaw> MakeDrawLaw(const std::string& distribution, double mean, std::optional<double> eta);

// Returns why a trial cannot be a candidate, as a clause about it; empty for one that can. `score_noise`: standard
// deviation of the noise on its score, in validation examples; 0 = the score is one on public examples.
[[nodiscard]] std::string RefuseCandidate(const TrialSpec& spec, double score_noise = 0);

// By its name, or before it has one by its method and axes.
[[nodiscard]] std::string NameCandidate(const TrialSpec& spec);

// Error: usage, naming the first candidate that RefuseCandidate refuses, a student before its teacher.
[[nodiscard]] Status CheckEachCandidate(std::span<const TrialSpec> candidates, double score_noise);

// Returns the event of a selection from `candidates`, each of which is its training and, with `score_noise`, one draw
// of its score. `lost_runs`: runs of the sweep that ended before it did, each of which every candidate may have paid a
// block of releases, and a draw of its score, for. Error: usage, naming the candidate that cannot be one, or that is of
// another data set, delta, noise, adjacency or number of devices than the first; refused, for too many unlike costs.
[[nodiscard]] Result<PrivacyEvent> PlanSelection(const DrawLaw& law, std::span<const TrialSpec> candidates,
                                                 std::int64_t lost_runs, double score_noise = 0);

// Returns the selection's claims for trials like `spec`, a candidate.
[[nodiscard]] std::vector<Claim> ComputeSelectionClaims(const TrialSpec& spec, const PrivacyEvent& selection);

// Returns epsilon at delta of the worst candidate, by the relation of `claim`: what it would cost to run one candidate
// and choose nothing. Infinity where there is none.
[[nodiscard]] double ComputeWorstCandidate(const Claim& claim, const PrivacyEvent& selection);

// Returns why what a drawn trial was charged is more than the selection says of any candidate (a reason of reasons.h,
// or a void of its own), or why its private score is not paid for: `tells_score` says that it has one to tell. Empty
// where one of the candidates pays for it.
[[nodiscard]] std::string FindUncovered(const PrivacyEvent& selection, const std::vector<PrivacyEvent>& charged,
                                        bool tells_score = false);

}  // namespace retort::privacy
