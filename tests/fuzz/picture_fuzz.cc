// JPEG and PNG of any bytes become pixels or a refusal, and a region of them is a part of the whole.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "storage/images/image_decoder.h"
#include "storage/images/prepared_image.h"
#include "tests/fuzz/fuzz_target.h"

namespace retort::testing {

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const char* name : {"yuv420.jpg", "yuv422.jpg", "progressive.jpg", "cmyk.jpg", "grey.jpg", "exif6.jpg",
                           "one-wide.jpg", "palette.png", "palette-transparent.png", "grey-alpha.png", "grey16.png",
                           "rgb16.png", "bits1.png", "exif6.png"}) {
    std::ifstream file(std::string(RETORT_SOURCE_DIR "/tests/fixtures/pictures/") + name, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    RETORT_CHECK(!seeds.back().empty());
  }
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  using namespace retort::storage;
  const std::string_view bytes = testing::Bytes(data, size);
  ImageOptions options;
  options.limits.pixels = 1 << 20;
  options.limits.scan_pixels = 1 << 23;
  const Result<DecodedImage> whole = DecodeImage("fuzz", bytes, options);
  Region wanted;
  const Result<DecodedImage> part = DecodeImage("fuzz", bytes, options, [&](const ImageSize& s) {
    return wanted = Region{s.height / 3, s.width / 3, std::max<std::int64_t>(1, s.height / 3),
                           std::max<std::int64_t>(1, s.width / 3)};
  });
  if (whole.ok() && part.ok() && wanted.height > 0) {
    for (std::int64_t y = wanted.top; y < wanted.top + wanted.height; ++y) {
      const std::uint8_t* got = part->Row(y - part->region.top) + (wanted.left - part->region.left) * 3;
      RETORT_CHECK(std::equal(got, got + wanted.width * 3, whole->Row(y) + wanted.left * 3));
    }
  }
  if (!whole.ok()) testing::CheckRefusal(whole.status());
  if (!part.ok()) testing::CheckRefusal(part.status());
  options.orientation = ExifOrientation::apply;
  RETORT_CHECK(DecodeImage("fuzz", bytes, options).ok() == whole.ok());
  const auto prepared = PrepareImage("fuzz", bytes, {.resize = 20, .crop = 16}, options.limits);
  if (!prepared.ok()) testing::CheckRefusal(prepared.status());
  return 0;
}
