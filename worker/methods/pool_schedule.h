// The schedule of DENSE's server: what each step does.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/methods/trial_spec.h"

namespace retort::worker {

struct PoolStep {
  std::int64_t round = 0;
  std::int64_t first = 0;  // row of the round's order that the batch begins with; 0: the round begins
  std::int64_t rows = 0;   // of this batch
  std::int64_t of = 0;     // rows of the pool
};

// In each round a batch joins the pool, which keeps the newest spec.replay of them, and at least one; then the student
// sees every row of the pool once, in batches of spec.student_batch and what is left.
class PoolSchedule {
 public:
  explicit PoolSchedule(const TrialSpec& spec);
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] PoolStep At(std::int64_t step) const;

 private:
  [[nodiscard]] std::int64_t StepsOfRound(std::int64_t rows) const;
  std::int64_t batch_, student_batch_;
  std::vector<std::int64_t> begins_;  // first step of each round until the pool is full, and of the next one
  std::int64_t steps_ = 0;
};

}  // namespace retort::worker
