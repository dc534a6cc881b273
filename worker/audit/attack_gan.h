// The attacker's GAN: what images of the kind look like, learnt from images that are public.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "worker/audit/attack_networks.h"
#include "worker/data/dataset.h"

namespace retort::worker::audit {

struct AttackGan {
  std::unique_ptr<AttackGenerator> generator;
  std::unique_ptr<AttackCritic> critic;
};

struct GanSettings {
  AttackNetworkSettings networks;
  std::int64_t steps = 0;         // of the generator, at least 1
  std::int64_t critic_steps = 5;  // before each of them
  std::int64_t batch = 64;
  double learning_rate = 5e-4;  // of Adam, whose first moment decays by 0.5
  double penalty = 10;          // weight of the gradient penalty
  std::uint64_t seed = 0;
};

// What the generator's loss has besides the critic's: a scalar, part of the graph, of images that were made for these
// labels (i64 [rows]).
using ImageLoss = std::function<at::Tensor(const at::Tensor& images, const at::Tensor& labels)>;

// Trains a GAN with a Wasserstein critic and gradient penalty (Gulrajani et al. 2017) on `pictures`, at least one,
// whose labels both networks are told where settings.networks.classes > 0. `beside` may be empty. `step` is called with
// the generator's steps done. A function of its arguments.
[[nodiscard]] AttackGan TrainAttackGan(const Examples& images, const PixelScale& scale, const GanSettings& settings,
                                       const ImageLoss& beside, const std::function<void(std::int64_t done)>& step);

}  // namespace retort::worker::audit
