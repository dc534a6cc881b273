// Generative model inversion: images of each class of a network, sought among those that a GAN makes which the
// attacker trained on public images.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "experiments/base/status.h"
#include "experiments/privacy/audit_report.h"
#include "worker/audit/attack_gan.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"
#include "worker/audit/inversion_judge.h"
#include "worker/data/dataset.h"
#include "worker/models/network.h"

namespace retort::worker::audit {

struct GenerativeSettings {
  GanSettings gan;
  std::int64_t latent_steps = 0;  // of the search in latent space
  std::int64_t restarts = 5;      // searches for each class
  std::uint64_t seed = 0;
};

// What the attack ended with: images f32 [restarts * classes, C, H, W], and the class that each was sought for, i64:
// all classes by the first search, then all by the second, and so on.
struct RecoveredImages {
  at::Tensor pictures, labels;
};

// Called with the steps done, and of how many.
using AttackProgress = std::function<void(std::int64_t done, std::int64_t of)>;

// GMI (Zhang et al. 2020) without auxiliary knowledge. The GAN knows nothing of the target. Minimises
// 100 CE(target(G(z)), class) - D(G(z)) over z by gradient steps with Nesterov's momentum (rate 0.01, momentum 0.9),
// z clamped to [-1, 1]: as the authors' code for MNIST. `gan` has no classes.
[[nodiscard]] RecoveredImages InvertByGmi(const Network& target, const AttackGan& gan,
                                          const GenerativeSettings& settings, const AttackProgress& step);

// The public images that a target is surest of, for each class as many as there are images for each, with that
// class as label (Yuan et al. 2023, "top-n selection"): an image may stand there for several classes, or for none.
[[nodiscard]] Examples SelectPseudoLabelled(const Network& target, const Examples& pictures);
// max over other classes of their logits, less the logit of `labels`: f32 [rows], part of the graph.
[[nodiscard]] at::Tensor ComputeMargin(const at::Tensor& logits, const at::Tensor& labels);

// PLG-MI (Yuan et al. 2023): the GAN is told pseudo-labels, its generator also minimises 0.2 times the mean margin of
// what it makes, and z of each class is sought by Adam (rate 0.1) on the margin alone. Differs from the authors' code
// in that the critic is Wasserstein's with a gradient penalty, in place of hinge loss with spectral norms, and that no
// image is augmented on the way to the target. settings.gan.networks.classes is set here.
[[nodiscard]] AttackGan TrainPseudoLabelledGan(const Network& target, const Examples& pictures, const PixelScale& scale,
                                               const GenerativeSettings& settings, const AttackProgress& step);
[[nodiscard]] RecoveredImages InvertByMargin(const Network& target, const AttackGan& gan,
                                             const GenerativeSettings& settings, const AttackProgress& step);

// One of these attacks on the trial's final network, scored by the judge beside the same attack on an untrained network
// of the same kind, and beside as many test images. The attacker's images are the public split; without one, the
// first half of the test split, and the other half is what stands beside. Figures and no bound. The image of each
// class that the target is surest of goes to audit-gmi.pgm or audit-plg-mi.pgm (.ppm) beside the trial's attempts.
// REQUIRES: ExplainNoFinalNetwork is empty, `attack` is not fredrikson. Error: that of writing; damage of the trial's
// file.
[[nodiscard]] Result<privacy::AuditFinding> AuditGenerativeInversion(const AuditedTrial& trial,
                                                                     privacy::InversionAttack attack,
                                                                     const InversionJudge& judge,
                                                                     const AuditProgress& progress);

}  // namespace retort::worker::audit
