// Released votes, smoothed by a linear map of features: post-processing of what was released, for pictures that form no
// clusters.
#pragma once

#include <ATen/core/Tensor.h>

#include "experiments/spec/status.h"

namespace retort::worker {

// Of features f32 [rows, values] of all pictures and what was released about the first of them, f32 [asked, classes] whose
// entries carry noise of standard deviation `noise` >= 0, what a ridge regression of the one on the other says about every
// picture: f32 [rows, classes], on the features' device. An entry counts by how far it lies from its row's mean. The
// strength is that of the posterior mean where every weight has the variance that explains what the entries vary beyond
// the noise, a little more: taking a row's mean away takes 1 / classes of the noise with it, which is not counted. A function of its arguments alone. Error: usage, where something is not finite.
[[nodiscard]] Result<at::Tensor> RegressedVotes(const at::Tensor& features, const at::Tensor& released, double noise);

}  // namespace retort::worker
