// Expected pixels are Pillow's and torchvision's: tests/fixtures/pictures/make.py.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "experiments/base/digests.h"
#include "storage/images/image_decoder.h"
#include "storage/images/prepared_image.h"

namespace retort::storage {
namespace {

const std::string kPicturesFolder = RETORT_SOURCE_DIR "/tests/fixtures/pictures/";

std::string ReadBytes(const std::string& name) {
  std::ifstream file(kPicturesFolder + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Expected {
  std::string file;
  std::int64_t height = 0, width = 0;
  std::string pixels, planes;
};

std::vector<Expected> AllExpected() {
  std::ifstream file(kPicturesFolder + "expected.txt");
  std::vector<Expected> all;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Expected one;
    words >> one.file >> one.height >> one.width >> one.pixels >> one.planes;
    all.push_back(one);
  }
  EXPECT_GT(all.size(), 40U);
  return all;
}

std::string Digest(const std::uint8_t* bytes, std::int64_t count) {
  Sha256 sum;
  sum.Update({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count)});
  return sum.FinishHex();
}

DecodedImage Decoded(const std::string& name, const ImageOptions& options = {}) {
  Result<DecodedImage> image = DecodeImage(name, ReadBytes(name), options);
  EXPECT_TRUE(image.ok()) << image.status().message();
  return image.ok() ? *std::move(image) : DecodedImage();
}

Status Refusal(const std::string& bytes) {
  const Result<DecodedImage> image = DecodeImage("shelf/p.jpg", bytes);
  if (image.ok()) return {};
  EXPECT_NE(image.status().message().find("shelf/p.jpg"), std::string::npos) << image.status().message();
  return image.status();
}

TEST(PictureDecode, GivesThePixelsOfPillow) {
  constexpr std::string_view kUpright = "upright:";
  for (const Expected& expected : AllExpected()) {
    const bool upright = expected.file.starts_with(kUpright);
    const std::string file = expected.file.substr(upright ? kUpright.size() : 0);
    const DecodedImage image = Decoded(file, {{}, upright ? ExifOrientation::apply : ExifOrientation::ignore});
    EXPECT_EQ(image.whole, (ImageSize{expected.height, expected.width})) << expected.file;
    EXPECT_EQ(Digest(image.rgb.data(), expected.height * expected.width * 3), expected.pixels) << expected.file;
  }
}

TEST(PicturePreparation, GivesThePixelsOfTorchvision) {
  const Preprocessing preprocessing{.resize = 64, .crop = 56};
  int compared = 0;
  for (const Expected& expected : AllExpected()) {
    if (expected.planes == "-") continue;
    const Result<PreparedImage> image = PrepareImage(expected.file, ReadBytes(expected.file), preprocessing);
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(Digest(image->planes.data(), 3 * 56 * 56), expected.planes) << expected.file;
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

// Every region equals that part of the whole image.
TEST(PictureDecode, ARegionIsAPartOfTheWhole) {
  for (const std::string name : {"yuv420.jpg", "yuv422.jpg", "yuv444.jpg", "progressive.jpg", "rgb.jpg", "grey.jpg",
                                 "cmyk.jpg", "n03485407_hand-held_computer.JPEG", "one-wide.jpg", "one-high.jpg"}) {
    const std::string bytes = ReadBytes(name);
    const DecodedImage whole = Decoded(name);
    const std::int64_t height = whole.whole.height, width = whole.whole.width;
    for (std::int64_t k = 0; k < 60; ++k) {
      const Region wanted{k * 7 % height, k * 11 % width, 1 + k * 13 % (height - k * 7 % height),
                          1 + k * 5 % (width - k * 11 % width)};
      const Result<DecodedImage> part = DecodeImage(name, bytes, {}, [&](const ImageSize&) { return wanted; });
      ASSERT_TRUE(part.ok()) << part.status().message();
      const Region& held = part->region;
      ASSERT_LE(held.left, wanted.left);
      ASSERT_LE(held.top, wanted.top);
      for (std::int64_t y = wanted.top; y < wanted.top + wanted.height; ++y) {
        const std::uint8_t* got = part->Row(y - held.top) + (wanted.left - held.left) * 3;
        const std::uint8_t* want = whole.Row(y) + wanted.left * 3;
        ASSERT_TRUE(std::equal(want, want + wanted.width * 3, got)) << name << " line " << y << " region " << k;
      }
    }
  }
}

TEST(PicturePreparation, SizesAreThoseOfTorchvision) {
  const auto plan = PlanPreparation("p", {375, 500}, kImageNetV1);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->resized, (ImageSize{256, 341}));
  EXPECT_EQ(plan->kept, (Region{16, 58, 224, 224}));  // (341 - 224) / 2 = 58.5, to the even number
  const auto tall = PlanPreparation("p", {500, 375}, kImageNetV2);
  ASSERT_TRUE(tall.ok());
  EXPECT_EQ(tall->resized, (ImageSize{309, 232}));
  const auto covid = PlanPreparation("p", {1000, 800}, {.crop_top = 0.08, .height = 224, .width = 224});
  ASSERT_TRUE(covid.ok());
  EXPECT_EQ(covid->top, 80);
  EXPECT_EQ(covid->kept, (Region{0, 0, 224, 224}));
}

TEST(PicturePreparation, TheTopIsCutOff) {
  const std::string bytes = ReadBytes("yuv444.jpg");
  const DecodedImage whole = Decoded("yuv444.jpg");
  const auto cut = PrepareImage("p", bytes, {.crop_top = 0.5});
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->size, (ImageSize{49, 131}));
  EXPECT_EQ(cut->planes[0], whole.Row(48)[0]);
}

TEST(PicturePreparation, AsksForWhatFitsTogether) {
  EXPECT_TRUE(CheckPreprocessing(kImageNetV1).ok());
  EXPECT_TRUE(CheckPreprocessing({}).ok());
  for (const Preprocessing& wrong :
       {Preprocessing{.crop_top = 1}, Preprocessing{.crop_top = -0.1}, Preprocessing{.resize = 64},
        Preprocessing{.resize = 64, .crop = 65}, Preprocessing{.resize = 64, .height = 8, .width = 8, .crop = 8},
        Preprocessing{.height = 8}, Preprocessing{.height = 5000, .width = 5000}, Preprocessing{.crop = -1}}) {
    EXPECT_EQ(CheckPreprocessing(wrong).code(), StatusCode::usage);
  }
  const auto small = PrepareImage("small.png", ReadBytes("grey.png"), {.crop = 40});
  ASSERT_FALSE(small.ok());
  EXPECT_NE(small.status().message().find("small.png"), std::string::npos);
}

TEST(PicturePreparation, AThinPictureCostsNoMoreThanItsCut) {
  const auto began = std::chrono::steady_clock::now();
  const auto thin = PrepareImage("thin", ReadBytes("one-wide.jpg"), {.resize = 2048, .crop = 2048});
  ASSERT_TRUE(thin.ok()) << thin.status().message();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST(PictureDecode, EveryTruncationIsSeen) {
  for (const std::string name : {"yuv420.jpg", "progressive.jpg", "cmyk.jpg", "grey.jpg", "palette.png", "rgb16.png",
                                 "rgba.png", "n03485407_hand-held_computer.JPEG"}) {
    const std::string bytes = ReadBytes(name);
    for (std::size_t size = 0; size < bytes.size(); size += name.starts_with("n0") ? 977 : 97) {
      const Status status = Refusal(bytes.substr(0, size));
      EXPECT_EQ(status.code(), StatusCode::damage) << name << " of " << size << " bytes: " << status.message();
    }
    EXPECT_FALSE(Refusal(bytes.substr(0, bytes.size() - 3)).ok()) << name;
  }
  const std::string bytes = ReadBytes("yuv420.jpg");
  const std::string said = Refusal(bytes.substr(0, bytes.size() / 2)).message();
  EXPECT_NE(said.find("truncated JPEG"), std::string::npos) << said;
  EXPECT_NE(said.find(std::to_string(bytes.size() / 2) + " bytes"), std::string::npos) << said;
  EXPECT_NE(said.find("line"), std::string::npos) << said;
}

// Below the lines that are wanted, too.
TEST(PictureDecode, TruncationBelowTheRegionIsSeen) {
  const std::string bytes = ReadBytes("yuv420.jpg");
  const auto top = [](const ImageSize& size) { return Region{0, 0, 8, size.width}; };
  ASSERT_TRUE(DecodeImage("p", bytes, {}, top).ok());
  const auto part = DecodeImage("p", std::string_view(bytes).substr(0, bytes.size() - 200), {}, top);
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.status().code(), StatusCode::damage);
}

TEST(PictureDecode, FlippedBitsEndInPixelsOrInARefusal) {
  for (const std::string name : {"yuv420.jpg", "progressive.jpg", "cmyk.jpg", "palette.png", "grey-alpha.png",
                                 "rgb16.png", "exif6.jpg", "exif6.png"}) {
    const std::string bytes = ReadBytes(name);
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 101) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      const auto image = DecodeImage(name, flipped, {{}, ExifOrientation::apply});
      if (image.ok()) continue;
      EXPECT_NE(image.status().code(), StatusCode::environment) << image.status().message();
    }
  }
}

std::string WithSize(std::string jpeg, int height, int width) {
  const std::size_t frame = jpeg.find("\xFF\xC0");
  EXPECT_NE(frame, std::string::npos);
  jpeg[frame + 5] = static_cast<char>(height >> 8);
  jpeg[frame + 6] = static_cast<char>(height & 255);
  jpeg[frame + 7] = static_cast<char>(width >> 8);
  jpeg[frame + 8] = static_cast<char>(width & 255);
  return jpeg;
}

TEST(PictureDecode, HugeHeadersAreRefusedAtOnce) {
  const auto began = std::chrono::steady_clock::now();
  const std::string bytes = ReadBytes("yuv420.jpg");
  EXPECT_EQ(Refusal(WithSize(bytes, 30'001, 10)).code(), StatusCode::refused);
  EXPECT_EQ(Refusal(WithSize(bytes, 30'000, 30'000)).code(), StatusCode::refused);
  const Status empty_promise = Refusal(WithSize(bytes, 9'000, 9'000));
  EXPECT_EQ(empty_promise.code(), StatusCode::damage);
  EXPECT_NE(empty_promise.message().find("cannot hold"), std::string::npos) << empty_promise.message();
  EXPECT_EQ(Refusal(WithSize(bytes, 0, 100)).code(), StatusCode::damage);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
}

TEST(PictureDecode, LimitsAreTheCallers) {
  ImageOptions options;
  options.limits.pixels = 97 * 131 - 1;
  EXPECT_EQ(DecodeImage("p", ReadBytes("yuv420.jpg"), options).status().code(), StatusCode::refused);
  options.limits.pixels = 97 * 131;
  EXPECT_TRUE(DecodeImage("p", ReadBytes("yuv420.jpg"), options).ok());
  options.limits.scans = 3;
  const auto scans = DecodeImage("p", ReadBytes("progressive.jpg"), options);
  ASSERT_FALSE(scans.ok());
  EXPECT_EQ(scans.status().code(), StatusCode::refused);
  EXPECT_NE(scans.status().message().find("scans"), std::string::npos);
}

// Thousands of scans of a few bytes each, as an attacker would write them.
TEST(PictureDecode, AProgressiveJpegOfTenThousandScansIsRefusedAtOnce) {
  const std::string bytes = ReadBytes("progressive.jpg");
  std::size_t last = std::string::npos;
  for (std::size_t at = 0; (at = bytes.find("\xFF\xDA", at)) != std::string::npos; ++at) last = at;
  ASSERT_NE(last, std::string::npos);
  const std::string scan = bytes.substr(last, bytes.size() - 2 - last);
  std::string many = bytes.substr(0, bytes.size() - 2);
  for (int i = 0; i < 10'000; ++i) many += scan.substr(0, 12);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(Refusal(many + "\xFF\xD9").ok());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST(PictureDecode, OtherFormatsAreNamed) {
  EXPECT_NE(Refusal("GIF89a").message().find("no JPEG"), std::string::npos);
  EXPECT_EQ(Refusal("").code(), StatusCode::damage);
}

}  // namespace
}  // namespace retort::storage
