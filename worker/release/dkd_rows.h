// The gradient of DKD row by row, in one pass on the CPU.
#pragma once

#include <ATen/core/Tensor.h>

namespace retort::worker::release {

// As DistillationGradient with DistillationLoss::dkd, without a graph. student_logits, teacher_logits:
// [rows, classes], f32 or f64, of the same type and device, classes >= 2; the result lies where they do.
// Tensors of another device than the CPU are copied here and back.
[[nodiscard]] at::Tensor DkdRows(const at::Tensor& student_logits, const at::Tensor& teacher_logits,
                                 double alpha, double beta, double temperature);

}  // namespace retort::worker::release
