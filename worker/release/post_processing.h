// What is done with a release is free; these are the steps that the readings share.
#pragma once

#include <ATen/core/Tensor.h>

namespace retort::worker::release {

// Each row less its mean: the span in which softmax gradients lie. [rows, classes] f32.
[[nodiscard]] at::Tensor ZeroSum(const at::Tensor& values);

// y = p - gamma ZeroSum(g~) with p = softmax(student_logits) at release, gamma = kappa / C. The rows
// sum to one; entries may be negative. All [rows, classes] f32. Keeps the graph of what it is given:
// pass detached logits (released gradients are detached unless detach = false was asked for).
[[nodiscard]] at::Tensor SoftTarget(const at::Tensor& student_logits, const at::Tensor& released,
                                    double gamma);

}  // namespace retort::worker::release
