// The losses of RONA (AAAI-19) against a teacher's answers, a row each, and their gradients to what the student says.
#pragma once

#include <ATen/core/Tensor.h>

namespace retort::worker::release {

struct RowLosses {
  at::Tensor losses;     // f32 [rows]
  at::Tensor gradients;  // f32, of the student's shape: each row's of its own loss
};

// Eq. 4: CE(softmax(teacher / T), softmax(student / T)), without the factor T^2. Both logits f32 [rows, classes].
[[nodiscard]] RowLosses DistillationLosses(const at::Tensor& teacher, const at::Tensor& student, double temperature);

// Eq. 3: |adapted - hint|^2 / 2. Both f32 [rows, channels, height, width].
[[nodiscard]] RowLosses HintLosses(const at::Tensor& hint, const at::Tensor& adapted);

}  // namespace retort::worker::release
