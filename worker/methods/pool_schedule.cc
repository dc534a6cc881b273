#include "worker/methods/pool_schedule.h"

#include <algorithm>

#include "experiments/base/status.h"

namespace retort::worker {

PoolSchedule::PoolSchedule(const TrialSpec& spec) : batch_(spec.batch), student_batch_(spec.distill.student_batch) {
  RETORT_CHECK(spec.steps > 0 && batch_ > 0 && student_batch_ > 0);
  const std::int64_t filling = std::min(spec.steps, std::max<std::int64_t>(spec.distill.replay, 1));
  begins_.push_back(0);
  for (std::int64_t round = 1; round <= filling; ++round)
    begins_.push_back(begins_.back() + StepsOfRound(round * batch_));
  steps_ = begins_.back() + (spec.steps - filling) * StepsOfRound(filling * batch_);
}

std::int64_t PoolSchedule::StepsOfRound(std::int64_t rows) const {
  return (rows + student_batch_ - 1) / student_batch_;
}

PoolStep PoolSchedule::At(std::int64_t step) const {
  RETORT_CHECK(step >= 0 && step < steps_);
  const auto filling = static_cast<std::int64_t>(begins_.size()) - 1;
  PoolStep at;
  std::int64_t within = 0;
  if (step < begins_.back()) {
    const auto next = std::upper_bound(begins_.begin(), begins_.end(), step);
    at.round = next - begins_.begin() - 1;
    within = step - *(next - 1);
    at.of = (at.round + 1) * batch_;
  } else {
    at.of = filling * batch_;
    const std::int64_t later = step - begins_.back(), each = StepsOfRound(at.of);
    at.round = filling + later / each;
    within = later % each;
  }
  at.first = within * student_batch_;
  at.rows = std::min(student_batch_, at.of - at.first);
  return at;
}

}  // namespace retort::worker
