// What RONA's student can get of its teacher, in each reading.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "worker/distill/hint_learning.h"
#include "worker/methods/auxiliary_teacher.h"
#include "worker/methods/method.h"
#include "worker/release/answers.h"

namespace retort::worker {

// Called by every member of the gang alike. At most one release a step.
class RonaTeacher {
 public:
  virtual ~RonaTeacher() = default;
  // Of hint learning on `batch`: the gradient that HintLearning::Step takes. `adapted` is what hints.Adapted made of the
  // batch, whose graph is freed.
  [[nodiscard]] virtual Result<at::Tensor> HintGradient(const QueryBatch& batch, const at::Tensor& adapted,
                                                        HintLearning& hints) = 0;
  // Of distillation learning: f32 [own, classes], to be injected at the student's `logits` f32 [own, classes].
  [[nodiscard]] virtual Result<at::Tensor> LogitGradient(const QueryBatch& batch, const at::Tensor& logits) = 0;
  // Asks about public rows `batch.rows`, answers that are kept. Only where answers are votes.
  [[nodiscard]] virtual Status Ask(const QueryBatch& batch);
  // i64: public rows that were asked, in that order. Only where answers are votes.
  [[nodiscard]] virtual std::vector<std::int64_t> Asked() const { return {}; }
  virtual void Register(TrainState&, const std::string&) {}
  // Names of the facts that hold beside those of every trial without a generator.
  [[nodiscard]] virtual std::vector<std::pair<std::string_view, bool>> Facts() const { return {}; }
};

// Makes the one that reading and teacher of `inputs` call for. `auxiliary` outlives it; null where nothing needs it:
// adaptive bounds do, and the hints of the sound reading. Error: usage; those of loading the teacher.
[[nodiscard]] Result<std::unique_ptr<RonaTeacher>> MakeRonaTeacher(const MethodInputs& inputs,
                                                                   AuxiliaryTeacher* auxiliary);

}  // namespace retort::worker
