#include "worker/methods/supervised_step.h"

#include "worker/methods/training_images.h"

namespace retort::worker {

Result<double> TeachRows(const TrialSpec& spec, const PixelScale& scale, const Examples& examples,
                         const SupervisedStep& at, const RowTargets& targets, Learner& learner, Collective& gang,
                         const Expectation& expect) {
  const RowShare share = ShareOf(at.rows.size(0), gang);
  const at::Tensor rows = Own(at.rows, share);
  RETORT_ASSIGN_OR_RETURN(const at::Tensor images, TrainingImages(spec, scale, examples, rows, at.step, share.first));
  const RngStream dropout(spec.seed, Purpose::dropout, static_cast<std::uint64_t>(at.step), at.lane);
  return learner.Teach({images, targets(rows), share.first, at.rows.size(0)}, at.rate, dropout, 1, expect);
}

}  // namespace retort::worker
