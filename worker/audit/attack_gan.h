// The attacker's GAN: what images of the kind look like, learnt from images that are public.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "experiments/methods/data_spec.h"
#include "worker/data/dataset.h"
#include "worker/models/arenas.h"
#include "worker/models/network.h"

namespace retort::worker::audit {

struct AttackNetworkSettings {
  std::int64_t latent = 100;  // values of a latent
  std::int64_t width = 32;    // channels next to the image; they double with each halving of its sides, up to eightfold
  std::int64_t classes = 0;   // that both networks are told; 0: none
};

// Latents -> linear to the smallest sides, at most 8 pixels -> per doubling: nearest x2, conv 3x3 -> conv 3x3 to the
// image's channels -> tanh. Group norms and rectifiers between; with classes, a class has its own scales and offsets
// of the norms. DCGAN's shape (Radford et al. 2016), but for the norms: of one image each, so that an image is a
// function of its own latent, its class and the parameters alone, in training as in an attack.
class AttackGenerator {
 public:
  // `scale`: images are normalised as the data are, between black and white.
  AttackGenerator(ImageShape image, const PixelScale& scale, const AttackNetworkSettings& settings,
                  const RngStream& stream, at::Device device);
  // latents f32 [rows, latent], labels i64 [rows] (without classes: zeros) -> images f32 [rows, C, H, W].
  [[nodiscard]] at::Tensor Forward(const at::Tensor& latents, const at::Tensor& labels) const;
  [[nodiscard]] std::int64_t latent() const { return settings_.latent; }
  [[nodiscard]] ParameterArena& parameters() { return *parameters_; }

 private:
  [[nodiscard]] at::Tensor Normed(const at::Tensor& x, const at::Tensor& labels, std::size_t place) const;

  AttackNetworkSettings settings_;
  std::vector<ImageShape> stages_;  // of what each stage gives, the smallest first
  at::Tensor middle_, reach_;       // [1, C, 1, 1]: of the values between black and white
  std::unique_ptr<ParameterArena> parameters_;
};

// Per halving: conv 5x5 of stride 2, leaky 0.2 -> linear to one value, larger for images that look real. With classes
// the value has a part that is linear in the features with weights of the class (Miyato and Koyama 2018). No norms,
// which a gradient penalty does not allow.
class AttackCritic {
 public:
  AttackCritic(ImageShape image, const AttackNetworkSettings& settings, const RngStream& stream, at::Device device);
  // images f32 [rows, C, H, W], labels i64 [rows] (without classes: unused) -> f32 [rows].
  [[nodiscard]] at::Tensor Forward(const at::Tensor& images, const at::Tensor& labels) const;
  [[nodiscard]] ParameterArena& parameters() { return *parameters_; }

 private:
  std::int64_t classes_;
  std::size_t halvings_;
  std::unique_ptr<ParameterArena> parameters_;
};

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

// Trains a GAN with a Wasserstein critic and gradient penalty (Gulrajani et al. 2017) on `images`, at least one,
// whose labels both networks are told where settings.networks.classes > 0. `beside` may be empty. `step` is called with
// the generator's steps done. A function of its arguments.
[[nodiscard]] AttackGan TrainAttackGan(const Examples& images, const PixelScale& scale, const GanSettings& settings,
                                       const ImageLoss& beside, const std::function<void(std::int64_t done)>& step);

}  // namespace retort::worker::audit
