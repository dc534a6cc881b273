// Label differential privacy: training may see images as they are; labels are sealed and released by this mechanism,
// each once.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/privacy_event.h"
#include "worker/data/examples.h"
#include "worker/noise/lattice_samplers.h"
#include "worker/noise/noise_key.h"
#include "worker/release/charge.h"

namespace retort::worker::release {

// Move-only. Only LabelResponse can read them.
class PrivateLabels {
 public:
  // i64 [n], each in 0..classes-1.
  explicit PrivateLabels(const at::Tensor& labels);
  PrivateLabels(PrivateLabels&&) = default;
  PrivateLabels& operator=(PrivateLabels&&) = default;
  PrivateLabels(const PrivateLabels&) = delete;
  PrivateLabels& operator=(const PrivateLabels&) = delete;
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(labels_.size()); }

 private:
  friend class LabelResponse;
  std::vector<std::int64_t> labels_;
};

struct UnlabelledExamples {
  Examples images;  // every label is -1
  PrivateLabels labels;
};
// Splits `examples` into what label-private training may see, the images, and what it may not, the labels.
[[nodiscard]] UnlabelledExamples SealLabels(const Examples& examples);

enum class LabelNoise : std::uint8_t { response, laplace };

struct LabelSettings {
  LabelNoise noise = LabelNoise::response;
  double epsilon0 = 1;  // of one label; 1e-6 to 700
  std::int64_t classes = 10;
  std::vector<std::int64_t> parts = {1};  // labels of each part, which are released together
};

// response: randomised response over a row's candidates (randomized_response.h), chosen without its label.
// laplace: onehot(y) plus Laplace noise of scale 2 / epsilon0 on every class, since a label's change moves the
// one-hot vector by 2 in L1; drawn exactly on the lattice of width 2^-20, with unbounded tails.
class LabelResponse {
 public:
  // Error: usage.
  [[nodiscard]] static Result<std::unique_ptr<LabelResponse>> Create(const LabelSettings& settings,
                                                                     noise::NoiseKey key);

  // The event of releasing part `part`, counted from 0.
  [[nodiscard]] privacy::PrivacyEvent Describe(std::size_t part) const;
  // The labels of `part`, which are those of rows `rows` i64 [k], each for the first time, with candidates
  // bool [k, classes], at least one for each row: i64 [k]. Refused when k is not the part's number of labels, the
  // charge does not cover them, a row was released before, or `step` does not grow.
  [[nodiscard]] Result<at::Tensor> Respond(const PrivateLabels& labels, std::size_t part, const at::Tensor& rows,
                                           const at::Tensor& candidates, std::int64_t step, Charge&& charge);
  // The same with Laplace noise: f32 [k, classes].
  [[nodiscard]] Result<at::Tensor> AddLaplace(const PrivateLabels& labels, std::size_t part, const at::Tensor& rows,
                                              std::int64_t step, Charge&& charge);

 private:
  LabelResponse(const LabelSettings& settings, noise::NoiseKey key);
  [[nodiscard]] Status Begin(LabelNoise noise, const PrivateLabels& labels, std::size_t part, const at::Tensor& rows,
                             std::int64_t step, const Charge& charge);
  LabelSettings settings_;
  noise::NoiseKey key_;
  std::optional<noise::LatticeLaplace> laplace_;
  std::vector<bool> released_;
  std::int64_t last_step_ = -1;
};

// Of the one-hot vector's noise. epsilon0 > 0.
[[nodiscard]] inline double LabelLaplaceScale(double epsilon0) { return 2 / epsilon0; }
inline constexpr int kLabelLatticeBits = 20;
inline constexpr std::int64_t kLabelSteps = std::int64_t{1} << kLabelLatticeBits;  // the one of a one-hot vector
// One over that scale in steps of the lattice, exactly.
[[nodiscard]] inline double LabelLaplaceRate(double epsilon0) { return std::ldexp(epsilon0, -1 - kLabelLatticeBits); }

}  // namespace retort::worker::release
