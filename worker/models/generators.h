// The generators of data-free distillation (DAFL's and Fast-Datafree's) and of DP-MERF, and those that a sweep file
// describes in their place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/data_spec.h"
#include "worker/gang/collective.h"
#include "worker/models/arenas.h"
#include "worker/models/network.h"

namespace retort::worker {

// Which network makes the images: DAFL's, or the one that Fast-Datafree and DENSE share.
enum class GeneratorNetwork : std::uint8_t { dafl, fast };

struct GeneratorSettings {
  GeneratorNetwork network = GeneratorNetwork::dafl;
  std::int64_t latent = 100;
  std::int64_t width = 32;
  // fast: what its pixels, between 0 and 1, are normalised by, one value a channel; empty: they stay as they are.
  PixelScale scale = {{}, {}};
  // Above 0: weights start normal with this deviation (those of batch norms around 1) and biases at 0, as DENSE draws
  // them. 0: uniform by fan-in, batch norms at 1 and 0.
  double deviation = 0;
  // Of a generator that a sweep file describes, in place of `network` and `width` (GeneratorValues::layers); null:
  // none.
  std::shared_ptr<const std::string> layers = nullptr;
};

// Makes images from latents. The zoo's of data-free distillation: DAFL's for small images (Chen et al. 2019), and for
// large ones the deep one of Fast-Datafree (Fang et al. 2022). Small, below 128 pixels a side: latents -> linear to w x
// (H/4) x (W/4) -> BN -> x2 -> conv w, BN, leaky 0.2 -> x2 -> conv w/2, BN, leaky 0.2
// -> conv to C -> tanh -> BN without affine.
// Large: latents -> linear to w x (H/32) x (W/32) -> BN -> five times x2, conv, BN, leaky 0.2, of widths w, w,
// w/2, w/2, w/2 -> conv to C -> tanh -> BN without affine.
// `fast`, the one of Fast-Datafree and of DENSE (Zhang et al. 2022): the same, but for convolutions without a bias
// before a batch norm, batch norms with the usual epsilon, and an end in sigmoid and the data's normalisation. w is
// twice what both call ngf. BN always uses the statistics of the batch at hand, so the images are normalised like the
// teacher's training data, and a batch is a function of its latents and the parameters alone.
// A described one is described_generator.h's.
class Generator {
 public:
  virtual ~Generator() = default;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;
  // Error: usage, when height or width is no multiple of 4, or for large images of 32. width >= 2. Of layers: damage
  // for no such text; usage, naming the layer and both shapes, where they do not make such images of such latents.
  [[nodiscard]] static Result<std::unique_ptr<Generator>> Create(ImageShape image, const GeneratorSettings& settings,
                                                                 const RngStream& stream, at::Device device = at::kCPU);
  // DAFL's.
  [[nodiscard]] static Result<std::unique_ptr<Generator>> Create(ImageShape image, std::int64_t latent,
                                                                 std::int64_t width, const RngStream& stream,
                                                                 at::Device device = at::kCPU);
  // latents f32 [rows, latent] -> images f32 [rows, C, H, W], channels last. With a gang of several members,
  // the rows are this member's and BN uses the statistics of all members' rows: see gang_batch_norm.h for
  // what is thrown.
  [[nodiscard]] virtual at::Tensor Forward(const at::Tensor& latents, Collective* gang = nullptr) const = 0;
  [[nodiscard]] ParameterArena& parameters() { return *parameters_; }
  [[nodiscard]] const ParameterArena& parameters() const { return *parameters_; }

 protected:
  explicit Generator(std::unique_ptr<ParameterArena> parameters) : parameters_(std::move(parameters)) {}

 private:
  std::unique_ptr<ParameterArena> parameters_;
};

// Pixels between 0 and 1 as the images of a data set, or as they are.
class PixelNormalisation {
 public:
  // Of `scale` without values: pixels stay as they are.
  PixelNormalisation(const PixelScale& scale, at::Device device);
  // f32 [rows, C, H, W] each
  [[nodiscard]] at::Tensor Apply(const at::Tensor& pixels) const;

 private:
  at::Tensor mean_, std_;  // f32 [1, C, 1, 1]; undefined where pixels stay as they are
};

// Lets weights start normal with that deviation, those of batch norms around 1, and biases at 0.
void DrawNormal(std::vector<ParameterShape>& shapes, double deviation);

// The generator of DP-MERF (Harder et al. 2021).
struct ConditionalGeneratorSettings {
  std::int64_t code = 5;                                // values of a latent
  std::int64_t hidden = 200;                            // of the first linear layer
  std::int64_t width = 16;                              // channels of the smallest images; half as many of the next
  std::shared_ptr<const std::string> layers = nullptr;  // as those of GeneratorSettings
};

// Makes images of a class that it is given. The zoo's: [code, onehot(class)] -> linear `hidden`, BN, relu -> linear to
// width x (H/4) x (W/4), BN -> x2 bilinear -> conv 5x5 width/2, relu -> x2 bilinear -> conv 5x5 to C -> sigmoid. BN
// always uses the statistics of the batch at hand, so a batch is a function of its latents, its classes and the
// parameters alone.
class ConditionalGenerator {
 public:
  virtual ~ConditionalGenerator() = default;
  ConditionalGenerator(const ConditionalGenerator&) = delete;
  ConditionalGenerator& operator=(const ConditionalGenerator&) = delete;
  // Error: usage, when height or width is no multiple of 4. width >= 2. Of layers as Generator::Create, and usage where
  // they end in a batch norm.
  [[nodiscard]] static Result<std::unique_ptr<ConditionalGenerator>> Create(
      ImageShape image, std::int64_t classes, const ConditionalGeneratorSettings& settings, const RngStream& stream,
      at::Device device = at::kCPU);
  // latents f32 [rows, code], labels i64 [rows] -> pixels f32 [rows, C, H, W] in (0, 1). With a gang of several
  // members the rows are this member's: see gang_batch_norm.h for what is thrown.
  [[nodiscard]] virtual at::Tensor Forward(const at::Tensor& latents, const at::Tensor& labels,
                                           Collective* gang = nullptr) const = 0;
  [[nodiscard]] std::int64_t code() const { return code_; }
  [[nodiscard]] ParameterArena& parameters() { return *parameters_; }
  [[nodiscard]] const ParameterArena& parameters() const { return *parameters_; }

 protected:
  ConditionalGenerator(std::int64_t code, std::unique_ptr<ParameterArena> parameters)
      : code_(code), parameters_(std::move(parameters)) {}

 private:
  std::int64_t code_;
  std::unique_ptr<ParameterArena> parameters_;
};

}  // namespace retort::worker
