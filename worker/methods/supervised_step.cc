#include "worker/methods/supervised_step.h"

#include "worker/methods/training_images.h"

namespace retort::worker {
namespace {

// Rows, images and where this member's begin; targets are left open.
struct Prepared {
  at::Tensor rows;
  Minibatch batch;
  RngStream dropout;
};

Result<Prepared> Prepare(const TrialSpec& spec, const PixelScale& scale, const Examples& examples,
                         const SupervisedStep& at, Collective& gang) {
  const RowShare share = ShareOf(at.rows.size(0), gang);
  const at::Tensor rows = Own(at.rows, share);
  RETORT_ASSIGN_OR_RETURN(at::Tensor images, TrainingImages(spec, scale, examples, rows, at.step, share.first));
  return Prepared{rows, {std::move(images), at::Tensor(), share.first, at.rows.size(0)},
                  RngStream(spec.seed, Purpose::dropout, static_cast<std::uint64_t>(at.step), at.lane)};
}

}  // namespace

Result<double> TeachRows(const TrialSpec& spec, const PixelScale& scale, const Examples& examples,
                         const SupervisedStep& at, const RowTargets& targets, Learner& learner, Collective& gang) {
  RETORT_ASSIGN_OR_RETURN(Prepared prepared, Prepare(spec, scale, examples, at, gang));
  prepared.batch.targets = targets(prepared.rows);
  return learner.Teach(prepared.batch, at.rate, prepared.dropout);
}

Result<double> TeachRows(const TrialSpec& spec, const PixelScale& scale, const Examples& examples,
                         const SupervisedStep& at, const RowTargetRule& rule, Learner& learner, Collective& gang) {
  RETORT_ASSIGN_OR_RETURN(const Prepared prepared, Prepare(spec, scale, examples, at, gang));
  const auto of_logits = [&](const at::Tensor& logits) { return rule(prepared.rows, logits); };
  return learner.Teach(prepared.batch, of_logits, at.rate, prepared.dropout);
}

}  // namespace retort::worker
