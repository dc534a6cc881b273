#include "worker/audit/transcript.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/one_hot.h>

#include <algorithm>
#include <string>
#include <utility>

#include "experiments/methods/methods.h"
#include "worker/audit/release_step.h"
#include "worker/models/ensemble.h"
#include "worker/release/answer_memory.h"
#include "worker/release/answers.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kMaxDraws = 30'000'000;  // of lattice noise, in all
constexpr std::int64_t kMinReplays = 500, kMaxReplays = 50'000;

std::string WhyNoTranscript(const AuditedTrial& trial) {
  const TrialSpec& spec = trial.inputs.spec;
  if (!Releases(FindKind(spec), ReleaseKind::votes)) return "a transcript audit is for students of a vote ensemble";
  if (spec.source == QuerySource::procedural)
    return "drawn queries are not read again, and no transcript of their answers is kept after the trial";
  if (spec.source != QuerySource::public_split)
    return "queries of a generator depend on earlier answers, and no transcript of them is kept after the "
           "trial";
  if (spec.release.threshold_noise > 0)
    return "only the queries that a threshold lets by are answered, and which they are is drawn anew in every replay";
  if (!trial.inputs.teacher) return "the teacher's attempt.h5 is not there";
  if (trial.inputs.data.public_split.size() < spec.queries) return "the public split has fewer images than queries";
  return "";
}

// Every member's answers to all queries, equal queries once: f32 [members, distinct queries, classes].
Result<at::Tensor> MemberAnswers(const AuditedTrial& trial) {
  const TrialInputs& inputs = trial.inputs;
  const TrialSpec& teacher = inputs.teacher->spec;
  RETORT_ASSIGN_OR_RETURN(
      const std::unique_ptr<Ensemble> ensemble,
      LoadEnsemble(ChooseNetwork(teacher), teacher.members, inputs.data.shape, inputs.data.classes, "teacher/",
                   inputs.teacher->parameters, {0, teacher.members}, inputs.data.device));
  const at::Tensor queries = inputs.data.public_split.Range(0, inputs.spec.queries);
  const at::Tensor distinct = release::FindDistinctRows(queries).to(queries.device());
  const at::NoGradGuard no_grad;
  return ensemble->Forward(queries.index_select(0, distinct)).cpu();
}

// Member 0 against a member that gives its whole grain to member 0's least likely class, at every query.
NeighbourPair SwappedMember(const at::Tensor& answers, std::int64_t grain) {
  const std::int64_t queries = answers.size(1), classes = answers.size(2);
  const at::Tensor mine = release::ComputeVoteShares(answers[0], grain);
  at::Tensor other = answers.clone();
  other[0].copy_(at::one_hot(mine.argmin(-1), classes) * kCertainLogit);
  const at::Tensor votes = release::ComputeVoteShares(answers, grain).sum(0).to(at::kDouble);
  const at::Tensor change = (mine - release::ComputeVoteShares(other[0], grain)).to(at::kDouble);
  return {"the whole transcript of " + std::to_string(queries) + " noisy-vote answers, one of " +
              std::to_string(answers.size(0)) + " members swapped,",
          privacy::kMember,
          queries,
          answers,
          other,
          at::Tensor(),
          change,
          votes - change / 2,
          queries,
          grain};
}

}  // namespace

Result<privacy::AuditFinding> AuditTranscript(const AuditedTrial& trial, const AuditProgress& progress) {
  constexpr privacy::AuditKind kKind = privacy::AuditKind::transcript;
  if (const std::string why = WhyNoTranscript(trial); !why.empty()) return MakeSkippedFinding(kKind, trial, why);
  progress("transcript", 0, 1);
  TrialSpec spec = trial.inputs.spec;
  spec.noise = NoiseMode::secure;
  RETORT_ASSIGN_OR_RETURN(const at::Tensor answers, MemberAnswers(trial));
  const std::int64_t members = answers.size(0), classes = answers.size(2);
  const MechanismMaker make = [&] {
    return release::MakeMechanism(spec, classes, members, noise::NoiseKey::FromOperatingSystem());
  };
  StepAuditSettings settings{trial.order.samples, spec.privacy.delta, trial.order.confidence};
  if (settings.samples == 0)
    settings.samples = std::clamp(kMaxDraws / (2 * answers.size(1) * classes), kMinReplays, kMaxReplays);
  RETORT_ASSIGN_OR_RETURN(privacy::AuditFinding finding,
                          AuditReleaseStep(make, SwappedMember(answers, spec.release.grain), settings));
  finding.kind = kKind;
  if (finding.claim) {
    finding.claim->accountant = "audit:transcript";
    finding.claim->units = privacy::DescribeUnit(privacy::Adjacency::member);
  }
  if (const std::optional<double> proven = FindProvenEpsilon(trial.order.claims, privacy::kMember))
    finding.proven = proven;
  return finding;
}

}  // namespace retort::worker::audit
