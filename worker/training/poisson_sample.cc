#include "worker/training/poisson_sample.h"

#include <ATen/ops/tensor.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "experiments/base/status.h"
#include "worker/noise/noise_key.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

std::vector<std::uint64_t> Words(std::int64_t n, NoiseMode mode, std::uint64_t seed, std::int64_t step) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(n));
  if (mode == NoiseMode::secure) {
    const std::span<std::uint64_t> all(words);
    noise::FillFromOperatingSystem({reinterpret_cast<std::uint8_t*>(all.data()), all.size_bytes()});
    return words;
  }
  const RngStream stream(seed, Purpose::poisson, static_cast<std::uint64_t>(step));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = stream.Word(i);
  return words;
}

}  // namespace

at::Tensor DrawPoissonSample(std::int64_t examples, double rate, NoiseMode mode, std::uint64_t seed,
                             std::int64_t step) {
  RETORT_CHECK(rate > 0 && rate <= 1);
  std::vector<std::int64_t> chosen;
  const std::vector<std::uint64_t> words = Words(examples, mode, seed, step);
  // rate * 2^64 rounded down: never more often than the accountant assumes.
  const bool always = rate >= 1;
  const std::uint64_t threshold = always ? 0 : static_cast<std::uint64_t>(std::floor(std::ldexp(rate, 64)));
  for (std::int64_t i = 0; i < examples; ++i) {
    if (always || words[static_cast<std::size_t>(i)] < threshold) chosen.push_back(i);
  }
  return at::tensor(chosen, at::kLong);
}

std::uint64_t ChooseAugmentationSeed(NoiseMode mode, std::uint64_t seed) {
  return mode == NoiseMode::secure ? Words(1, mode, seed, 0).front() : seed;
}

}  // namespace retort::worker
