#include "worker/gang/summed_gradient.h"

#include <memory>
#include <utility>

#include "worker/tensors/autograd.h"

namespace retort::worker {
namespace {

// Parameters [first, end) of the arena, next to each other in its gradient.
struct Bucket {
  std::size_t first = 0, end = 0;
  std::size_t missing = 0;  // parameters whose gradient is not there yet
  at::Tensor values;
};

std::vector<Bucket> CutFromTheEnd(ParameterArena& parameters, std::int64_t bucket_floats) {
  const std::vector<std::int64_t>& offsets = parameters.offsets();
  std::vector<Bucket> buckets;
  std::int64_t end = parameters.gradient().numel();
  std::size_t last = offsets.size();
  for (std::size_t i = offsets.size(); i-- > 0;) {
    if (end - offsets[i] < bucket_floats && i > 0) continue;
    buckets.push_back({i, last, last - i, parameters.gradient().narrow(0, offsets[i], end - offsets[i])});
    end = offsets[i];
    last = i;
  }
  return buckets;
}

class BucketSum {
 public:
  BucketSum(ParameterArena& parameters, Collective& gang, std::int64_t bucket_floats)
      : parameters_(parameters), gang_(gang), buckets_(CutFromTheEnd(parameters, bucket_floats)) {
    parameters.gradient().zero_();
    for (const Bucket& bucket : buckets_) gang.Expect(bucket.values);
  }

  void Ready(std::size_t parameter, const at::Tensor& gradient) {
    parameters_.gradient_views()[parameter].copy_(gradient);
    for (Bucket& bucket : buckets_)
      if (parameter >= bucket.first && parameter < bucket.end) --bucket.missing;
    // In one order on every member, whatever their graphs finish first.
    while (next_ < buckets_.size() && buckets_[next_].missing == 0) Begin();
  }

  Status Finish() {
    while (next_ < buckets_.size()) Begin();
    for (const auto& operation : pending_) {
      Status done = operation->Wait();
      if (status_.ok()) status_ = std::move(done);
    }
    return status_;
  }

 private:
  void Begin() {
    Bucket& bucket = buckets_[next_++];
    if (!status_.ok()) return;
    Result<std::unique_ptr<PendingOperation>> begun = gang_.BeginAllReduceSum(bucket.values);
    if (begun.ok())
      pending_.push_back(std::move(*begun));
    else
      status_ = begun.status();
  }

  ParameterArena& parameters_;
  Collective& gang_;
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<PendingOperation>> pending_;
  Status status_;
};

}  // namespace

Status SumGradients(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& seeds,
                    ParameterArena& parameters, Collective& gang, std::int64_t bucket_floats, OwnLeaf* own) {
  std::vector<at::Tensor> leaves = parameters.leaves();
  if (own != nullptr) leaves.push_back(own->leaf);
  if (gang.size() == 1) {
    std::vector<at::Tensor> gradients = ComputeVectorJacobian(outputs, seeds, leaves);
    if (own != nullptr) {
      own->gradient = std::move(gradients.back());
      gradients.pop_back();
    }
    parameters.Gather(gradients);
    return {};
  }
  BucketSum sum(parameters, gang, bucket_floats);
  if (!outputs.empty()) {
    ComputeVectorJacobian(outputs, seeds, leaves, [&](std::size_t leaf, const at::Tensor& gradient) {
      if (leaf < parameters.leaves().size())
        sum.Ready(leaf, gradient);
      else
        own->gradient = gradient;
    });
  }
  return sum.Finish();
}

}  // namespace retort::worker
