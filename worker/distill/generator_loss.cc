#include "worker/distill/generator_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/zeros_like.h>

namespace retort::worker {
namespace {

constexpr double kLeast = 1e-12;   // keeps log of an unused class finite

// Adds weight * entropy term. v = d term / d p, pulled back through the softmax: p (v - <p, v>).
double AddEntropy(const at::Tensor& p, const at::Tensor& log_p, double weight, GeneratorForm form,
                  at::Tensor& gradient) {
  const auto rows = static_cast<double>(p.size(0));
  if (form == GeneratorForm::dafl) {
    const at::Tensor mean = p.mean(0).clamp_min(kLeast);
    const at::Tensor v = mean.log() + 1;
    gradient.add_(p * (v - (p * v).sum(1, true)), weight / rows);
    return weight * (mean * mean.log()).sum().item<double>();
  }
  const at::Tensor v = log_p + 1;
  gradient.add_(p * (v - (p * v).sum(1, true)), weight / rows);
  return weight * (p * log_p).sum().item<double>() / rows;
}

double AddActivation(const at::Tensor& features, double weight, GeneratorForm form, at::Tensor& gradient) {
  if (form == GeneratorForm::dafl) {
    const auto n = static_cast<double>(features.numel());
    gradient.add_(features.sign(), -weight / n);
    return -weight * features.abs().mean().item<double>();
  }
  const double norm = features.norm().item<double>();
  if (norm > 0) gradient.add_(features, weight / norm);
  return weight * norm;
}

}  // namespace

GeneratorGradient GeneratorLoss(const NetworkOutput& student, const at::Tensor& targets,
                                const GeneratorWeights& weights, GeneratorForm form) {
  const at::NoGradGuard no_grad;
  const at::Tensor logits = student.logits.detach(), features = student.features.detach();
  const auto rows = static_cast<double>(logits.size(0));
  const at::Tensor log_p = at::log_softmax(logits, 1), p = log_p.exp();
  GeneratorGradient out{at::Tensor(), at::zeros_like(features), 0};
  const at::Tensor own = at::one_hot(logits.argmax(1), logits.size(1)).to(p.scalar_type());
  out.logits = (p - own) * (weights.one_hot / rows);
  out.loss = -weights.one_hot * (own * log_p).sum().item<double>() / rows;
  if (targets.defined()) {
    out.logits.add_(p * targets.sum(1, true) - targets, 1 / rows);
    out.loss -= (targets * log_p).sum().item<double>() / rows;
  }
  out.loss += AddEntropy(p, log_p, weights.information_entropy, form, out.logits);
  out.loss += AddActivation(features, weights.activation_norm, form, out.features);
  return out;
}

}  // namespace retort::worker
