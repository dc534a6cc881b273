// How fast an attempt goes, from its journaled progress. Pure.
#pragma once

#include <cstdint>

namespace retort::orchestrator {

class Pace {
 public:
  // `step` steps are complete at `at` (unix seconds).
  void Note(std::int64_t step, double at) {
    if (first_at_ == 0 || step < first_step_ || at < at_) {  // anew also where the clock was put back
      first_step_ = step;
      first_at_ = at;
    }
    step_ = step;
    at_ = at;
  }
  // 0 = not known yet.
  [[nodiscard]] double SecondsPerStep() const {
    return step_ > first_step_ && at_ > first_at_
               ? (at_ - first_at_) / static_cast<double>(step_ - first_step_)
               : 0;
  }
  // Of the newest note; 0 = there is none.
  [[nodiscard]] double noted_at() const { return at_; }

 private:
  std::int64_t first_step_ = 0, step_ = 0;
  double first_at_ = 0, at_ = 0;
};

}  // namespace retort::orchestrator
