#include "worker/audit/generative_inversion.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "worker/audit/inversion.h"
#include "worker/models/model_registry.h"
#include "worker/optim/optimisers.h"
#include "worker/tensors/autograd.h"
#include "worker/training/evaluation.h"

namespace retort::worker::audit {
namespace {

using privacy::AuditFinding;
using privacy::InversionAttack;

// GMI's, of the authors' code for MNIST.
constexpr double kGmiRate = 0.01, kGmiMomentum = 0.9, kIdentityWeight = 100, kLatentBound = 1;
// PLG-MI's.
constexpr double kMarginRate = 0.1, kMarginWeight = 0.2;
constexpr std::int64_t kGmiSteps = 1500, kMarginSteps = 600, kGanSteps = 1000;
constexpr std::int64_t kManyClasses = 100;  // are sought once each

// The loss of each image, f32 [rows], part of the graph.
using RowLoss = std::function<at::Tensor(const at::Tensor& pictures, const at::Tensor& labels)>;

// Rows of a pass with a graph.
std::int64_t MaxRowsWithGraph(const Network& target) {
  return std::max<std::int64_t>(1, ComputeMaxRowsPerPass(target.input()) / 2);
}

// Gradients of each image's loss by its own latent; zero where they are not finite.
at::Tensor DifferentiateByLatents(const AttackGenerator& generator, const at::Tensor& latents, const at::Tensor& labels,
                                  const at::Tensor& told, const RowLoss& loss, std::int64_t rows_at_once) {
  const at::AutoGradMode graph(true);
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < latents.size(0); first += rows_at_once) {
    const std::int64_t rows = std::min(rows_at_once, latents.size(0) - first);
    at::Tensor leaf = latents.narrow(0, first, rows).detach().requires_grad_();
    const at::Tensor pictures = generator.Forward(leaf, told.narrow(0, first, rows));
    const at::Tensor value = loss(pictures, labels.narrow(0, first, rows)).sum();
    parts.push_back(at::nan_to_num(ComputeVectorJacobian({value}, {at::ones_like(value)}, {leaf}).at(0), 0, 0, 0));
  }
  return at::cat(parts);
}

// Nesterov's momentum, as the authors write it; the loss is the mean over the images sought together.
class GmiDescent {
 public:
  explicit GmiDescent(const at::Tensor& latents) : velocity_(at::zeros_like(latents)) {}
  void Step(at::Tensor& latents, const at::Tensor& gradient) {
    const at::Tensor next = kGmiMomentum * velocity_ - kGmiRate * gradient;
    latents = (latents - kGmiMomentum * velocity_ + (1 + kGmiMomentum) * next).clamp(-kLatentBound, kLatentBound);
    velocity_ = next;
  }

 private:
  at::Tensor velocity_;
};

class AdamDescent {
 public:
  explicit AdamDescent(const at::Tensor& latents) : adam_(latents.numel(), {}, latents.device()) {}
  void Step(at::Tensor& latents, const at::Tensor& gradient) {
    at::Tensor flat = latents.view({-1});
    adam_.Step(flat, gradient.contiguous().view({-1}), kMarginRate);
  }

 private:
  Adam adam_;
};

// One search for every class after the other: `restarts` of them.
template <typename Descent>
RecoveredImages Search(const Network& target, const AttackGan& gan, const GenerativeSettings& settings, bool told,
                       const RowLoss& loss, const AttackProgress& step) {
  const at::Device device = target.parameters().flat().device();
  const at::Tensor labels = at::arange(target.classes(), at::device(device).dtype(at::kLong));
  const at::Tensor to_generator = told ? labels : at::zeros_like(labels);
  const std::int64_t steps = settings.restarts * settings.latent_steps, rows = MaxRowsWithGraph(target);
  std::vector<at::Tensor> pictures;
  for (std::int64_t restart = 0; restart < settings.restarts; ++restart) {
    const RngStream stream(settings.seed, Purpose::latents, static_cast<std::uint64_t>(restart));
    at::Tensor latents = DrawNormalRows(labels.size(0), gan.generator->latent(), stream).to(device);
    Descent descent(latents);
    for (std::int64_t n = 0; n < settings.latent_steps; ++n) {
      const at::Tensor gradient = DifferentiateByLatents(*gan.generator, latents, labels, to_generator, loss, rows);
      const at::NoGradGuard no_grad;
      descent.Step(latents, gradient);
      step(restart * settings.latent_steps + n + 1, steps);
    }
    const at::NoGradGuard no_grad;
    pictures.push_back(gan.generator->Forward(latents, to_generator));
  }
  return {at::cat(pictures), labels.repeat({settings.restarts})};
}

}  // namespace

RecoveredImages InvertByGmi(const Network& target, const AttackGan& gan, const GenerativeSettings& settings,
                            const AttackProgress& step) {
  const auto together = static_cast<double>(target.classes());
  const RowLoss loss = [&](const at::Tensor& pictures, const at::Tensor& labels) {
    const at::Tensor identity =
        -target.Forward(pictures).logits.log_softmax(1).gather(1, labels.unsqueeze(1)).squeeze(1);
    return (kIdentityWeight * identity - gan.critic->Forward(pictures, labels)) / together;
  };
  return Search<GmiDescent>(target, gan, settings, false, loss, step);
}

Examples SelectPseudoLabelled(const Network& target, const Examples& pictures) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = ComputeMaxRowsPerPass(target.input()), classes = target.classes();
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < pictures.size(); first += rows)
    parts.push_back(target.Forward(pictures.Range(first, std::min(rows, pictures.size() - first))).logits);
  const std::int64_t each = std::max<std::int64_t>(1, pictures.size() / classes);
  const at::Tensor sure = at::cat(parts).softmax(1);
  const at::Tensor surest = at::argsort(sure, /*stable=*/true, /*dim=*/0, /*descending=*/true).narrow(0, 0, each);
  const at::Tensor labels = at::arange(classes, pictures.labels.options()).repeat_interleave(each);
  return pictures.Rows(surest.t().contiguous().view({-1})).Relabelled(labels);  // class by class
}

at::Tensor ComputeMargin(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor label = labels.unsqueeze(1);
  const at::Tensor others = logits.scatter(1, label, -std::numeric_limits<double>::infinity());
  return std::get<0>(others.max(1)) - logits.gather(1, label).squeeze(1);
}

AttackGan TrainPseudoLabelledGan(const Network& target, const Examples& pictures, const PixelScale& scale,
                                 const GenerativeSettings& settings, const AttackProgress& step) {
  GanSettings gan = settings.gan;
  gan.networks.classes = target.classes();
  const ImageLoss margin = [&target](const at::Tensor& made, const at::Tensor& labels) {
    return kMarginWeight * ComputeMargin(target.Forward(made).logits, labels).mean();
  };
  return TrainAttackGan(SelectPseudoLabelled(target, pictures), scale, gan, margin,
                        [&](std::int64_t done) { step(done, gan.steps); });
}

RecoveredImages InvertByMargin(const Network& target, const AttackGan& gan, const GenerativeSettings& settings,
                               const AttackProgress& step) {
  const RowLoss loss = [&target](const at::Tensor& pictures, const at::Tensor& labels) {
    return ComputeMargin(target.Forward(pictures).logits, labels);
  };
  return Search<AdamDescent>(target, gan, settings, true, loss, step);
}

namespace {

// What the attacker has, and what is left of the test images.
struct AttackerImages {
  Examples own, beside;
  std::string words;
};

AttackerImages FindAttackerImages(const Dataset& data) {
  if (data.public_split.size() > 0)
    return {data.public_split, data.test, std::to_string(data.public_split.size()) + " public pictures"};
  const std::int64_t own = data.test.size() / 2;
  const auto rows = [&data](std::int64_t first, std::int64_t last) {
    return data.test.Rows(at::arange(first, last, data.test.labels.options()));
  };
  return {rows(0, own), rows(own, data.test.size()),
          std::to_string(own) + " test pictures, since the data set has no public split"};
}

GenerativeSettings ChooseSettings(const AuditedTrial& trial, InversionAttack attack) {
  GenerativeSettings settings;
  const std::int64_t steps = attack == InversionAttack::gmi ? kGmiSteps : kMarginSteps;
  settings.latent_steps = trial.order.latent_steps > 0 ? trial.order.latent_steps : steps;
  if (trial.inputs.data.classes > kManyClasses) settings.restarts = 1;
  settings.gan.steps = trial.order.gan_steps > 0 ? trial.order.gan_steps : kGanSteps;
  settings.gan.batch = std::min(settings.gan.batch, std::max<std::int64_t>(2, trial.inputs.data.test.size()));
  // Apart from every stream of the trial itself.
  settings.seed = RngStream(trial.inputs.spec.seed, Purpose::mixes, ~std::uint64_t{0}).Word(0);
  settings.gan.seed = settings.seed + 1;
  return settings;
}

// The attacks on the trial's network and on an untrained one.
struct Attacked {
  RecoveredImages recovered, control;
};

class Attack {
 public:
  Attack(InversionAttack attack, const AuditedTrial& trial, const Examples& pictures, const AuditProgress& progress)
      : attack_(attack),
        settings_(ChooseSettings(trial, attack)),
        scale_(trial.inputs.data.scale),
        pictures_(pictures),
        progress_(progress),
        name_("inversion/" + std::string(privacy::GetInversionAttackName(attack))) {}

  Attacked Run(const Network& target, const Network& untrained) const {
    if (attack_ == InversionAttack::plg_mi) return {RunByMargin(target), RunByMargin(untrained)};
    const AttackGan gan = TrainAttackGan(pictures_, scale_, settings_.gan, {}, [this](std::int64_t done) {
      progress_(name_ + ": its GAN", done, settings_.gan.steps);
    });
    return {InvertByGmi(target, gan, settings_, Say(": latents")),
            InvertByGmi(untrained, gan, settings_, Say(": latents of an untrained network"))};
  }
  [[nodiscard]] const GenerativeSettings& settings() const { return settings_; }

 private:
  [[nodiscard]] AttackProgress Say(const std::string& what) const {
    return [this, phase = name_ + what](std::int64_t done, std::int64_t of) { progress_(phase, done, of); };
  }
  [[nodiscard]] RecoveredImages RunByMargin(const Network& target) const {
    const AttackGan gan = TrainPseudoLabelledGan(target, pictures_, scale_, settings_, Say(": its GAN"));
    return InvertByMargin(target, gan, settings_, Say(": latents"));
  }

  InversionAttack attack_;
  GenerativeSettings settings_;
  const PixelScale& scale_;
  const Examples& pictures_;
  const AuditProgress& progress_;
  std::string name_;
};

// Of each class the image that the network is surest of, and how sure it is on the whole.
struct SurestImages {
  RecoveredImages best;
  double confidence = 0;
};

SurestImages FindSurest(const Network& network, const RecoveredImages& recovered, std::int64_t restarts) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = ComputeMaxRowsPerPass(network.input()), all = recovered.pictures.size(0);
  std::vector<at::Tensor> logits;
  for (std::int64_t first = 0; first < all; first += rows)
    logits.push_back(network.Forward(recovered.pictures.narrow(0, first, std::min(rows, all - first))).logits);
  const at::Tensor sure = at::cat(logits).softmax(1).gather(1, recovered.labels.unsqueeze(1)).squeeze(1);
  const std::int64_t classes = sure.size(0) / restarts;
  const at::Tensor place = at::nan_to_num(sure, 0).view({restarts, classes}).argmax(0);  // [classes]
  const at::Tensor labels = recovered.labels.narrow(0, 0, classes);
  return {{recovered.pictures.index_select(0, place * classes + labels), labels}, sure.mean().item<double>()};
}

}  // namespace

Result<AuditFinding> AuditGenerativeInversion(const AuditedTrial& trial, InversionAttack attack,
                                              const InversionJudge& judge, const AuditProgress& progress) {
  const Dataset& data = trial.inputs.data;
  AuditFinding finding = MakeSkippedFinding(privacy::AuditKind::inversion, trial, "");
  finding.attack = privacy::GetInversionAttackName(attack);
  const AttackerImages attacker = FindAttackerImages(data);
  if (attacker.own.size() < 2 || attacker.beside.size() < 2) {
    finding.note = "the attacker has no pictures: the data set has neither public nor enough test examples";
    return finding;
  }
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network, MakeFinalNetwork(trial));
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> untrained,
                          MakeNetwork(trial.inputs.spec, data.shape, data.classes,
                                      RngStream(trial.inputs.spec.seed, Purpose::parameters), data.device));
  const Attack run(attack, trial, attacker.own, progress);
  const auto [recovered, control] = run.Run(*network, *untrained);
  const GenerativeSettings& settings = run.settings();
  const SurestImages surest = FindSurest(*network, recovered, settings.restarts);
  RETORT_RETURN_IF_ERROR(WriteInvertedImages(trial, finding.attack, surest.best.pictures));
  const InversionScores scores = ScoreLabelledImages(judge, recovered.pictures, recovered.labels);
  const InversionScores blind = ScoreLabelledImages(judge, control.pictures, control.labels);
  const Examples beside = attacker.beside.First(std::min(attacker.beside.size(), recovered.pictures.size(0)));
  const InversionScores real = ScoreLabelledImages(judge, beside.Range(0, beside.size()), beside.labels);
  finding.ran = true;
  finding.subject = std::to_string(settings.restarts) + " pictures a class by " +
                    std::to_string(settings.latent_steps) + " steps in the latent space of a GAN (" +
                    std::to_string(settings.gan.steps) + " steps on " + attacker.words + "), judged by " + judge.name +
                    " trained on the private examples";
  finding.figures = {
      {"attack_accuracy", scores.accuracy},
      {"attack_top5", scores.top5},
      {"attack_accuracy_surest", ScoreLabelledImages(judge, surest.best.pictures, surest.best.labels).accuracy},
      {"attack_accuracy_untrained", blind.accuracy},
      {"accuracy_test_pictures", Evaluate(*judge.network, attacker.beside).accuracy},
      {"frechet_distance", scores.frechet},
      {"frechet_distance_untrained", blind.frechet},
      {"frechet_distance_test_pictures", real.frechet},
      {"knn_distance", scores.distance},
      {"knn_distance_untrained", blind.distance},
      {"knn_distance_test_pictures", real.distance},
      {"confidence", surest.confidence},
      {"inception_score", scores.inception}};
  finding.note = "the pictures are in " + FormatInvertedImagesName(finding.attack, data.shape) +
                 " beside the attempts, above the means of the private examples";
  return finding;
}

}  // namespace retort::worker::audit
