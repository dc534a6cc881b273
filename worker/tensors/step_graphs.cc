#include "worker/tensors/step_graphs.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace retort::worker {
namespace {

// Libraries set themselves up in the first runs.
constexpr std::int64_t kWarmUps = 2;
// Shapes of one region that are recorded: the usual one, the rest of an epoch, and before there is anything to replay.
constexpr std::size_t kMaxShapes = 4;
constexpr std::int64_t kInputAlignment = 64;  // bytes

// Sets a flag for as long as it lives.
class Inside {
 public:
  explicit Inside(bool& flag) : flag_(flag), before_(flag) { flag_ = true; }
  ~Inside() { flag_ = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool& flag_;
  bool before_;
};

bool& InsideHere() {
  thread_local bool inside = false;
  return inside;
}

bool IsOnHost(const at::Tensor& tensor) { return tensor.defined() && tensor.is_cpu(); }

std::int64_t PaddedBytes(const at::Tensor& tensor) {
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  return (bytes + kInputAlignment - 1) / kInputAlignment * kInputAlignment;
}

std::vector<std::int64_t> Signature(const Tensors& inputs, const std::vector<double>& constants) {
  std::vector<std::int64_t> signature;
  for (const double constant : constants) signature.push_back(std::bit_cast<std::int64_t>(constant));
  for (const at::Tensor& input : inputs) {
    signature.push_back(input.defined() ? input.dim() : -1);
    if (!input.defined()) continue;
    signature.push_back(static_cast<std::int64_t>(input.scalar_type()));
    signature.push_back(input.is_cpu() ? 1 : 0);
    signature.insert(signature.end(), input.sizes().begin(), input.sizes().end());
    if (!input.is_cpu()) signature.insert(signature.end(), input.strides().begin(), input.strides().end());
  }
  return signature;
}

// Places on the device for inputs like these; those of the CPU are views of `bytes`.
Tensors MakePlaces(const Tensors& inputs, const at::Tensor& bytes) {
  Tensors places;
  std::int64_t offset = 0;
  for (const at::Tensor& input : inputs) {
    if (!IsOnHost(input)) {
      places.push_back(input.defined() ? at::empty_like(input.detach()) : at::Tensor());
      continue;
    }
    const auto count = static_cast<std::int64_t>(input.nbytes());
    places.push_back(bytes.narrow(0, offset, count).view(input.scalar_type()).view(input.sizes()));
    offset += PaddedBytes(input);
  }
  return places;
}

}  // namespace

bool IsInsideRegion() { return InsideHere(); }

std::vector<RegionUse> StepGraphs::Uses() const {
  std::map<std::string, RegionUse> sums;
  for (const std::shared_ptr<RegionUse>& use : uses_) {
    RegionUse& sum = sums[use->name];
    sum.name = use->name;
    sum.eager += use->eager;
    sum.recorded += use->recorded;
    sum.replayed += use->replayed;
    if (sum.declined.empty()) sum.declined = use->declined;
  }
  std::vector<RegionUse> all;
  for (auto& [name, sum] : sums) all.push_back(std::move(sum));
  return all;
}

GraphRegion::GraphRegion(StepGraphs* graphs, std::string name) : graphs_(graphs) {
  if (graphs == nullptr) return;
  use_ = std::make_shared<RegionUse>();
  use_->name = std::move(name);
  graphs->uses_.push_back(use_);
}

bool GraphRegion::Records() const { return graphs_ != nullptr && !graphs_->inside_ && use_->declined.empty(); }

void GraphRegion::Decline(const std::string& why) {
  if (use_ == nullptr || !use_->declined.empty()) return;
  const auto& all = graphs_->uses_;
  const bool said = std::any_of(all.begin(), all.end(),
                                [&](const auto& use) { return use->name == use_->name && !use->declined.empty(); });
  use_->declined = why;
  if (!said) std::fprintf(stderr, "retort-worker: '%s' is not recorded: %s\n", use_->name.c_str(), why.c_str());
}

Result<Tensors> GraphRegion::Run(const Tensors& inputs, const Body& body, const std::vector<double>& constants) {
  const Inside here(InsideHere());
  if (graphs_ == nullptr || graphs_->inside_) return body(inputs);
  if (!use_->declined.empty()) return RunEagerly(inputs, body);
  Shape& shape = FindShape(inputs, constants);
  if (!use_->declined.empty()) return RunEagerly(inputs, body);
  Fill(shape, inputs);
  if (shape.runs < kWarmUps) {
    const std::int64_t before = graphs_->peers_ == nullptr ? 0 : graphs_->peers_->operations();
    RETORT_ASSIGN_OR_RETURN(Tensors outputs, RunEagerly(shape.inputs, body));
    shape.meets_peers = graphs_->peers_ != nullptr && graphs_->peers_->operations() != before;
    if (++shape.runs == kWarmUps)
      for (const at::Tensor& output : outputs)
        shape.outputs.push_back(output.defined() ? at::empty_like(output) : output);
    return outputs;
  }
  if (shape.graph == nullptr) {
    RETORT_ASSIGN_OR_RETURN(const bool recorded, AllRecorded(shape, Record(shape, body)));
    if (!recorded) return RunEagerly(inputs, body);
  }
  const Inside inside(graphs_->inside_);
  const Status replayed = shape.graph->Replay([&] { return RunInPlace(shape, body); });
  TORCH_CHECK(replayed.ok(), replayed.message());
  ++use_->replayed;
  if (shape.meets_peers) RETORT_RETURN_IF_ERROR(graphs_->peers_->AwaitReplay());
  return shape.outputs;
}

Result<Tensors> GraphRegion::RunEagerly(const Tensors& inputs, const Body& body) {
  const Inside inside(graphs_->inside_);
  ++use_->eager;
  return body(inputs);
}

GraphRegion::Shape& GraphRegion::FindShape(const Tensors& inputs, const std::vector<double>& constants) {
  Shape& shape = shapes_[Signature(inputs, constants)];
  if (shape.runs > 0 || !shape.inputs.empty()) return shape;
  if (shapes_.size() > kMaxShapes) Decline("its shapes keep changing");
  if (!use_->declined.empty()) return shape;
  std::int64_t bytes = 0;
  for (const at::Tensor& input : inputs)
    if (IsOnHost(input)) bytes += PaddedBytes(input);
  shape.staged = at::empty({bytes}, at::kByte);
  shape.bytes = at::empty({bytes}, at::device(graphs_->at_).dtype(at::kByte));
  shape.inputs = MakePlaces(inputs, shape.bytes);
  return shape;
}

void GraphRegion::Fill(Shape& shape, const Tensors& inputs) {
  const at::NoGradGuard no_grad;
  auto* staged = shape.staged.mutable_data_ptr<std::uint8_t>();
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    if (!inputs[i].is_cpu()) {
      shape.inputs[i].copy_(inputs[i].detach());
      continue;
    }
    const at::Tensor packed = inputs[i].contiguous();
    if (packed.nbytes() > 0) std::memcpy(staged + offset, packed.const_data_ptr(), packed.nbytes());
    offset += PaddedBytes(packed);
  }
  if (offset > 0) graphs_->device_.Upload(shape.staged, shape.bytes);
}

Status GraphRegion::RunInPlace(Shape& shape, const Body& body) {
  RETORT_ASSIGN_OR_RETURN(const Tensors outputs, body(shape.inputs));
  const at::NoGradGuard no_grad;
  RETORT_CHECK(outputs.size() == shape.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].defined() != shape.outputs[i].defined() ||
        (outputs[i].defined() && outputs[i].sizes() != shape.outputs[i].sizes()))
      return Refused("the shape of what it computes changes");
    if (outputs[i].defined()) shape.outputs[i].copy_(outputs[i]);
  }
  return {};
}

Result<bool> GraphRegion::AllRecorded(Shape& shape, const Status& own) {
  bool all = own.ok();
  if (shape.meets_peers) {
    RETORT_ASSIGN_OR_RETURN(all, graphs_->peers_->AllHave(own.ok()));
  }
  if (all) return true;
  shape.graph.reset();
  Decline(own.ok() ? "another member of the gang cannot record it" : own.message());
  return false;
}

Status GraphRegion::Record(Shape& shape, const Body& body) {
  const Inside inside(graphs_->inside_);
  Result<std::unique_ptr<DeviceGraph>> graph =
      graphs_->device_.Record([&]() -> Status { return RunInPlace(shape, body); });
  if (!graph.ok()) return graph.status();
  shape.graph = std::move(*graph);
  ++use_->recorded;
  return {};
}

}  // namespace retort::worker
