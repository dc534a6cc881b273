#include "worker/audit/inversion.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/xlogy.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/methods/methods.h"
#include "experiments/methods/presets.h"
#include "experiments/methods/spec_keys.h"
#include "worker/audit/audited_trial.h"
#include "worker/audit/generative_inversion.h"
#include "worker/audit/retraining.h"
#include "worker/data/dataset.h"
#include "worker/models/model_registry.h"
#include "worker/tensors/autograd.h"

namespace retort::worker::audit {

namespace {

constexpr std::int64_t kMinEpochs = 5, kMinSteps = 500, kBatch = 64;

}  // namespace

TrialSpec MakeScoringSpec(const TrialSpec& trial, std::int64_t examples, std::int64_t min_steps) {
  TrialSpec spec;
  spec.role = Role::teacher;
  spec.method = "plain";
  spec.data = trial.data;
  spec.seed = trial.seed;
  ApplyPreset(spec, FindKind(spec));
  spec.network = trial.network;
  spec.layers = trial.layers;
  spec.activation = trial.activation;
  spec.threads = trial.threads;
  spec.batch = std::min(kBatch, examples);
  const std::int64_t steps_an_epoch = (examples + spec.batch - 1) / spec.batch;
  spec.epochs = std::max(kMinEpochs, (min_steps + steps_an_epoch - 1) / steps_an_epoch);
  return spec;
}

double ComputeInceptionScore(const at::Tensor& probabilities) {
  const at::Tensor p = probabilities.to(at::kDouble), mean = p.mean(0, true);
  return std::exp((at::xlogy(p, p) - at::xlogy(p, mean)).sum(1).mean().item<double>());
}

Result<std::unique_ptr<Network>> TrainScoringNetwork(const AuditedTrial& trial, const AuditProgress& progress) {
  Dataset data = trial.inputs.data;
  if (data.test.size() == 0) return UsageError("Without test examples there is nothing that a judge could learn from.");
  data.train = data.test;
  const TrialSpec spec = MakeScoringSpec(trial.inputs.spec, data.test.size(), kMinSteps);
  return Retrain(spec, data, *trial.env, [&](std::int64_t done, std::int64_t of) { progress("inversion", done, of); });
}

namespace {

constexpr std::int64_t kSteps = 300;
constexpr double kRate = 0.05, kSmoothness = 0.02;

// Mean images of the classes of `examples`: [classes, ...]. A class without examples stays black.
at::Tensor ClassMeans(const Examples& examples, std::int64_t classes) {
  const at::Tensor member = at::one_hot(examples.labels, classes).to(at::kFloat);  // [n, classes]
  const at::Tensor counts = member.sum(0).clamp_min(1);
  const ImageShape shape = examples.shape();
  at::Tensor sum = at::zeros({classes, shape.size()}, member.options());
  for (std::int64_t first = 0; first < examples.size(); first += examples.RowsAtOnce()) {
    const std::int64_t rows = std::min(examples.RowsAtOnce(), examples.size() - first);
    sum += member.narrow(0, first, rows).t().mm(examples.Range(first, rows).flatten(1));
  }
  return (sum / counts.unsqueeze(1)).reshape({classes, shape.channels, shape.height, shape.width});
}

// Mean correlation of images with images of the same class.
double Correlation(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.flatten(1) - a.flatten(1).mean(1, true), y = b.flatten(1) - b.flatten(1).mean(1, true);
  const at::Tensor scale = (x.norm(2, 1) * y.norm(2, 1)).clamp_min(1e-12);
  return ((x * y).sum(1) / scale).mean().item<double>();
}

// Mean root-mean-square distance, per pixel, from an image to the nearest example of its class.
double Nearest(const at::Tensor& images, const Examples& examples) {
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < examples.size(); first += examples.RowsAtOnce()) {
    const std::int64_t rows = std::min(examples.RowsAtOnce(), examples.size() - first);
    parts.push_back(at::cdist(images.flatten(1), examples.Range(first, rows).flatten(1)));
  }
  const at::Tensor distance = at::cat(parts, 1);
  const at::Tensor same = at::arange(images.size(0), examples.labels.options()).unsqueeze(1) == examples.labels;
  const at::Tensor nearest = std::get<0>(at::where(same, distance, at::full({}, 1e30, distance.options())).min(1));
  const at::Tensor found = nearest.masked_select(nearest < 1e29);
  if (found.numel() == 0) return 0;
  return found.mean().item<double>() / std::sqrt(static_cast<double>(images[0].numel()));
}

// Images beside each other, [n, C, H, W] u8 -> C, H, n W interleaved by row: rows of a PNM file.
at::Tensor Strip(const at::Tensor& normalised, const PixelScale& scale) {
  return ConvertToBytes(normalised, scale).permute({2, 0, 3, 1}).contiguous().cpu();
}

Status WriteImages(const AuditedTrial& trial, const std::string& attack, const at::Tensor& inverted,
                   const at::Tensor& means) {
  const std::int64_t channels = inverted.size(1);
  if (channels != 1 && channels != 3) return {};
  const std::filesystem::path folder = std::filesystem::path(trial.order.attempt_file).parent_path().parent_path();
  const at::Tensor pixels = at::cat({Strip(inverted, trial.inputs.data.scale), Strip(means, trial.inputs.data.scale)});
  std::string text = channels == 1 ? "P5\n" : "P6\n";
  text += std::to_string(inverted.size(0) * inverted.size(3)) + " " + std::to_string(2 * inverted.size(2)) + "\n255\n";
  const auto* bytes = static_cast<const char*>(pixels.const_data_ptr());
  text.append(bytes, pixels.nbytes());
  return trial.env->WriteFileAtomically((folder / FormatInvertedImagesName(attack, trial.inputs.data.shape)).string(),
                                        text);
}

double ScoreImages(const Network& judge, const at::Tensor& images) {
  const at::NoGradGuard no_grad;
  return ComputeInceptionScore(judge.Forward(images).logits.softmax(1));
}

double MeanConfidence(const Network& network, const at::Tensor& images) {
  const at::NoGradGuard no_grad;
  return network.Forward(images).logits.softmax(1).diagonal().mean().item<double>();
}

}  // namespace

at::Tensor InvertClasses(const Network& network, std::int64_t classes, const PixelScale& scale) {
  const ImageShape shape = network.input();
  const at::Tensor& parameters = network.parameters().flat();
  const auto level = [&](double of) { return NormaliseLevel(of, scale).view({1, -1, 1, 1}).to(parameters.device()); };
  const at::Tensor black = level(0), white = level(1);
  at::Tensor images = black.expand({classes, shape.channels, shape.height, shape.width}).clone();
  const at::Tensor label = at::arange(classes, at::device(parameters.device()).dtype(at::kLong)).unsqueeze(1);
  at::Tensor momentum = at::zeros_like(images);
  for (std::int64_t step = 0; step < kSteps; ++step) {
    at::Tensor leaf = images.detach().requires_grad_();
    const at::AutoGradMode graph(true);
    const at::Tensor sure = network.Forward(leaf).logits.log_softmax(1).gather(1, label).sum();
    const at::Tensor rough = leaf.diff(1, 2).square().sum() + leaf.diff(1, 3).square().sum();
    const at::Tensor aim = sure - kSmoothness * rough;
    const at::Tensor gradient = ComputeVectorJacobian({aim}, {at::ones_like(aim)}, {leaf}).at(0);
    const at::NoGradGuard no_grad;
    momentum = 0.9 * momentum + gradient / gradient.flatten(1).norm(2, 1).clamp_min(1e-12).reshape({-1, 1, 1, 1});
    images = (images + kRate * momentum).clamp(black, white);
  }
  return images;
}

std::string FormatInvertedImagesName(const std::string& attack, const ImageShape& shape) {
  const std::string name = attack == privacy::GetInversionAttackName(privacy::InversionAttack::fredrikson)
                               ? "audit-inversion"
                               : "audit-" + attack;
  return name + (shape.channels == 1 ? ".pgm" : ".ppm");
}

Status WriteInvertedImages(const AuditedTrial& trial, const std::string& attack, const at::Tensor& images) {
  return WriteImages(trial, attack, images, ClassMeans(trial.inputs.data.train, trial.inputs.data.classes));
}

Result<privacy::AuditFinding> AuditFredrikson(const AuditedTrial& trial, const InversionJudge& judge,
                                              const AuditProgress& progress) {
  progress("inversion", 0, 1);
  const Dataset& data = trial.inputs.data;
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network, MakeFinalNetwork(trial));
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> untrained,
                          MakeNetwork(trial.inputs.spec, data.shape, data.classes,
                                      RngStream(trial.inputs.spec.seed, Purpose::parameters), data.device));
  const at::Tensor images = InvertClasses(*network, data.classes, data.scale);
  const at::Tensor control = InvertClasses(*untrained, data.classes, data.scale);
  const std::int64_t examples = std::min(data.train.size(), data.test.size());
  const at::Tensor means = ClassMeans(data.train, data.classes);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> scorer, TrainScoringNetwork(trial, progress));
  const at::Tensor labels = at::arange(data.classes, data.train.labels.options());
  const InversionScores scores = ScoreLabelledImages(judge, images, labels);
  privacy::AuditFinding finding;
  finding.kind = privacy::AuditKind::inversion;
  finding.attack = privacy::GetInversionAttackName(privacy::InversionAttack::fredrikson);
  RETORT_RETURN_IF_ERROR(WriteImages(trial, finding.attack, images, means));
  finding.subject = "one picture a class by " + std::to_string(kSteps) + " steps of gradient ascent, against " +
                    std::to_string(examples) + " private and as many test examples";
  finding.confidence = trial.order.confidence;
  finding.figures = {{"attack_accuracy", scores.accuracy},
                     {"attack_top5", scores.top5},
                     {"attack_accuracy_untrained", ScoreLabelledImages(judge, control, labels).accuracy},
                     {"frechet_distance", scores.frechet},
                     {"knn_distance", scores.distance},
                     {"confidence", MeanConfidence(*network, images)},
                     {"correlation_with_class_mean", Correlation(images, means)},
                     {"correlation_untrained", Correlation(control, means)},
                     {"inception_score", ScoreImages(*scorer, images)},
                     {"inception_score_untrained", ScoreImages(*scorer, control)},
                     {"nearest_private_rms", Nearest(images, data.train.First(examples))},
                     {"nearest_test_rms", Nearest(images, data.test.First(examples))}};
  finding.note = "the pictures are in " + FormatInvertedImagesName(finding.attack, data.shape) +
                 " beside the attempts, above the means of the private examples; the judge of attack_accuracy is " +
                 judge.name;
  return finding;
}

Result<std::vector<privacy::AuditFinding>> AuditInversions(const AuditedTrial& trial, const AuditProgress& progress) {
  using privacy::InversionAttack;
  constexpr privacy::AuditKind kKind = privacy::AuditKind::inversion;
  std::vector<privacy::AuditFinding> findings;
  if (const std::string why = ExplainNoFinalNetwork(trial); !why.empty()) {
    for (const InversionAttack attack : trial.order.attacks) {
      findings.push_back(MakeSkippedFinding(kKind, trial, why));
      findings.back().attack = privacy::GetInversionAttackName(attack);
    }
    return findings;
  }
  RETORT_ASSIGN_OR_RETURN(const InversionJudge judge, TrainInversionJudge(trial, progress));
  for (const InversionAttack attack : trial.order.attacks) {
    RETORT_ASSIGN_OR_RETURN(privacy::AuditFinding finding,
                            attack == InversionAttack::fredrikson
                                ? AuditFredrikson(trial, judge, progress)
                                : AuditGenerativeInversion(trial, attack, judge, progress));
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace retort::worker::audit
