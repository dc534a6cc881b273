#include "worker/models/arenas.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kAlignment = 16;  // floats in 64 bytes

std::int64_t Numel(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

at::Tensor Drawn(const ParameterShape& p, const RngStream& stream) {
  switch (p.draw) {
    case Draw::uniform:
      return DrawUniformTensor(p.shape, p.bound, stream);
    case Draw::normal:
      return DrawNormalTensor(p.shape, p.bound, stream);
    case Draw::truncated:
      return DrawTruncatedNormalTensor(p.shape, p.bound, stream);
  }
  CheckFailed("a known draw", __FILE__, __LINE__, p.name);
}

std::int64_t Padded(std::int64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

double ComputeFanInBound(std::int64_t fan_in) { return 1.0 / std::sqrt(static_cast<double>(fan_in)); }

ParameterArena::ParameterArena(std::vector<ParameterShape> shapes, const std::optional<RngStream>& stream,
                               at::Device device)
    : shapes_(std::move(shapes)) {
  std::int64_t size = 0;
  for (const ParameterShape& p : shapes_) size += Padded(Numel(p.shape));
  flat_ = at::zeros({size}, at::device(device).dtype(at::kFloat));
  gradient_ = at::zeros_like(flat_);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const ParameterShape& p = shapes_[i];
    const std::int64_t n = Numel(p.shape);
    leaves_.push_back(flat_.narrow(0, offset, n).view(p.shape).detach().requires_grad_(true));
    gradient_views_.push_back(gradient_.narrow(0, offset, n).view(p.shape));
    offsets_.push_back(offset);
    offset += Padded(n);
  }
  if (stream) Redraw(*stream);
}

void ParameterArena::Redraw(const RngStream& stream) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const ParameterShape& p = shapes_[i];
    if (p.bound > 0) {
      leaves_[i].copy_(Drawn(p, stream.Lane(i)));
    } else {
      leaves_[i].zero_();
    }
    if (p.offset != 0) leaves_[i].add_(p.offset);
  }
}

void ParameterArena::RedrawXavier(const RngStream& stream) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const std::vector<std::int64_t>& shape = shapes_[i].shape;
    if (shape.size() < 2) continue;
    const std::int64_t window = Numel(shape) / (shape[0] * shape[1]);
    const double bound = std::sqrt(6.0 / static_cast<double>((shape[0] + shape[1]) * window));
    leaves_[i].copy_(DrawUniformTensor(shape, bound, stream.Lane(i)));
  }
}

void ParameterArena::Gather(const std::vector<at::Tensor>& gradients) {
  RETORT_CHECK(gradients.size() == gradient_views_.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) {
      gradient_views_[i].copy_(gradients[i]);
    } else {
      gradient_views_[i].zero_();
    }
  }
}

std::int64_t ParameterArena::parameter_count() const {
  std::int64_t n = 0;
  for (const ParameterShape& p : shapes_) n += Numel(p.shape);
  return n;
}

bool ParameterArena::AllFinite() const { return at::isfinite(flat_).all().item<bool>(); }

std::vector<storage::TensorBlob> ParameterArena::ToBlobs(const std::string& prefix) const {
  std::vector<storage::TensorBlob> blobs;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    blobs.push_back(MakeTensorBlob(prefix + shapes_[i].name, leaves_[i]));
  return blobs;
}

Status ParameterArena::FromBlobs(const std::string& prefix, const std::vector<storage::TensorBlob>& blobs) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const std::string name = prefix + shapes_[i].name;
    const auto found = std::find_if(blobs.begin(), blobs.end(), [&](const auto& b) { return b.name == name; });
    if (found == blobs.end()) return DamageError("The stored parameters lack '" + name + "'.");
    if (found->shape != shapes_[i].shape || found->dtype != storage::DType::f32) {
      return DamageError("The stored parameter '" + name + "' has another shape or type than the network.");
    }
    RETORT_ASSIGN_OR_RETURN(const at::Tensor value, MakeTensorFromBlob(*found));
    leaves_[i].copy_(value);
  }
  return {};
}

BufferArena::BufferArena(const std::vector<std::int64_t>& channels,
                         const std::vector<std::vector<std::int64_t>>& constants, at::Device device) {
  std::int64_t size = 0;
  for (const std::int64_t n : channels) size += 2 * n;
  flat_ = at::zeros({size}, at::device(device).dtype(at::kFloat));
  counts_ = at::zeros({static_cast<std::int64_t>(channels.size())}, at::device(device).dtype(at::kLong));
  std::int64_t offset = 0;
  for (const std::int64_t n : channels) {
    means_.push_back(flat_.narrow(0, offset, n));
    variances_.push_back(flat_.narrow(0, offset + n, n));
    offset += 2 * n;
  }
  Reset();
  size = 0;
  for (const std::vector<std::int64_t>& shape : constants) size += c10::multiply_integers(shape);
  constants_ = at::zeros({size}, at::device(device).dtype(at::kFloat));
  offset = 0;
  for (const std::vector<std::int64_t>& shape : constants) {
    const std::int64_t values = c10::multiply_integers(shape);
    constant_views_.push_back(constants_.narrow(0, offset, values).view(shape));
    offset += values;
  }
}

void BufferArena::Reset() {
  flat_.zero_();
  counts_.zero_();
  for (at::Tensor& variance : variances_) variance.fill_(1);
}

namespace {

class SharedStatistics final : public PendingOperation {
 public:
  SharedStatistics(at::Tensor statistics, at::Tensor part)
      : statistics_(std::move(statistics)), sum_(std::move(part)) {}
  Status Begin(Collective& gang) {
    RETORT_ASSIGN_OR_RETURN(summing_, gang.BeginAllReduceSum(sum_));
    return {};
  }
  Status Wait() override {
    RETORT_RETURN_IF_ERROR(summing_->Wait());
    const at::NoGradGuard no_grad;
    statistics_.copy_(sum_);
    return {};
  }

 private:
  at::Tensor statistics_, sum_;
  std::unique_ptr<PendingOperation> summing_;  // last: waits before the sum goes
};

}  // namespace

Status BufferArena::ShareInGang(std::int64_t own_rows, std::int64_t rows, Collective& gang) {
  RETORT_ASSIGN_OR_RETURN(const auto sharing, BeginShareInGang(own_rows, rows, gang));
  return sharing == nullptr ? Status() : sharing->Wait();
}

// In a tensor of its own: autograd notices a change of the statistics that its graph holds.
Result<std::unique_ptr<PendingOperation>> BufferArena::BeginShareInGang(std::int64_t own_rows, std::int64_t rows,
                                                                        Collective& gang) const {
  if (empty() || gang.size() == 1 || rows == 0) return std::unique_ptr<PendingOperation>();
  const at::NoGradGuard no_grad;
  auto sharing =
      std::make_unique<SharedStatistics>(flat_, flat_ * (static_cast<double>(own_rows) / static_cast<double>(rows)));
  RETORT_RETURN_IF_ERROR(sharing->Begin(gang));
  return std::unique_ptr<PendingOperation>(std::move(sharing));
}

}  // namespace retort::worker
