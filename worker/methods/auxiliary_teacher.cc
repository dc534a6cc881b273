#include "worker/methods/auxiliary_teacher.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "worker/evaluation.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kRows = 500;

LearnerSettings AtPrecision(Precision precision) {
  LearnerSettings settings;
  settings.precision = precision;
  return settings;
}

}  // namespace

AuxiliaryTeacher::AuxiliaryTeacher(std::unique_ptr<Network> network, const Examples& images, Collective& gang,
                                   Precision precision)
    : images_(images),
      learner_(std::move(network), gang, AtPrecision(precision)),
      hint_(HintLayer(learner_.network().layers(), learner_.network().plan(), learner_.network().input())) {}

at::Tensor AuxiliaryTeacher::LogitsOf(const at::Tensor& rows) {
  if (!logits_.defined()) logits_ = LogitsOfAll(learner_.network(), images_);
  return logits_.index_select(0, rows);
}

at::Tensor AuxiliaryTeacher::HintOf(const at::Tensor& images) const {
  const at::NoGradGuard no_grad;
  return learner_.network().ForwardTo(hint_.value().place, images);
}

at::Tensor LogitsOfAll(const Network& network, const Examples& images) {
  const at::NoGradGuard no_grad;
  const std::int64_t at_once = std::min(kRows, RowsOfAPass(network.input()));
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < images.size(); first += at_once)
    parts.push_back(network.Forward(images.Range(first, std::min(at_once, images.size() - first))).logits);
  return at::cat(parts);
}

}  // namespace retort::worker
