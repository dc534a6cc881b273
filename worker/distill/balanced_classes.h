// Classes for a set of pictures whose classes are known to be about equally many: post-processing of what was released,
// on pictures that are public.
#pragma once

#include <ATen/core/Tensor.h>

namespace retort::worker {

// The first class of each row after a shift for each class, i64 [rows], on the scores' device. The shifts are those that
// share the rows out evenly: they minimise the mean over rows of T log sum_c exp((s_rc + b_c) / T), less the mean of b_c,
// for T a sixteenth of the scores' mean standard deviation within a row (class mass normalisation in its additive form;
// Zhu, Ghahramani and Lafferty 2003 scale each class). scores: finite, f32 or f64 [rows >= 1, classes >= 1], of any scale.
// Rows that say the same of every class all get the one that is short the most. A function of its argument alone.
[[nodiscard]] at::Tensor BalancedClasses(const at::Tensor& scores);

}  // namespace retort::worker
