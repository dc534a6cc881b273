#include "worker/gang/gang_batch_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <torch/csrc/autograd/custom_function.h>

#include <stdexcept>

namespace retort::worker {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

// [channels] -> [1, channels, 1, 1]
at::Tensor PerChannel(const at::Tensor& values) { return values.view({1, -1, 1, 1}); }

at::Tensor SumOfChannels(const at::Tensor& x) { return x.sum({0, 2, 3}, false, at::kDouble); }

void SumInGang(at::Tensor& values, Collective& gang) {
  const Status done = gang.AllReduceSum(values);
  if (!done.ok()) throw std::runtime_error(done.message());
}

struct Normalise : torch::autograd::Function<Normalise> {
  // Returns x normalised, without weight and bias, whose gradients autograd finds by itself.
  static Variable forward(AutogradContext* context, const Variable& x, double epsilon, Collective* gang) {
    const at::Tensor squares = SumOfChannels(x.to(at::kDouble).square());
    at::Tensor sums = at::cat({SumOfChannels(x), squares, at::full({1}, x.numel() / x.size(1), squares.options())});
    SumInGang(sums, *gang);
    const std::int64_t channels = x.size(1);
    const at::Tensor count = sums[2 * channels];
    const at::Tensor mean = sums.narrow(0, 0, channels) / count;
    const at::Tensor variance = sums.narrow(0, channels, channels) / count - mean.square();
    const at::Tensor scale = (variance.clamp_min(0) + epsilon).rsqrt().to(at::kFloat);
    const at::Tensor normal = (x - PerChannel(mean.to(at::kFloat))) * PerChannel(scale);
    context->save_for_backward({normal, scale, count});
    context->saved_data["gang"] = reinterpret_cast<std::int64_t>(gang);
    return normal;
  }

  // dx = scale (dy - mean(dy) - normal mean(dy normal)), means over all members' rows.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& normal = saved[0];
    const at::Tensor& dy = gradients[0];
    auto* gang = reinterpret_cast<Collective*>(context->saved_data["gang"].toInt());
    at::Tensor sums = at::cat({SumOfChannels(dy), SumOfChannels(dy * normal)});
    SumInGang(sums, *gang);
    const at::Tensor means = (sums / saved[2]).to(at::kFloat);
    const std::int64_t channels = normal.size(1);
    const at::Tensor dx =
        (dy - PerChannel(means.narrow(0, 0, channels)) - normal * PerChannel(means.narrow(0, channels, channels))) *
        PerChannel(saved[1]);
    return {dx, Variable(), Variable()};
  }
};

}  // namespace

at::Tensor GangBatchNorm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon,
                         Collective& gang) {
  at::Tensor y = Normalise::apply(x, epsilon, &gang);
  if (weight.defined()) y = y * PerChannel(weight);
  if (bias.defined()) y = y + PerChannel(bias);
  return y;
}

}  // namespace retort::worker
