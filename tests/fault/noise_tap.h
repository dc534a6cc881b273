// Counts what leaves the noise sources, apart from everything that charges for it. The program that holds
// this is linked with --wrap for LatticeGaussian::Sample and FillLatticeNormal (tests/fault/CMakeLists.txt), so that
// the real mechanisms draw through it.
#pragma once

#include <cstdint>
#include <functional>

namespace retort::testing {

struct NoiseTap {
  std::int64_t* numbers = nullptr;  // drawn so far; the memory may be shared with other processes
  std::function<void()> passed;     // before and after each drawing; need not return
};

// Of this program; nothing is counted while `numbers` is null.
[[nodiscard]] NoiseTap& Tap();

}  // namespace retort::testing
