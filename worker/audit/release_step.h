// Release-step audits: a worst pair of neighbours goes through the real release code many times, and what the best test
// can distinguish is compared with what the accountant proves of the event that the mechanism describes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/audit_report.h"
#include "experiments/privacy/relation.h"
#include "worker/release/charge.h"
#include "worker/release/class_embedding.h"
#include "worker/release/dpsgd_step.h"
#include "worker/release/mechanism.h"

namespace retort::worker::audit {

// Logit of a member that gives a class its whole grain.
inline constexpr double kCertainLogit = 100;

// Grants every charge: an audit releases constructed answers, which cost no privacy.
class UnchargedPort final : public release::LedgerClient {
 public:
  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent&, std::int64_t) override { return ++last_; }
  Status Settle(std::uint64_t, std::int64_t) override { return {}; }

 private:
  std::uint64_t last_ = 0;
};

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
  std::int64_t grain = 1;  // how members vote (worker/release/answers.h)
  std::optional<release::MemberRule> gradients = {};  // or answer with gradients (Query)
};

struct StepAuditSettings {
  std::int64_t samples = 100'000;  // under each of the two
  double delta = 1e-5;
  double confidence = 0.95;
};

// Error: those of the mechanism; refused, when its event has no bound under the relation (a seeded source, a
// void).
[[nodiscard]] Result<privacy::AuditFinding> AuditReleaseStep(const MechanismMaker& make, const NeighbourPair& pair,
                                                             const StepAuditSettings& settings);

// Scores of as many samples under each neighbour, and what was proven of one: a finding. Sizes are equal.
struct StepScores {
  std::vector<double> one, other;
};
[[nodiscard]] privacy::AuditFinding MakeStepFinding(const StepScores& scores, const std::string& name,
                                                    const privacy::Relation& relation, double mu_proven,
                                                    const StepAuditSettings& settings);

// mu_lower over mu_proven of such a finding.
[[nodiscard]] double ComputePower(const privacy::AuditFinding& finding);

// DP-SGD: one example of the largest gradient, present or absent.
//
// A new step with a fresh key at each call; all of the same settings, of which the sampling rate is 1.
using StepMaker = std::function<Result<release::DpSgdStep>()>;

// `norm_bound` that the example is clipped to. The sampling rate is 1, so that each step is a sample of the
// Gaussian alone; sampling is audited by canaries. Error: those of the step.
[[nodiscard]] Result<privacy::AuditFinding> AuditDpSgdStep(const StepMaker& make, double norm_bound,
                                                           const StepAuditSettings& settings);

// Steps of 8 coordinates of a trial of method dpsgd, with noise multiplier 1 / mu.
[[nodiscard]] StepMaker MakeScaledDpSgdStep(const TrialSpec& spec, double mu);

// The embedding of the private examples by class: one example, present or absent.
//
// A new mechanism with a fresh key at each call; all of the same settings.
using EmbeddingMaker = std::function<Result<release::ClassEmbedding>()>;

// Of `classes` rows of `features` numbers, as the mechanism's. The example's features are far longer than 1. Error:
// those of the mechanism; refused, when nothing is proven of its event (a seeded source).
[[nodiscard]] Result<privacy::AuditFinding> AuditEmbeddingStep(const EmbeddingMaker& make,
                                                               const release::EmbeddingSettings& settings,
                                                               const StepAuditSettings& audit);

// What dp-merf and dp-spectral release, small, with noise multiplier 1 / mu.
[[nodiscard]] release::EmbeddingSettings MakeScaledEmbedding(double mu);

// Randomised response: two teachers that are sure of different candidates go through the real release code many times.
//
// Of a student by randomised response. One answer is audited, with the trial's form and candidates, at the trial's
// epsilon0 or kMaxAuditedEpsilon if that is less: at 10 one answer in 22,000 is informative. A federation's clients
// answer alike; one of them is asked. Error: refused, when the event has no bound (a printed form).
inline constexpr double kMaxAuditedEpsilon = 2;
[[nodiscard]] Result<privacy::AuditFinding> AuditResponseStep(const TrialSpec& spec, std::int64_t classes,
                                                              const StepAuditSettings& settings);

}  // namespace retort::worker::audit
