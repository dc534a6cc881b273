// What the solvers of calibration share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/privacy/relation.h"
#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"

namespace retort::privacy {

inline constexpr std::int64_t kMostReleases = 1'000'000'000'000;

// usage: epsilon cannot be met, and why.
[[nodiscard]] Status Cannot(const TrialSpec& spec, const std::string& why);
// Up to nine significant digits, so that the last bits of a math library do not change a trial's identity.
[[nodiscard]] double NineDigitsUp(double value);
// Up to six, where what was searched for is known no better.
[[nodiscard]] double SixDigitsUp(double value);
[[nodiscard]] bool IsDpSgd(const TrialSpec& spec);
// Whether an ensemble answers.
[[nodiscard]] bool OfMembers(const TrialSpec& spec);
// The relation that the claim is about, where the trial has one.
[[nodiscard]] std::optional<Relation> RelationOf(const TrialSpec& spec);
// mu under the relation when the trial runs as it stands, and loses as many attempts as it has room for; 0 where
// nothing Gaussian is drawn. Error: what makes the claim unbounded.
[[nodiscard]] Result<double> PlannedMu(const TrialSpec& spec, const Relation& relation);
// The bound under the relation, whatever it is composed of; infinity where there is none.
[[nodiscard]] double PlannedEpsilon(const TrialSpec& spec, const Relation& relation);
[[nodiscard]] bool Meets(const TrialSpec& spec, const Relation& relation);

// Responses, of teachers or of labels: epsilon0 at the given releases.
[[nodiscard]] Status SolveResponse(TrialSpec& spec, const Relation& relation);
// Responses: steps at the given epsilon0.
[[nodiscard]] Status SolveResponseSteps(TrialSpec& spec, const Relation& relation);
// dp-merf and dp-spectral: the noise of their one release.
[[nodiscard]] Status SolveEmbedding(TrialSpec& spec);

}  // namespace retort::privacy
