// Lets libFuzzer begin from the target's own seeds where it is given no corpus.
#include <algorithm>
#include <cstring>

#include "tests/fuzz/fuzz_target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned random) {
  static const std::vector<std::string> seeds = retort::testing::FuzzSeeds();
  if (size < 2 || random % 64 == 0) {
    const std::string& seed = seeds[random / 64 % seeds.size()];
    size = std::min(seed.size(), most);
    std::memcpy(data, seed.data(), size);
  }
  return LLVMFuzzerMutate(data, size, most);
}
