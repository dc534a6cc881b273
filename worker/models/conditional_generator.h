// The generator of DP-MERF (Harder et al. 2021): images of a class that it is told.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "experiments/spec/status.h"
#include "worker/gang/collective.h"
#include "worker/models/network.h"
#include "worker/models/parameter_arena.h"

namespace retort::worker {

struct ConditionalGeneratorSettings {
  std::int64_t code = 5;      // values of a latent
  std::int64_t hidden = 200;  // of the first linear layer
  std::int64_t width = 16;    // channels of the smallest images; half as many of the next
};

// [code, onehot(class)] -> linear `hidden`, BN, relu -> linear to width x (H/4) x (W/4), BN -> x2 bilinear -> conv 5x5
// width/2, relu -> x2 bilinear -> conv 5x5 to C -> sigmoid. BN always uses the statistics of the batch at hand, so a
// batch is a function of its latents, its classes and the parameters alone.
class ConditionalGenerator {
 public:
  // Error: usage, when height or width is no multiple of 4. width >= 2.
  [[nodiscard]] static Result<std::unique_ptr<ConditionalGenerator>> Create(
      ImageShape image, std::int64_t classes, const ConditionalGeneratorSettings& settings, const RngStream& stream,
      at::Device device = at::kCPU);
  // latents f32 [rows, code], labels i64 [rows] -> pixels f32 [rows, C, H, W] in (0, 1). With a gang of several
  // members the rows are this member's: see gang_batch_norm.h for what is thrown.
  [[nodiscard]] at::Tensor Forward(const at::Tensor& latents, const at::Tensor& labels,
                                   Collective* gang = nullptr) const;
  [[nodiscard]] std::int64_t code() const { return settings_.code; }
  [[nodiscard]] ParameterArena& parameters() { return *parameters_; }
  [[nodiscard]] const ParameterArena& parameters() const { return *parameters_; }

 private:
  ConditionalGenerator(ImageShape image, std::int64_t classes, const ConditionalGeneratorSettings& settings,
                       const RngStream& stream, at::Device device);
  ImageShape image_;
  std::int64_t classes_;
  ConditionalGeneratorSettings settings_;
  std::unique_ptr<ParameterArena> parameters_;
};

}  // namespace retort::worker
