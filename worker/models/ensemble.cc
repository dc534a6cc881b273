#include "worker/models/ensemble.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "worker/models/model_registry.h"
#include "worker/models/network.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

class LogisticMembers final : public Ensemble {
 public:
  LogisticMembers(std::unique_ptr<LogisticEnsemble> ensemble, RowShare share)
      : ensemble_(std::move(ensemble)), share_(share) {}
  at::Tensor Forward(const at::Tensor& images) const override {
    return ensemble_->ForwardShared(images, share_.first, share_.count);
  }
  at::Tensor ForwardWithNorms(const at::Tensor& images, std::vector<BatchNormInput>&) const override {
    return Forward(images);
  }

 private:
  std::unique_ptr<LogisticEnsemble> ensemble_;
  RowShare share_;
};

class NetworkMembers final : public Ensemble {
 public:
  NetworkMembers(std::vector<std::unique_ptr<Network>> networks, std::int64_t classes)
      : networks_(std::move(networks)), classes_(classes) {}
  at::Tensor Forward(const at::Tensor& images) const override {
    std::vector<at::Tensor> logits;
    for (const auto& network : networks_) logits.push_back(network->Forward(images).logits);
    return logits.empty() ? at::empty({0, images.size(0), classes_}, images.options()) : at::stack(logits);
  }
  at::Tensor ForwardWithNorms(const at::Tensor& images, std::vector<BatchNormInput>& norms) const override {
    std::vector<at::Tensor> logits;
    for (const auto& network : networks_) {
      LayerTrace trace;
      logits.push_back(network->Forward(images, std::nullopt, &trace).logits);
      for (BatchNormInput& seen : CollectBatchNormInputs(*network, trace)) norms.push_back(std::move(seen));
    }
    return logits.empty() ? at::empty({0, images.size(0), classes_}, images.options()) : at::stack(logits);
  }

 private:
  std::vector<std::unique_ptr<Network>> networks_;
  std::int64_t classes_;
};

// One network up to its last layer, whose weights are each member's own.
class Heads final : public Ensemble {
 public:
  Heads(std::unique_ptr<Network> network, std::size_t front, at::Tensor heads)
      : network_(std::move(network)), front_(front), heads_(std::move(heads)) {}
  at::Tensor Forward(const at::Tensor& images) const override {
    const at::Tensor seen = network_->ForwardTo(front_, images);
    const at::Tensor all = at::matmul(seen, heads_.flatten(0, 1).t());
    return all.view({images.size(0), heads_.size(0), heads_.size(1)}).transpose(0, 1);
  }
  at::Tensor ForwardWithNorms(const at::Tensor& images, std::vector<BatchNormInput>&) const override {
    return Forward(images);
  }

 private:
  std::unique_ptr<Network> network_;
  std::size_t front_;
  at::Tensor heads_;  // f32 [own members, classes, values]
};

Result<std::unique_ptr<Ensemble>> LoadHeads(std::unique_ptr<Network> network, std::int64_t members,
                                            const storage::TensorBlob& blob, RowShare share, at::Device device) {
  const std::optional<std::size_t> front = FindFrozenFront(*network);
  if (!front) return DamageError("The ensemble has heads, and its network no last layer that they would be.");
  RETORT_ASSIGN_OR_RETURN(const at::Tensor heads, MakeTensorFromBlob(blob));
  const std::vector<std::int64_t> shape = {members, network->classes(), network->plan().nodes[*front].shape.front()};
  if (heads.scalar_type() != at::kFloat || heads.sizes() != shape)
    return DamageError("The ensemble's " + blob.name + " has another shape than " + std::to_string(members) +
                       " heads of its network.");
  return std::unique_ptr<Ensemble>(
      std::make_unique<Heads>(std::move(network), *front, heads.narrow(0, share.first, share.count).to(device)));
}

}  // namespace

LogisticEnsemble::LogisticEnsemble(std::int64_t members, ImageShape input, std::int64_t classes,
                                   const RngStream& stream, at::Device device)
    : members_(members),
      classes_(classes),
      pixels_(input.size()),
      parameters_({{"weight", {members, classes, input.size()}, ComputeFanInBound(input.size())},
                   {"bias", {members, classes}, ComputeFanInBound(input.size())}},
                  stream, device) {}

at::Tensor LogisticEnsemble::ForwardOwn(const at::Tensor& images, std::int64_t first) const {
  const std::vector<at::Tensor>& p = parameters_.leaves();
  const std::int64_t count = images.size(0);
  return at::baddbmm(p[1].narrow(0, first, count).unsqueeze(1), images, p[0].narrow(0, first, count).transpose(1, 2));
}

at::Tensor LogisticEnsemble::ForwardShared(const at::Tensor& images, std::int64_t first, std::int64_t count) const {
  const std::vector<at::Tensor>& p = parameters_.leaves();
  const at::Tensor weight = p[0].narrow(0, first, count).view({count * classes_, pixels_});
  const at::Tensor all = at::matmul(images.flatten(1), weight.t());
  return (all.view({images.size(0), count, classes_}) + p[1].narrow(0, first, count)).transpose(0, 1);
}

std::string FormatMemberPrefix(const std::string& prefix, std::int64_t member) {
  return prefix + std::to_string(member) + "/";
}

Result<std::unique_ptr<Ensemble>> LoadEnsemble(const NetworkChoice& network, std::int64_t members, ImageShape input,
                                               std::int64_t classes, const std::string& prefix,
                                               const std::vector<storage::TensorBlob>& blobs, RowShare share,
                                               at::Device device) {
  const std::string together = prefix + "weight";
  if (std::any_of(blobs.begin(), blobs.end(), [&](const auto& blob) { return blob.name == together; })) {
    auto ensemble =
        std::make_unique<LogisticEnsemble>(members, input, classes, RngStream(0, Purpose::parameters), device);
    RETORT_RETURN_IF_ERROR(ensemble->parameters().FromBlobs(prefix, blobs));
    return std::unique_ptr<Ensemble>(std::make_unique<LogisticMembers>(std::move(ensemble), share));
  }
  const std::string fitted = prefix + "heads";
  const auto heads = std::find_if(blobs.begin(), blobs.end(), [&](const auto& blob) { return blob.name == fitted; });
  if (heads != blobs.end()) {
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> shared,
                            MakeNetwork(network, input, classes, std::nullopt, device));
    RETORT_RETURN_IF_ERROR(shared->LoadState(prefix, blobs));
    return LoadHeads(std::move(shared), members, *heads, share, device);
  }
  std::vector<std::unique_ptr<Network>> networks;
  for (std::int64_t member = share.first; member < share.first + share.count; ++member) {
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> one, MakeNetwork(network, input, classes, std::nullopt, device));
    RETORT_RETURN_IF_ERROR(one->LoadState(FormatMemberPrefix(prefix, member), blobs));
    networks.push_back(std::move(one));
  }
  return std::unique_ptr<Ensemble>(std::make_unique<NetworkMembers>(std::move(networks), classes));
}

at::Tensor MakeDisjointShards(std::int64_t examples, std::int64_t members) {
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
