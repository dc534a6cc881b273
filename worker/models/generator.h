// The generators of data-free distillation: DAFL's for small images (Chen et al. 2019), and for large ones
// the deep one of Fast-Datafree (Fang et al. 2022).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/spec/status.h"
#include "worker/gang/collective.h"
#include "worker/models/network.h"
#include "worker/models/parameter_arena.h"

namespace retort::worker {

// Small, below 128 pixels a side:
// latents -> linear to w x (H/4) x (W/4) -> BN -> x2 -> conv w, BN, leaky 0.2 -> x2 -> conv w/2, BN, leaky 0.2
// -> conv to C -> tanh -> BN without affine.
// Large: latents -> linear to w x (H/32) x (W/32) -> BN -> five times x2, conv, BN, leaky 0.2, of widths w, w,
// w/2, w/2, w/2 -> conv to C -> tanh -> BN without affine.
// BN always uses the statistics of the batch at hand, so the images are normalised like the teacher's training
// data, and a batch is a function of its latents and the parameters alone.
class Generator {
 public:
  // Error: usage, when height or width is no multiple of 4, or for large images of 32. width >= 2.
  [[nodiscard]] static Result<std::unique_ptr<Generator>> Create(ImageShape image, std::int64_t latent,
                                                                 std::int64_t width, const RngStream& stream,
                                                                 at::Device device = at::kCPU);
  // latents f32 [rows, latent] -> images f32 [rows, C, H, W], channels last. With a gang of several members,
  // the rows are this member's and BN uses the statistics of all members' rows: see gang_batch_norm.h for
  // what is thrown.
  [[nodiscard]] at::Tensor Forward(const at::Tensor& latents, Collective* gang = nullptr) const;
  [[nodiscard]] ParameterArena& parameters() { return *parameters_; }
  [[nodiscard]] const ParameterArena& parameters() const { return *parameters_; }

 private:
  // Image sides halve once a stage to the sides that the linear layer fills.
  struct Stages {
    std::vector<std::int64_t> widths;   // channels behind each doubling
    double epsilon = 0;                 // of their batch norms
  };
  static Stages StagesFor(ImageShape image, std::int64_t width);
  Generator(ImageShape image, std::int64_t latent, std::int64_t width, const RngStream& stream,
            at::Device device);
  ImageShape image_;
  std::int64_t width_;
  Stages stages_;
  std::unique_ptr<ParameterArena> parameters_;
};

}  // namespace retort::worker
