// How much made images teach: the protocol of DPImageBench (Gong et al. 2025). A fresh classifier is trained on the
// images alone, chosen by a part of them that it is not trained on, and tested once.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "cluster/sample_order.h"
#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/data/examples.h"
#include "worker/samples/stored_generator.h"

namespace retort::worker::samples {

// Images u8 [rows, channels, height, width] on the CPU with labels i64 [rows].
struct LabelledImages {
  at::Tensor pictures, labels;
};

inline constexpr std::int64_t kMinEvaluated = 20;  // images
// Pixels of the images that an evaluation takes, which are held as floats.
inline constexpr std::int64_t kMaxEvaluatedPixels = std::int64_t{2} << 30;

// Trains the network of `spec` anew with Adam at 1e-3, batches of 128, 10 epochs, on nine tenths of the images, and
// takes the epoch that is best on the last tenth, of equally good ones the first. What depends on chance is a function
// of `seed`. The Fréchet distance is that of all images to the test examples in oriented gradients
// (ComputeOrientedFeatures, frechet.h), which are the same for every trial: the features of a network that learnt from
// the images would forgive what the images did not teach it. Nothing but `test`, and that after the choice, is read
// of the data set; at least two of its examples. REQUIRES: at least kMinEvaluated images. Errors: those of
// MakeNetwork and ComputeOrientedFeatures; what `progress` says.
[[nodiscard]] Result<cluster::SampleEvaluation> EvaluateSamples(
    const TrialSpec& spec, const ImageFrame& frame, const LabelledImages& samples, const Examples& test,
    std::uint64_t seed, const std::function<void(std::int64_t step, std::int64_t steps)>& progress);

}  // namespace retort::worker::samples
