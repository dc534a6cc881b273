#include "experiments/methods/presets.h"

#include <array>

#include "experiments/base/status.h"
#include "experiments/methods/networks.h"

namespace retort {
namespace {

using namespace kinds;

template <typename E>
std::int64_t Index(E choice) {
  return static_cast<std::int64_t>(choice);
}

// The readings that take a text by the letter.
constexpr ReadingMask kLiteral = readings::kStated | readings::kPrinted;

constexpr std::string_view kGradientsOfDpsd = "dpsd-data dpsd-t dpsd-kd",
                           kOfDpsd = "dpsd-data dpsd-t dpsd-kd dpsd-label",
                           kOfDpsdAndClients = "dpsd-data dpsd-t dpsd-kd dpsd-label feddpsd",
                           kWithStatedRate =
                               "dpdfd dpdfd-ensemble dpdfd-direct dpsd-data dpsd-t dpsd-kd dpsd-label feddpsd";

}  // namespace

std::span<const PresetRow> ListPresetRows() {
  static const std::array kPresets = {
      // one rate throughout, where the other kinds decay as TrialSpec's defaults say
      PresetRow{kEnsemble | kDpsgd, "lr_hold", 1.0},
      PresetRow{kEnsemble | kDpsgd, "lr_end", 1.0},
      PresetRow{kPlain | kEnsemble, "batch", std::int64_t{64}},
      PresetRow{kPlain, "shift", std::int64_t{0}},
      PresetRow{kEnsemble, "network", std::string("logistic")},
      // a shard has tens of examples: many passes at a larger rate
      PresetRow{kEnsemble, "epochs", std::int64_t{40}},
      PresetRow{kEnsemble, "lr", 3e-3},
      PresetRow{kDpsgd, "network", std::string("tanh-cnn")},
      PresetRow{kDpsgd, "steps", std::int64_t{80}},
      PresetRow{kDpsgd, "batch", std::int64_t{1024}},
      PresetRow{kDpsgd, "lr", 4.0},
      PresetRow{kDpsgd, "momentum", 0.9},
      PresetRow{kDpsgd, "norm_bound", 0.1},
      PresetRow{kDpsgd, "shift", std::int64_t{0}},
      // noisy full-batch gradient descent on features that were not fitted to private examples
      PresetRow{kDpsgd, "network", std::string("hog-linear"), "dp-gd"},
      PresetRow{kDpsgd, "batch", std::int64_t{0}, "dp-gd"},
      PresetRow{kDpsgd, "steps", std::int64_t{100}, "dp-gd"},
      PresetRow{kDpsgd, "lr", 16.0, "dp-gd"},
      PresetRow{kDpsgd, "norm_bound", 0.15, "dp-gd"},
      PresetRow{kGradient, "sigma", 100.0},
      PresetRow{kGradient, "norm_bound", 1e-3},
      PresetRow{kVotes, "queries", std::int64_t{300}},
      PresetRow{kVotes | kLabelled | kSpectral, "label_steps", std::int64_t{250}},
      PresetRow{kVotes | kLabelled | kSpectral, "shift", std::int64_t{2}},
      PresetRow{kVotes | kLabelled | kSpectral, "smoothing", 0.05},
      PresetRow{kSpectral, "neighbours", std::int64_t{10}},
      PresetRow{kSleep, "steps", std::int64_t{1}},

      // With the papers' 8 a normalised gradient is about the other classes, and hardly about the teacher's
      PresetRow{kGradient, "dkd_beta", 1.0, {}, Reading::working},
      // A class that the student never names is not drawn either, and is lost for both: with 5 that happens to one in
      // some runs
      PresetRow{kGradient, "information_entropy", 20.0, {}, Reading::working},
      PresetRow{kResponse, "information_entropy", 20.0, "dp-dfd", Reading::working},
      PresetRow{kResponse, "information_entropy", 20.0, "dpsd-label", Reading::working},
      PresetRow{kResponse, "information_entropy", 20.0, "feddpsd", Reading::working},

      // section 4.4: ten teachers, noise on the sum of their gradients
      PresetRow{kGradient, "sigma", 4.0, "dpdfd-ensemble"},
      PresetRow{kGradient, "sigma", 2.0, "feddpsd"},
      // Algorithm 2 adds the noise once, at the server
      PresetRow{kGradient, "trust", Index(Trust::trusted), "feddpsd"},
      // DPSD: top-k of the classes. One batch of latents that persists and is trained (Algorithm 1) shows the student
      // the same images again and again: the working reading draws them afresh
      PresetRow{kGradient, "top_k", std::int64_t{3}, "dpsd-data"},
      PresetRow{kGradient, "top_k", std::int64_t{3}, "dpsd-t"},
      PresetRow{kGradient, "top_k", std::int64_t{3}, "dpsd-kd"},
      PresetRow{kResponse, "top_k", std::int64_t{3}, "dpsd-label"},
      PresetRow{kResponse, "top_k", std::int64_t{3}, "feddpsd"},
      PresetRow{kGradient, "latent_lr", 0.01, "dpsd-data", Reading::row_averaged},
      PresetRow{kGradient, "latent_lr", 0.01, "dpsd-t", Reading::row_averaged},
      PresetRow{kGradient, "latent_lr", 0.01, "dpsd-kd", Reading::row_averaged},
      PresetRow{kGradient, "discriminator", Index(Discriminator::teacher), "dpsd-t"},
      PresetRow{kGradient, "loss", Index(DistillationLoss::kd), "dpsd-kd"},
      PresetRow{kResponse, "epsilon0", 10.0},
      PresetRow{kResponse, "response_loss", Index(ResponseLoss::likelihood), "dpsd-label", Reading::working},
      PresetRow{kResponse, "response_loss", Index(ResponseLoss::likelihood), "feddpsd", Reading::working},
      // an untrained student finds nearly the same classes likely for every image
      PresetRow{kResponse, "threshold", 1e-3, "dp-dfd", Reading::working},
      PresetRow{kResponse, "threshold", 1e-3, "dpsd-label", Reading::working},
      PresetRow{kResponse, "threshold", 1e-3, "feddpsd", Reading::working},
      PresetRow{kVotes, "vote_label", Index(VoteLabel::argmax), "dpsd-label"},
      PresetRow{kVotes, "top_k", std::int64_t{3}, "dpsd-label"},
      // DP-DFD: a generator trained against the fixed teacher (alpha 5, beta 10), stages
      PresetRow{kResponse, "discriminator", Index(Discriminator::teacher), "dp-dfd"},
      PresetRow{kResponse, "pretrain_steps", std::int64_t{300}, "dp-dfd"},
      PresetRow{kResponse, "bn_statistics", 10.0, "dp-dfd"},
      PresetRow{kResponse, "activation_norm", 0.0, "dp-dfd"},
      // What the texts state, each with its place in stated_settings.cc; what they leave open is as in the other
      // readings. The printed equations beside it: the norm is the batch's, of the gradient of all its rows (DPDFD
      // Eq. 4, DPSD Eq. 3, FedDPSD Algorithm 2), y = p - gamma g~ is not projected, and a stage of DP-DFD teaches its
      // own rows alone (Eq. 3)
      PresetRow{kGradient, "normalization", Index(Normalization::frobenius), {}, Reading::printed},
      PresetRow{kGradient, "project", false, {}, Reading::printed},
      // p names the student's predictions (DPSD, above Eq. 2); DPDFD's phi_s is read alike
      PresetRow{kGradient, "gradient_of", Index(GradientOf::probabilities), {}, Reading::printed},
      PresetRow{kGradient, "loss", Index(DistillationLoss::dkd_printed), "dpsd-data dpsd-t feddpsd", Reading::printed},
      PresetRow{kGradient, "mask_by", Index(MaskBy::value), kGradientsOfDpsd, Reading::printed},
      PresetRow{kGradient, "target", Index(GradientTarget::gradient), "feddpsd", Reading::printed},
      // DPSD Eq. 4 and 5; its Algorithm 2 draws over the candidates
      PresetRow{kResponse, "response_over", Index(ResponseOver::classes), "dpsd-label", Reading::printed},
      // DPDFD Eq. 5 and DP-DFD Eq. 2; DPSD Eq. 7 and 8 with their sums
      PresetRow{kGradient, "generator_form", Index(GeneratorForm::printed), "dpdfd dpdfd-ensemble", Reading::printed},
      PresetRow{kResponse, "generator_form", Index(GeneratorForm::printed), "dp-dfd", Reading::printed},
      PresetRow{kGradient | kResponse, "generator_form", Index(GeneratorForm::printed_sums), kOfDpsdAndClients,
                Reading::printed},
      PresetRow{kResponse, "replay", std::int64_t{0}, "dp-dfd", Reading::printed},
      PresetRow{kResponse, "replay_fraction", 0.0, "dp-dfd", Reading::printed},
      PresetRow{kGradient, "information_entropy", 1.0, {}, kLiteral},
      PresetRow{kGradient, "activation_norm", 1.0, {}, kLiteral},
      PresetRow{kGradient, "student_steps", std::int64_t{1}, {}, kLiteral},
      PresetRow{kGradient, "student_batch", std::int64_t{256}, {}, kLiteral},
      PresetRow{kGradient, "replay", std::int64_t{0}, {}, kLiteral},
      PresetRow{kGradient, "replay_fraction", 0.0, {}, kLiteral},
      PresetRow{kGradient, "generator_steps", std::int64_t{1}, {}, kLiteral},
      PresetRow{kGradient, "kappa_end", 0.25, "dpdfd dpdfd-ensemble dpdfd-direct feddpsd", kLiteral},
      PresetRow{kGradient | kResponse, "lr_end", 1.0, kWithStatedRate, kLiteral},
      PresetRow{kGradient, "loss", Index(DistillationLoss::ce_hard), "dpdfd-direct", kLiteral},
      PresetRow{kGradient, "sigma", 100.0, "feddpsd", kLiteral},
      PresetRow{kGradient | kResponse, "initialisation", Index(Initialisation::xavier), kOfDpsd, kLiteral},
      PresetRow{kGradient, "gamma", 0.1, kGradientsOfDpsd, kLiteral},
      PresetRow{kGradient | kResponse, "latent_lr", 0.01, kOfDpsd, kLiteral},
      PresetRow{kGradient | kResponse, "steps", std::int64_t{200}, kOfDpsdAndClients, kLiteral},
      PresetRow{kGradient | kResponse, "lr", 0.1, kOfDpsdAndClients, kLiteral},
      PresetRow{kGradient | kResponse, "generator_lr", 0.01, kOfDpsdAndClients, kLiteral},
      PresetRow{kResponse, "information_entropy", 1.0, "dpsd-label feddpsd", kLiteral},
      PresetRow{kResponse, "activation_norm", 1.0, "dpsd-label feddpsd", kLiteral},
      PresetRow{kResponse, "student_steps", std::int64_t{1}, "dpsd-label feddpsd", kLiteral},
      PresetRow{kResponse, "student_batch", std::int64_t{256}, "dpsd-label feddpsd", kLiteral},
      PresetRow{kResponse, "replay", std::int64_t{0}, "dpsd-label feddpsd", kLiteral},
      PresetRow{kResponse, "replay_fraction", 0.0, "dpsd-label feddpsd", kLiteral},
      PresetRow{kGradient | kResponse, "latent", std::int64_t{256}, "feddpsd", kLiteral},
      PresetRow{kGradient | kResponse, "generator_width", std::int64_t{128}, "feddpsd", kLiteral},
      PresetRow{kGradient | kResponse, "generator", std::string("fast"), "feddpsd", kLiteral},
      PresetRow{kGradient, "label", Index(ImageLabel::truth), "dpdfd-direct", kLiteral},
      PresetRow{kResponse, "generator_steps", std::int64_t{1}, "dpsd-label feddpsd", kLiteral},
      PresetRow{kQuery, "warm_epochs", std::int64_t{0}, {}, Reading::stated},
      // RONA, as its authors' README sets it
      PresetRow{kQuery, "batch", std::int64_t{512}},
      PresetRow{kQuery, "student_batch", std::int64_t{128}},
      PresetRow{kQuery, "sigma", 10.0},
      PresetRow{kQuery, "norm_bound", 1.0},
      PresetRow{kQuery, "temperature", 3.0},
      PresetRow{kQuery, "network", std::string("conv-small")},
      PresetRow{kQuery, "shift", std::int64_t{0}},
      PresetRow{kVotes, "vote_label", Index(VoteLabel::argmax), "pate"},
      PresetRow{kVotes, "refit", false, "pate"},
      PresetRow{kVotes, "vote_label", Index(VoteLabel::argmax), "dp-dfd"},
      // DENSE, as its authors' README and code set it
      PresetRow{kRaw, "optimizer", Index(Optimizer::sgd)},
      PresetRow{kRaw, "lr", 0.005},
      PresetRow{kRaw, "lr_hold", 1.0},
      PresetRow{kRaw, "lr_end", 1.0},
      PresetRow{kRaw, "student_batch", std::int64_t{256}},
      PresetRow{kRaw, "generator", std::string("fast")},
      PresetRow{kRaw, "generator_width", std::int64_t{128}},
      PresetRow{kRaw, "temperature", 20.0},
      PresetRow{kRaw, "bn_statistics", 1.0},
      PresetRow{kRaw, "adversarial", 1.0},
      PresetRow{kRaw, "generator_steps", std::int64_t{30}},
      PresetRow{kRaw, "steps", std::int64_t{200}},
      PresetRow{kRaw, "latent", std::int64_t{256}},
      PresetRow{kRaw, "replay", std::int64_t{200}},
      PresetRow{kRaw, "information_entropy", 0.0},
      PresetRow{kRaw, "activation_norm", 0.0},
      PresetRow{kFederated, "epochs", std::int64_t{5}},
      PresetRow{kFederated, "batch", std::int64_t{128}},
      PresetRow{kFederated, "shift", std::int64_t{0}},
      // DP-MERF's digits
      PresetRow{kMerf, "steps", std::int64_t{3000}},
      PresetRow{kMerf, "batch", std::int64_t{100}},
      PresetRow{kMerf, "generator_lr", 0.01},
      PresetRow{kMerf, "latent", std::int64_t{5}},
      // their noise factor of 5 is over the sensitivity of replacing an example, 2
      PresetRow{kMerf, "noise_multiplier", 10.0},
      PresetRow{kMerf, "generator", std::string(kClassGenerator)},
      PresetRow{kMerf, "generator_width", std::int64_t{16}},
      PresetRow{kLabel, "epsilon0", 1.0},
      PresetRow{kLabel, "batch", std::int64_t{128}},
      PresetRow{kLabel, "shift", std::int64_t{2}},
  };
  return kPresets;
}

void ApplyPreset(TrialSpec& spec, TrialKind kind) {
  TrialSpec fresh;
  fresh.role = spec.role;
  fresh.method = spec.method;
  fresh.reading = spec.reading;
  fresh.release.branch = spec.release.branch;
  fresh.source = spec.source;
  fresh.teacher = spec.teacher;
  fresh.data = spec.data;
  fresh.seed = spec.seed;
  for (const PresetRow& row : ListPresetRows()) {
    if ((row.kinds & MakeMask(kind)) == 0) continue;
    if (!row.methods.empty() && !HoldsName(row.methods, spec.method)) continue;
    if (!row.readings.Holds(spec.reading)) continue;
    const SpecKey* key = nullptr;
    for (const SpecKey& candidate : ListSpecKeys()) {
      if (candidate.name == row.key) key = &candidate;
    }
    RETORT_CHECK(key != nullptr);
    if (key->AppliesTo(kind, fresh.source)) key->set(fresh, row.value);
  }
  spec = std::move(fresh);
}

}  // namespace retort
