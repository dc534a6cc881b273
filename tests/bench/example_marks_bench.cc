// What it takes to know the private examples of a data set again: digests and marks of 28 x 28 images, as a sweep's
// start makes them once.
//   example_marks_bench [EXAMPLES]     60,000 if not said
// Exit 3: more than a second.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "storage/datasets/mark_store.h"

int main(int argc, char** argv) {
  using namespace retort::storage;  // NOLINT(google-build-using-namespace)
  constexpr std::int64_t kSide = 28;
  const std::size_t examples = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 60'000;
  std::vector<std::uint8_t> pixels(examples * kSide * kSide);
  std::uint32_t state = 1;
  for (std::uint8_t& pixel : pixels)
    pixel = static_cast<std::uint8_t>((state = state * 1'664'525U + 1'013'904'223U) >> 24);
  const auto began = std::chrono::steady_clock::now();
  SplitDigests digests;
  for (std::size_t i = 0; i < examples; ++i)
    digests.hidden.push_back(ComputeImageDigest(1, kSide, kSide, pixels.data() + i * kSide * kSide));
  const DataMarks marks = MakeMarks(MarkKey::Draw(), "data", retort::DataSpec(), digests);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%zu examples, %zu of them different: %.3f s (aim: at most 1 s for 60,000)\n", examples,
              marks.hidden.size(), seconds);
  return seconds * 60'000 > static_cast<double>(examples) ? 3 : 0;
}
