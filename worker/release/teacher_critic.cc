#include "worker/release/teacher_critic.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <utility>
#include <vector>

#include "experiments/methods/methods.h"
#include "worker/tensors/autograd.h"
#include "worker/tensors/loss_sum.h"

namespace retort::worker::release {
namespace {

// Every dimension but the channels'.
std::vector<std::int64_t> OverRows(const at::Tensor& reaching) {
  std::vector<std::int64_t> dimensions = {0};
  for (std::int64_t d = 2; d < reaching.dim(); ++d) dimensions.push_back(d);
  return dimensions;
}

// [channels] as [1, channels, 1, ...].
at::Tensor Along(const at::Tensor& channels, const at::Tensor& reaching) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(reaching.dim()), 1);
  shape[1] = -1;
  return channels.to(reaching.scalar_type()).view(shape);
}

// x / |x|, or zeros where there is no direction.
at::Tensor Direction(const at::Tensor& x, const at::Tensor& norm) {
  return at::where(norm > 0, x / norm, at::zeros({}, x.options()));
}

// Sums and sums of squares of every norm's channels over the whole batch: f64, one behind the other.
Result<at::Tensor> NormSums(const std::vector<TeacherInternals::Norm>& norms, Collective& gang) {
  std::vector<at::Tensor> parts;
  for (const TeacherInternals::Norm& norm : norms) {
    const at::Tensor x = norm.reaching.detach().to(at::kDouble);
    parts.push_back(x.sum(OverRows(x)));
    parts.push_back(x.square().sum(OverRows(x)));
  }
  at::Tensor sums = at::cat(parts);
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(sums));
  return sums;
}

// The seed at what reaches one norm, of |m - mean| + |v - variance|: d m / d x = 1 / N, d v / d x = 2 (x - m) / N.
at::Tensor NormSeed(const TeacherInternals::Norm& norm, const at::Tensor& sum, const at::Tensor& squares,
                    std::int64_t rows, LossSum& loss) {
  const at::Tensor x = norm.reaching.detach();
  double count = static_cast<double>(rows);
  for (std::int64_t d = 2; d < x.dim(); ++d) count *= static_cast<double>(x.size(d));
  const at::Tensor mean = sum / count, variance = squares / count - mean.square();
  const at::Tensor mean_off = mean - norm.mean.to(at::kDouble), variance_off = variance - norm.variance.to(at::kDouble);
  const at::Tensor mean_norm = mean_off.norm(), variance_norm = variance_off.norm();
  loss.Add(mean_norm + variance_norm, 1);
  const at::Tensor by_mean = Along(Direction(mean_off, mean_norm) / count, x),
                   by_variance = Along(Direction(variance_off, variance_norm) * (2 / count), x);
  return by_mean + by_variance * (x - Along(mean, x));
}

struct NormTerm {
  std::vector<at::Tensor> seeds;  // one a norm
  LossSum loss;                   // of the whole batch
};

Result<NormTerm> NormStatistics(const std::vector<TeacherInternals::Norm>& norms, std::int64_t rows, Collective& gang) {
  const at::NoGradGuard no_grad;
  RETORT_ASSIGN_OR_RETURN(const at::Tensor sums, NormSums(norms, gang));
  NormTerm term;
  std::int64_t at = 0;
  for (const TeacherInternals::Norm& norm : norms) {
    const std::int64_t channels = norm.reaching.size(1);
    term.seeds.push_back(
        NormSeed(norm, sums.narrow(0, at, channels), sums.narrow(0, at + channels, channels), rows, term.loss));
    at += 2 * channels;
  }
  return term;
}

struct Disagreement {
  at::Tensor teacher, student;  // d loss / d logits
  at::Tensor loss;              // this member's part
};

// Mean over `rows` of KL(t || s), rows of one first class left out: d KL / d s-logits = s - t, and by the teacher's
// t (log t - log s - KL).
Disagreement Disagree(const at::Tensor& teacher, const at::Tensor& student, std::int64_t rows) {
  const at::NoGradGuard no_grad;
  const at::Tensor log_t = at::log_softmax(teacher, 1), log_s = at::log_softmax(student, 1), t = log_t.exp();
  const at::Tensor divergence = (t * (log_t - log_s)).sum(1, true);
  const at::Tensor weight =
      (teacher.argmax(1, true) != student.argmax(1, true)).to(log_t.scalar_type()) / static_cast<double>(rows);
  return {t * (log_t - log_s - divergence) * weight, (log_s.exp() - t) * weight, (divergence * weight).sum()};
}

}  // namespace

Result<TeacherCritic> TeacherCritic::Create(TeacherModel& teacher, const at::Tensor& image,
                                            const CriticWeights& weights, GeneratorForm form) {
  const at::NoGradGuard no_grad;
  const TeacherInternals inside = teacher.ForwardWithInternals(image);
  if (weights.bn_statistics != 0 && inside.norms.empty()) {
    return UsageError("bn_statistics compares with a teacher's batch norms; this one shows none: set it to 0.");
  }
  if (weights.activation_norm != 0 && !inside.features.defined()) {
    return UsageError("activation_norm looks at a teacher's features; this one shows none: set it to 0.");
  }
  return TeacherCritic(teacher, weights, form);
}

Result<TeacherCritic> TeacherCritic::FromSpec(const TrialSpec& spec, TeacherModel& teacher, const at::Tensor& image) {
  const bool raw = TakesRawAnswers(FindKind(spec));
  if (teacher.members() > 1 && !raw) {
    return UsageError("An ensemble is no discriminator: set discriminator = \"student\" and pretrain_steps = 0.");
  }
  CriticWeights weights{spec.generator.one_hot, spec.generator.information_entropy, spec.generator.activation_norm,
                        spec.generator.bn_statistics, spec.generator.adversarial};
  const at::NoGradGuard no_grad;
  if (raw && teacher.ForwardWithInternals(image).norms.empty()) weights.bn_statistics = 0;
  return Create(teacher, image, weights, spec.generator.form);
}

Result<CriticGradient> TeacherCritic::Judge(const at::Tensor& images, std::int64_t rows, Collective& gang,
                                            const CriticTask& task) const {
  const at::AutoGradMode graph(true);
  const at::Tensor leaf = images.detach().requires_grad_(true);
  const TeacherInternals inside = teacher_->ForwardWithInternals(leaf);
  const bool shown = inside.features.defined();
  const NetworkOutput out{inside.logits,
                          shown ? inside.features : at::zeros({inside.logits.size(0), 1}, inside.logits.options())};
  const bool given = task.labels.defined();
  const at::Tensor targets =
      given ? at::one_hot(task.labels, out.logits.size(1)).to(out.logits.scalar_type()) * weights_.one_hot
            : at::Tensor();
  RETORT_ASSIGN_OR_RETURN(
      const GeneratorGradient seeds,
      ComputeGeneratorLoss(out, targets,
                           {given ? 0 : weights_.one_hot, weights_.information_entropy, weights_.activation_norm},
                           form_, rows, gang));
  CriticGradient judged;
  LossSum loss;
  loss.Add(seeds.loss, 1);
  std::vector<at::Tensor> outputs = {inside.logits}, gradients = {seeds.logits};
  if (shown && inside.features.requires_grad()) {
    outputs.push_back(inside.features);
    gradients.push_back(seeds.features);
  }
  if (weights_.bn_statistics != 0) {
    RETORT_ASSIGN_OR_RETURN(NormTerm term, NormStatistics(inside.norms, rows, gang));
    if (gang.rank().value == 0) loss.Add(term.loss.Total(), weights_.bn_statistics);
    for (std::size_t i = 0; i < inside.norms.size(); ++i) {
      outputs.push_back(inside.norms[i].reaching);
      gradients.push_back(term.seeds[i] * weights_.bn_statistics);
    }
  }
  if (weights_.adversarial != 0 && task.student != nullptr) {
    const at::Tensor said = task.student->Forward(leaf).logits;
    const Disagreement apart = Disagree(inside.logits.detach(), said.detach(), rows);
    loss.Add(apart.loss, -weights_.adversarial);
    for (const auto& [output, seed] : {std::pair(inside.logits, apart.teacher), std::pair(said, apart.student)}) {
      outputs.push_back(output);
      gradients.push_back(seed * -weights_.adversarial);
    }
  }
  judged.images = ComputeVectorJacobian(outputs, gradients, {leaf})[0];
  judged.loss = loss.Total();
  return judged;
}

}  // namespace retort::worker::release
