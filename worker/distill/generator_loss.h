// The generator's objective and its gradient at the student's outputs, in closed form.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/gang/collective.h"
#include "worker/models/network.h"

namespace retort::worker {

struct GeneratorWeights {
  double one_hot = 1, information_entropy = 5, activation_norm = 0.1;
};

struct GeneratorGradient {
  at::Tensor logits;    // d loss / d student logits [own rows, classes]
  at::Tensor features;  // d loss / d student features [own rows, d]
  at::Tensor loss;      // f64 []: this member's part; the parts sum to the loss
};

// loss = L_S + L_G with
//   L_S = mean_i CE(p_i, y_i), y detached; leaves the sum when `targets` is undefined,
//   L_G = one_hot * mean_i CE(p_i, argmax p_i) + information_entropy * H-term + activation_norm * A-term.
// The forms: dafl (Chen et al. 2019) has the entropy of the batch-mean prediction, and minus the mean absolute feature;
// printed (DPDFD eq. 5) p log p of each row, averaged over the batch, and plus the L2 norm of all features;
// printed_sums (DPSD eq. 7 and 8) the same with sums in place of all means, and sum_i |f_i|_2, whose gradient is 0 at a
// row of zeros. All on detached student outputs. `student` and `targets` [own rows, classes] f32 are this member's rows
// of a batch of `rows`; means and norms are those of the whole batch. Error: of the gang.
[[nodiscard]] Result<GeneratorGradient> ComputeGeneratorLoss(const NetworkOutput& student, const at::Tensor& targets,
                                                             const GeneratorWeights& weights, GeneratorForm form,
                                                             std::int64_t rows, Collective& gang);

}  // namespace retort::worker
