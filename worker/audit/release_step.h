// Release-step audit: a worst pair of neighbours goes through the real release code many times, and what the
// best test can tell is held against what the accountant proves of the event that the mechanism describes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "experiments/privacy/audit_report.h"
#include "experiments/privacy/relation.h"
#include "experiments/spec/status.h"
#include "worker/release/mechanism.h"

namespace retort::worker::audit {

// A new mechanism with a fresh key at each call.
using MechanismMaker = std::function<Result<std::unique_ptr<release::Mechanism>>()>;

// Two teachers that differ as much as `relation` allows, asked about `rows` rows at once.
struct NeighbourPair {
  std::string name;
  privacy::Relation relation;
  std::int64_t rows = 0;
  at::Tensor one, other;   // their answers: f32 [rows, classes], or [members, rows, classes]
  at::Tensor student;      // logits f32 [rows, classes]; undefined where the mechanism asks for none
  at::Tensor direction;    // f64 [rows, classes]: a row's score is its release, less `base`, along it ...
  at::Tensor base;         // f64 [rows, classes], ... which is symmetric about 0; undefined = 0
  std::int64_t group = 1;  // rows whose scores are added up to one sample; divides `rows`
  std::int64_t grain = 1;  // how members vote (worker/release/vote_shares.h)
  std::optional<release::MemberRule> gradients = {};  // or answer with gradients (Query)
};

struct StepAuditSettings {
  std::int64_t samples = 100'000;  // under each of the two
  double delta = 1e-5;
  double confidence = 0.95;
};

// Error: those of the mechanism; refused, when its event has no bound under the relation (a seeded source, a
// void).
[[nodiscard]] Result<privacy::AuditFinding> AuditReleaseStep(const MechanismMaker& make,
                                                             const NeighbourPair& pair,
                                                             const StepAuditSettings& settings);

// Scores of as many samples under each neighbour, and what was proven of one: a finding. Sizes are equal.
struct StepScores {
  std::vector<double> one, other;
};
[[nodiscard]] privacy::AuditFinding JudgeScores(const StepScores& scores, const std::string& name,
                                                const privacy::Relation& relation, double mu_proven,
                                                const StepAuditSettings& settings);

// mu_lower over mu_proven of such a finding.
[[nodiscard]] double PowerOf(const privacy::AuditFinding& finding);

}  // namespace retort::worker::audit
