#include "worker/distill/logit_learning.h"

#include <ATen/ops/zeros.h>

#include <vector>

#include "worker/gang/summed_gradient.h"
#include "worker/models/autocast_scope.h"

namespace retort::worker {

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
  RETORT_RETURN_IF_ERROR(SumGradients(outputs, seeds, parameters, gang_));
  RETORT_RETURN_IF_ERROR(student_.buffers().ShareInGang(batch.images.size(0), batch.size(), gang_));
  adam_.Step(parameters.flat(), parameters.gradient(), learning_rate);
  return {};
}

}  // namespace retort::worker
