// The schedule of RONA (AAAI-19, Algorithm 1): what each step does.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace retort::worker {

// auxiliary: the auxiliary teacher learns from the public split. ask: noisy votes on new queries.
enum class RonaPhase : std::uint8_t { auxiliary, hint, self, ask, distill };
[[nodiscard]] std::string_view GetPhaseName(RonaPhase phase);

// Epochs, rounds and rows.
struct RonaVolume {
  std::int64_t examples = 0;  // of the public split: an epoch of self learning and of the auxiliary teacher
  std::int64_t batch = 512;   // of hint and distillation learning
  std::int64_t student_batch = 128;
  std::int64_t auxiliary_epochs = 0, hint_epochs = 40, warm_epochs = 3, rounds = 5, distill_epochs = 8, self_epochs = 8;
  std::int64_t queries = 0;  // of an epoch of hint or distillation learning
  std::int64_t votes = 0;    // above 0: answers in all, asked once, an equal part before each round distils
  // true: Algorithm 1, in which each round learns by itself and then from the teacher, always alike. false: the
  // authors' public code: from the teacher first, two epochs of self learning fewer every round (at least one of
  // those that there are), and a tenth of the learning rate after round int(0.7 rounds).
  bool printed = false;
};

struct RonaStep {
  RonaPhase phase = RonaPhase::self;
  std::int64_t round = 0;
  std::int64_t epoch = 0;  // counted over all phases: no two share it
  std::int64_t first = 0;  // row of the epoch that the batch begins with
  std::int64_t rows = 0;   // of this batch
  std::int64_t of = 0;     // rows of the epoch
  double rate = 1;         // factor of the learning rate
};

class RonaSchedule {
 public:
  explicit RonaSchedule(const RonaVolume& volume);
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] RonaStep At(std::int64_t step) const;
  // Votes that are asked for before round `round` begins.
  [[nodiscard]] std::int64_t VotesUntil(std::int64_t round) const;

 private:
  // Epochs that are alike.
  struct Section {
    RonaPhase phase;
    std::int64_t round, epochs, rows, batch;
    std::int64_t first_step, first_epoch;
  };
  void Add(RonaPhase phase, std::int64_t round, std::int64_t epochs, std::int64_t rows);
  RonaVolume volume_;
  std::vector<Section> sections_;
  std::int64_t steps_ = 0, epochs_ = 0;
};

}  // namespace retort::worker
