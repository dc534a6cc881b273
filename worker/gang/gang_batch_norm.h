// Batch normalisation over the rows of a whole gang.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/gang/collective.h"

namespace retort::worker {

// x f32 [own rows, channels, height, width]; weight, bias f32 [channels] or undefined (1 and 0). Normalised by
// mean and variance of all members' rows, each channel for itself; gradients are those of the whole batch
// where every member back-propagates too. Throws std::runtime_error with the gang's error, here and in the
// backward pass.
[[nodiscard]] at::Tensor GangBatchNorm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                       double epsilon, Collective& gang);

}  // namespace retort::worker
