#include "worker/distill/generator_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

#include "worker/tensors/loss_sum.h"

namespace retort::worker {
namespace {

constexpr double kMinProbability = 1e-12;  // keeps log of an unused class finite

// Sums over the whole batch that the terms need.
struct Totals {
  at::Tensor mean_prediction;  // [classes]
  at::Tensor feature_norm;     // f64 []: L2, of all rows
};

Result<Totals> SumTotals(const at::Tensor& p, const at::Tensor& features, std::int64_t rows, Collective& gang) {
  // The last element is the sum of squares.
  at::Tensor sums = at::cat({p.sum(0).to(at::kDouble), features.to(at::kDouble).square().sum().reshape({1})});
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(sums));
  const std::int64_t classes = p.size(1);
  const at::Tensor squares = sums[classes];
  return Totals{(sums.narrow(0, 0, classes) / static_cast<double>(rows)).to(p.scalar_type()),
                squares.is_cpu() ? at::full({}, std::sqrt(squares.item<double>()), at::kDouble) : squares.sqrt()};
}

// weight / norm, 0 where the norm is: what features are multiplied by. Rounded once, on every device alike.
at::Tensor DivideByNorm(double weight, const at::Tensor& norm, at::ScalarType type) {
  return at::where(norm > 0, weight / norm, at::zeros({}, norm.options())).to(type);
}

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
    loss_.Add((own * log_p_).sum(), -weight, mean_);
  }

  void AddTargets(const at::Tensor& targets) {
    out_.logits.add_(p_ * targets.sum(1, true) - targets, mean_);
    loss_.Add((targets * log_p_).sum(), -1, mean_);
  }

  // v = d term / d p, pulled back through the softmax: p (v - <p, v>).
  void AddEntropy(double weight, const Totals& totals) {
    const bool dafl = form_ == GeneratorForm::dafl;
    const at::Tensor mean = totals.mean_prediction.clamp_min(kMinProbability);
    const at::Tensor v = (dafl ? mean.log() : log_p_) + 1;
    out_.logits.add_(p_ * (v - (p_ * v).sum(1, true)), weight * mean_);
    if (dafl)
      AddOnce((mean * mean.log()).sum(), weight);
    else
      loss_.Add((p_ * log_p_).sum(), weight, mean_);
  }

  void AddActivation(double weight, const Totals& totals) {
    if (form_ == GeneratorForm::dafl) {
      const double n = rows_ * static_cast<double>(features_.size(1));
      out_.features.add_(features_.sign(), -weight / n);
      loss_.Add(features_.abs().sum(), -weight, 1, n);
      return;
    }
    if (form_ == GeneratorForm::printed_sums) {
      const at::Tensor norms = features_.norm(2, 1, true);
      out_.features.add_(at::where(norms > 0, features_ / norms, at::zeros({}, features_.options())), weight);
      loss_.Add(norms.sum(), weight);
      return;
    }
    out_.features.add_(features_ * DivideByNorm(weight, totals.feature_norm, features_.scalar_type()));
    AddOnce(totals.feature_norm, weight);
  }

  [[nodiscard]] const at::Tensor& p() const { return p_; }
  [[nodiscard]] const at::Tensor& features() const { return features_; }
  [[nodiscard]] GeneratorGradient Take() {
    out_.loss = loss_.Total();
    return std::move(out_);
  }

 private:
  // The loss of a term that is one number for the whole batch is gang rank 0's part.
  void AddOnce(const at::Tensor& value, double weight) {
    if (gang_.rank().value == 0) loss_.Add(value, weight);
  }

  at::Tensor logits_, features_, log_p_, p_;
  GeneratorForm form_;
  double rows_;
  double mean_;  // what a row's term is multiplied by
  const Collective& gang_;
  GeneratorGradient out_;
  LossSum loss_;
};

}  // namespace

Result<GeneratorGradient> ComputeGeneratorLoss(const NetworkOutput& student, const at::Tensor& targets,
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
