#include "worker/distill/generator_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

namespace retort::worker {
namespace {

constexpr double kMinProbability = 1e-12;  // keeps log of an unused class finite

// Sums over the whole batch that the terms need.
struct Totals {
  at::Tensor mean_prediction;  // [classes]
  double feature_norm = 0;     // L2, of all rows
};

Result<Totals> SumTotals(const at::Tensor& p, const at::Tensor& features, std::int64_t rows, Collective& gang) {
  // The last element is the sum of squares.
  at::Tensor sums = at::cat({p.sum(0).to(at::kDouble), features.to(at::kDouble).square().sum().reshape({1})});
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(sums));
  const std::int64_t classes = p.size(1);
  return Totals{(sums.narrow(0, 0, classes) / static_cast<double>(rows)).to(p.scalar_type()),
                std::sqrt(sums[classes].item<double>())};
}

// The loss of a term that is one number for the whole batch is gang rank 0's part.
double Once(double value, const Collective& gang) { return gang.rank().value == 0 ? value : 0; }

class Terms {
 public:
  Terms(const NetworkOutput& student, GeneratorForm form, std::int64_t rows, const Collective& gang)
      : logits_(student.logits.detach()),
        features_(student.features.detach()),
        log_p_(at::log_softmax(logits_, 1)),
        p_(log_p_.exp()),
        form_(form),
        rows_(static_cast<double>(rows)),
        mean_(form == GeneratorForm::printed_sums ? 1 : 1 / rows_),
        gang_(gang) {
    out_.logits = at::zeros_like(p_);
    out_.features = at::zeros_like(features_);
  }

  void AddOneHot(double weight) {
    const at::Tensor own = at::one_hot(logits_.argmax(1), logits_.size(1)).to(p_.scalar_type());
    out_.logits.add_(p_ - own, weight * mean_);
    out_.loss -= weight * (own * log_p_).sum().item<double>() * mean_;
  }

  void AddTargets(const at::Tensor& targets) {
    out_.logits.add_(p_ * targets.sum(1, true) - targets, mean_);
    out_.loss -= (targets * log_p_).sum().item<double>() * mean_;
  }

  // v = d term / d p, pulled back through the softmax: p (v - <p, v>).
  void AddEntropy(double weight, const Totals& totals) {
    const bool dafl = form_ == GeneratorForm::dafl;
    const at::Tensor mean = totals.mean_prediction.clamp_min(kMinProbability);
    const at::Tensor v = (dafl ? mean.log() : log_p_) + 1;
    out_.logits.add_(p_ * (v - (p_ * v).sum(1, true)), weight * mean_);
    out_.loss += dafl ? Once(weight * (mean * mean.log()).sum().item<double>(), gang_)
                      : weight * (p_ * log_p_).sum().item<double>() * mean_;
  }

  void AddActivation(double weight, const Totals& totals) {
    if (form_ == GeneratorForm::dafl) {
      const double n = rows_ * static_cast<double>(features_.size(1));
      out_.features.add_(features_.sign(), -weight / n);
      out_.loss -= weight * features_.abs().sum().item<double>() / n;
      return;
    }
    if (form_ == GeneratorForm::printed_sums) {
      const at::Tensor norms = features_.norm(2, 1, true);
      out_.features.add_(at::where(norms > 0, features_ / norms, at::zeros({}, features_.options())), weight);
      out_.loss += weight * norms.sum().item<double>();
      return;
    }
    if (totals.feature_norm > 0) out_.features.add_(features_, weight / totals.feature_norm);
    out_.loss += Once(weight * totals.feature_norm, gang_);
  }

  [[nodiscard]] const at::Tensor& p() const { return p_; }
  [[nodiscard]] const at::Tensor& features() const { return features_; }
  [[nodiscard]] GeneratorGradient Take() { return std::move(out_); }

 private:
  at::Tensor logits_, features_, log_p_, p_;
  GeneratorForm form_;
  double rows_;
  double mean_;  // what a row's term is multiplied by
  const Collective& gang_;
  GeneratorGradient out_;
};

}  // namespace

Result<GeneratorGradient> GeneratorLoss(const NetworkOutput& student, const at::Tensor& targets,
                                        const GeneratorWeights& weights, GeneratorForm form, std::int64_t rows,
                                        Collective& gang) {
  const at::NoGradGuard no_grad;
  Terms terms(student, form, rows, gang);
  RETORT_ASSIGN_OR_RETURN(const Totals totals, SumTotals(terms.p(), terms.features(), rows, gang));
  terms.AddOneHot(weights.one_hot);
  if (targets.defined()) terms.AddTargets(targets);
  terms.AddEntropy(weights.information_entropy, totals);
  terms.AddActivation(weights.activation_norm, totals);
  return terms.Take();
}

}  // namespace retort::worker
