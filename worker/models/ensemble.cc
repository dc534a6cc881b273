#include "worker/models/ensemble.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/matmul.h>

#include <string>

namespace retort::worker {

LogisticEnsemble::LogisticEnsemble(std::int64_t members, ImageShape input, std::int64_t classes,
                                   const RngStream& stream, at::Device device)
    : members_(members),
      classes_(classes),
      pixels_(input.size()),
      parameters_({{"weight", {members, classes, input.size()}, FanInBound(input.size())},
                   {"bias", {members, classes}, FanInBound(input.size())}},
                  stream, device) {}

at::Tensor LogisticEnsemble::ForwardOwn(const at::Tensor& images, std::int64_t first) const {
  const std::vector<at::Tensor>& p = parameters_.leaves();
  const std::int64_t count = images.size(0);
  return at::baddbmm(p[1].narrow(0, first, count).unsqueeze(1), images,
                     p[0].narrow(0, first, count).transpose(1, 2));
}

at::Tensor LogisticEnsemble::ForwardShared(const at::Tensor& images, std::int64_t first,
                                           std::int64_t count) const {
  const std::vector<at::Tensor>& p = parameters_.leaves();
  const at::Tensor weight = p[0].narrow(0, first, count).view({count * classes_, pixels_});
  const at::Tensor all = at::matmul(images.flatten(1), weight.t());
  return (all.view({images.size(0), count, classes_}) + p[1].narrow(0, first, count)).transpose(0, 1);
}

at::Tensor DisjointShards(std::int64_t examples, std::int64_t members) {
  const std::int64_t size = examples / members;
  return at::arange(size * members, at::kLong).view({size, members}).t().contiguous();
}

Status CheckDisjoint(const at::Tensor& shards, std::int64_t examples) {
  const at::Tensor indices = shards.contiguous();
  const auto* index = indices.const_data_ptr<std::int64_t>();
  std::vector<bool> seen(static_cast<std::size_t>(examples));
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    if (index[i] < 0 || index[i] >= examples)
      return Refused("A shard holds example " + std::to_string(index[i]) + " of " + std::to_string(examples) + ".");
    if (seen[static_cast<std::size_t>(index[i])])
      return Refused("Example " + std::to_string(index[i]) + " stands in two shards.");
    seen[static_cast<std::size_t>(index[i])] = true;
  }
  return {};
}

}  // namespace retort::worker
