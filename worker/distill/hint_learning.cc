#include "worker/distill/hint_learning.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/zeros.h>

#include <utility>
#include <vector>

#include "worker/gang/summed_gradient.h"
#include "worker/models/training_scopes.h"
#include "worker/tensors/autograd.h"

namespace retort::worker {

namespace {

std::vector<ParameterShape> AdapterShapes(std::int64_t guided, std::int64_t hint) {
  return {{.name = "weight", .shape = {hint, guided, 1, 1}, .bound = 0.1, .draw = Draw::truncated},
          {.name = "bias", .shape = {hint}, .offset = 1}};
}

}  // namespace

HintLearning::HintLearning(Network& student, const MiddleLayer& guided, std::int64_t hint_channels, Collective& gang,
                           const RngStream& stream, const AdamSettings& adam, Precision precision)
    : student_(student),
      guided_(guided),
      gang_(gang),
      precision_(precision),
      adapter_(AdapterShapes(guided.channels, hint_channels), stream, student.parameters().flat().device()),
      student_adam_(student.parameters().flat().numel(), adam, student.parameters().flat().device()),
      adapter_adam_(adapter_.flat().numel(), adam, adapter_.flat().device()) {}

at::Tensor HintLearning::Adapted(const QueryBatch& batch, const RngStream& dropout) {
  if (batch.images.size(0) == 0) {  // a member without rows
    student_.CountBatchTo(guided_.place);
    return at::zeros({0, adapter_.shapes()[0].shape[0], guided_.height, guided_.width}, adapter_.flat().options());
  }
  const AutocastScope scope(precision_, batch.images.device());
  const at::Tensor guided = student_.TrainTo(guided_.place, batch.images, RowStream(dropout, batch.first));
  return at::conv2d(guided, adapter_.leaves()[0], adapter_.leaves()[1]).to(at::kFloat);
}

Result<at::Tensor> HintLearning::ParameterGradient(const at::Tensor& adapted, const at::Tensor& seed) {
  std::vector<at::Tensor> leaves = student_.parameters().leaves();
  const auto own = static_cast<std::ptrdiff_t>(leaves.size());
  leaves.insert(leaves.end(), adapter_.leaves().begin(), adapter_.leaves().end());
  std::vector<at::Tensor> gradients(leaves.size());
  if (adapted.size(0) > 0) gradients = ComputeVectorJacobian({adapted}, {seed}, leaves);
  student_.parameters().Gather({gradients.begin(), gradients.begin() + own});
  adapter_.Gather({gradients.begin() + own, gradients.end()});
  at::Tensor flat = at::cat({student_.parameters().gradient(), adapter_.gradient()});
  if (gang_.size() > 1) RETORT_RETURN_IF_ERROR(gang_.AllReduceSum(flat));
  return flat;
}

Status HintLearning::Step(const at::Tensor& gradient, const QueryBatch& batch, double learning_rate) {
  RETORT_RETURN_IF_ERROR(student_.buffers().ShareInGang(batch.images.size(0), batch.size(), gang_));
  const std::int64_t own = student_.parameters().flat().numel();
  student_adam_.Step(student_.parameters().flat(), gradient.narrow(0, 0, own), learning_rate);
  adapter_adam_.Step(adapter_.flat(), gradient.narrow(0, own, adapter_.flat().numel()), learning_rate);
  return {};
}

void HintLearning::Register(TrainState& state, const std::string& prefix) {
  state.Add(prefix + "adapter/parameters", adapter_.flat());
  student_adam_.Register(state, prefix + "student/");
  adapter_adam_.Register(state, prefix + "adapter/");
}

LogitLearning::LogitLearning(Network& student, Collective& gang, const AdamSettings& adam, Precision precision)
    : student_(student),
      gang_(gang),
      precision_(precision),
      adam_(student.parameters().flat().numel(), adam, student.parameters().flat().device()) {}

at::Tensor LogitLearning::TrainingLogits(const QueryBatch& batch, const RngStream& dropout) {
  if (batch.images.size(0) == 0) {  // a member without rows
    student_.CountBatch();
    return at::zeros({0, student_.classes()}, student_.parameters().flat().options());
  }
  const AutocastScope scope(precision_, batch.images.device());
  return student_.Train(batch.images, RowStream(dropout, batch.first)).logits.to(at::kFloat);
}

Status LogitLearning::Step(const at::Tensor& logits, const at::Tensor& seed, const QueryBatch& batch,
                           double learning_rate) {
  std::vector<at::Tensor> outputs, seeds;
  if (batch.images.size(0) > 0) {
    outputs.push_back(logits);
    seeds.push_back(seed);
  }
  ParameterArena& parameters = student_.parameters();
  RETORT_ASSIGN_OR_RETURN(const auto statistics,
                          student_.buffers().BeginShareInGang(batch.images.size(0), batch.size(), gang_));
  RETORT_RETURN_IF_ERROR(SumGradients(outputs, seeds, parameters, gang_));
  if (statistics != nullptr) RETORT_RETURN_IF_ERROR(statistics->Wait());
  adam_.Step(parameters.flat(), parameters.gradient(), learning_rate);
  return {};
}

}  // namespace retort::worker
