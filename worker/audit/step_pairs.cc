#include "worker/audit/step_pairs.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "experiments/methods/methods.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kRows = 256;      // asked at once where each row is a sample of its own
constexpr std::int64_t kSharedRows = 4;  // where all rows of a release make one sample
constexpr std::int64_t kQueries = 8;     // votes: queries of one sample, so that rounding to the lattice costs little
constexpr std::int64_t kVoters = 3;

at::Tensor Direction(std::int64_t rows, std::int64_t classes, double first) {
  at::Tensor direction = at::zeros({classes}, at::kDouble);
  direction[0] = first;
  direction[1] = -first;
  return direction.repeat({rows, 1});
}

}  // namespace

NeighbourPair MakeOppositeLabelPair(std::int64_t rows, std::int64_t classes, std::int64_t group) {
  const auto undecided = [&] { return at::full({rows, classes}, -30.0f); };
  NeighbourPair pair{"noise on gradients",         privacy::kTeacher, rows, undecided(), undecided(), undecided(),
                     Direction(rows, classes, -1), at::Tensor(),      group};  // the gradient pulls the label up
  pair.student.slice(1, 0, 2).fill_(0);
  pair.one.slice(1, 0, 2).copy_(at::tensor({15.0f, 0.0f}));
  pair.other.slice(1, 0, 2).copy_(at::tensor({0.0f, 15.0f}));
  return pair;
}

NeighbourPair MakeMovedVotePair(std::int64_t rows, std::int64_t classes, std::int64_t group) {
  const auto voters = [&](std::int64_t moved) {
    at::Tensor logits = at::zeros({kVoters, rows, classes});
    logits.slice(0, 0, kVoters - 1).select(2, classes - 1).fill_(kCertainLogit);
    logits.select(0, kVoters - 1).select(1, moved).fill_(kCertainLogit);
    return logits;
  };
  return {"noisy votes",
          privacy::kMember,
          rows,
          voters(0),
          voters(1),
          at::Tensor(),
          Direction(rows, classes, 1),
          at::Tensor(),
          group};
}

NeighbourPair MakeTurnedMemberPair(std::int64_t rows, std::int64_t classes, const release::MemberRule& rule) {
  const NeighbourPair opposite = MakeOppositeLabelPair(rows, classes, 1);
  NeighbourPair pair = opposite;
  pair.name = "noise on an ensemble's gradients";
  pair.relation = privacy::kMember;
  pair.one = at::stack({opposite.one, opposite.other, opposite.one});
  pair.other = at::stack({opposite.one, opposite.other, opposite.other});
  pair.gradients = rule;
  return pair;
}

ScaledStep ScaleStep(const TrialSpec& spec, std::int64_t classes, double mu) {
  ScaledStep step{spec, 1, {}};
  step.spec.noise = NoiseMode::secure;
  if (Releases(FindKind(spec), ReleaseKind::votes)) {
    step.members = kVoters;
    step.spec.release.vote_noise = std::sqrt(2.0 * kQueries) / mu;
    // Behind a threshold the first class of the noisy counts leaves; they themselves tell more.
    step.spec.release.threshold_noise = 0;
    step.pair = MakeMovedVotePair(kRows, classes, kQueries);
    step.pair.grain = spec.release.grain;
    return step;
  }
  if (AsksEnsemble(spec)) {
    step.members = kVoters;
    step.spec.batch = kRows;
    step.spec.release.sigma = 2 / mu;
    step.pair = MakeTurnedMemberPair(kRows, classes, release::ChooseMemberRule(step.spec));
    return step;
  }
  const bool frobenius = spec.release.normalization == Normalization::frobenius;
  const NoiseForm form = FindNoiseForm(spec.reading);
  const bool shared = form == NoiseForm::shared;
  const std::int64_t rows = frobenius || shared ? kSharedRows : kRows;
  step.spec.batch = rows;
  step.pair = MakeOppositeLabelPair(rows, classes, frobenius || shared ? rows : 1);
  // mu of one sample at sigma 1; see contracts of calibration: d is sigma C, by row over the batch sigma C / B.
  const auto batch = static_cast<double>(rows);
  double at_one = 2 * (form == NoiseForm::by_row_over_batch ? batch : 1);
  if (shared) at_one *= frobenius ? std::sqrt(batch) : batch;
  if (shared && AddsUpRowNoise(spec)) at_one /= std::sqrt(batch);  // a draw for every row
  step.spec.release.sigma = at_one / mu;
  return step;
}

MechanismMaker MakeMechanismMaker(const ScaledStep& step, std::int64_t classes) {
  return [spec = step.spec, members = step.members, classes] {
    return release::MakeMechanism(spec, classes, members, noise::NoiseKey::FromOperatingSystem());
  };
}

}  // namespace retort::worker::audit
