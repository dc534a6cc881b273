#include "tests/fault/noise_tap.h"

#include <span>

#include "worker/noise/lattice_normal.h"
#include "worker/noise/lattice_samplers.h"
#include "worker/noise/noise_key.h"

namespace retort::testing {

NoiseTap& Tap() {
  static NoiseTap tap;
  return tap;
}

namespace {

template <typename Draw>
void Counted(std::size_t numbers, const Draw& draw) {
  const NoiseTap& tap = Tap();
  if (tap.passed) tap.passed();
  draw();
  if (tap.numbers != nullptr) *tap.numbers += static_cast<std::int64_t>(numbers);
  if (tap.passed) tap.passed();
}

}  // namespace
}  // namespace retort::testing

// What --wrap makes of the two samplers: callers reach __wrap_, the sampler itself is __real_.
extern "C" {
using retort::worker::noise::ChaChaStream;
using retort::worker::noise::LatticeGaussian;
using retort::worker::noise::NoiseKey;
using retort::worker::noise::StreamId;

#define RETORT_SAMPLE(prefix) \
  prefix##_ZNK6retort6worker5noise15LatticeGaussian6SampleERNS1_12ChaChaStreamESt4spanIiLm18446744073709551615EE
#define RETORT_FILL(prefix) \
  prefix##_ZN6retort6worker5noise17FillLatticeNormalERKNS1_8NoiseKeyENS1_8StreamIdEmdSt4spanIdLm18446744073709551615EE

void RETORT_SAMPLE(__real_)(const LatticeGaussian* lattice, ChaChaStream& bits, std::span<std::int32_t> out);
void RETORT_SAMPLE(__wrap_)(const LatticeGaussian* lattice, ChaChaStream& bits, std::span<std::int32_t> out) {
  retort::testing::Counted(out.size(), [&] { RETORT_SAMPLE(__real_)(lattice, bits, out); });
}

void RETORT_FILL(__real_)(const NoiseKey& key, StreamId stream, std::uint64_t first, double scale,
                          std::span<double> out);
void RETORT_FILL(__wrap_)(const NoiseKey& key, StreamId stream, std::uint64_t first, double scale,
                          std::span<double> out) {
  retort::testing::Counted(out.size(), [&] { RETORT_FILL(__real_)(key, stream, first, scale, out); });
}
}
