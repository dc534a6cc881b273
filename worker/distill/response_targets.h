// What a randomised response says about the class behind it. Post-processing: reads released values, and the
// candidates, which were chosen without the teacher.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

// One tensor for both: the share of the `members` answers that each candidate got, and -1 for classes that were no
// candidates. answers [rows, classes] whole numbers, each row adding up to `members`, all of it on candidates;
// candidates bool of the same shape -> f32.
[[nodiscard]] at::Tensor AnnotateResponses(const at::Tensor& answers, const at::Tensor& candidates,
                                           std::int64_t members);

// The class that the teacher had in mind, given what was answered, by Bayes with the student as the prior: with p the
// student's probabilities, k candidates I, and Q(y | r) the law of an answer y about class r (randomised_response.h),
//   sum_y share_y  p_r Q(y | r) / sum_s p_s Q(y | s).
// p - this is the gradient at the student's logits of -sum_y share_y log sum_r p_r Q(y | r), the likelihood of the
// answers; a class outside I is not told from the others outside, and loses nothing by what was never asked. With
// every class a candidate and a large epsilon0 it is the answer itself.
// log_p f32 [rows, classes] of the student; annotation as AnnotateResponses makes it -> f32 of the same shape.
[[nodiscard]] at::Tensor ExpectedClasses(const at::Tensor& log_p, const at::Tensor& annotation, double epsilon0);

}  // namespace retort::worker
