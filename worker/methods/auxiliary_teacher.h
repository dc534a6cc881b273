// RONA's auxiliary teacher: a network trained on the public split alone. What it says is free.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "experiments/spec/status.h"
#include "worker/data/examples.h"
#include "worker/methods/learner.h"
#include "worker/models/hint_layers.h"

namespace retort::worker {

class AuxiliaryTeacher {
 public:
  // Learns labels by Adam. `gang` and `images` outlive the teacher.
  AuxiliaryTeacher(std::unique_ptr<Network> network, const Examples& images, Collective& gang, Precision precision);

  [[nodiscard]] Learner& learner() { return learner_; }

  // Once it has learnt: f32 [rows, classes] of public rows (i64), in evaluation mode. All public images are asked about
  // the first time.
  [[nodiscard]] at::Tensor LogitsOf(const at::Tensor& rows);
  // f32 [rows, channels, height, width] of its hint layer.
  [[nodiscard]] at::Tensor HintOf(const at::Tensor& images) const;

 private:
  const Examples& images_;
  Learner learner_;
  Result<MiddleLayer> hint_;
  at::Tensor logits_;  // of all public images; undefined until asked for
};

// Logits f32 [n, classes] of all images, in evaluation mode, in fixed batches.
[[nodiscard]] at::Tensor LogitsOfAll(const Network& network, const Examples& images);

}  // namespace retort::worker
