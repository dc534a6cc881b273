#include "orchestrator/cli/render/trial_drawings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

storage::Samples Grey(std::int64_t count, std::int64_t channels = 1) {
  storage::Samples samples;
  samples.images = {"images", storage::DType::u8, {count, channels, 4, 4}, {}};
  samples.images.bytes.resize(static_cast<std::size_t>(count * channels * 16), 100);
  samples.claim = "synthetic <queries>";
  return samples;
}

std::string Written(const storage::Samples& samples, const SampleLimits& limits, std::size_t& bytes) {
  Html html;
  WriteSamples(html, "t", samples, limits, bytes);
  return html.Take();
}

TEST(SampleHtml, AGridSaysWhatItShows) {
  std::size_t bytes = 7;
  const std::string html = Written(Grey(50), {36, 1000, 100'000}, bytes);
  EXPECT_THAT(html,
              HasSubstr("alt=\"36 of 50 samples of t, 4 by 4 pixels each, in the order in which they were kept\""));
  EXPECT_THAT(html, HasSubstr("kept: synthetic &lt;queries&gt;."));
  EXPECT_THAT(html, HasSubstr("src=\"data:image/png;base64,iVBOR"));
  EXPECT_GT(bytes, 7U);
}

TEST(SampleHtml, LargeImagesAreFewer) {
  std::size_t bytes = 0;
  EXPECT_THAT(Written(Grey(50), {36, 64, 100'000}, bytes), HasSubstr("alt=\"4 of 50"));
  EXPECT_THAT(Written(Grey(50), {36, 1, 100'000}, bytes), HasSubstr("alt=\"1 of 50"));
}

TEST(SampleHtml, APageThatIsFullSaysSo) {
  std::size_t bytes = 90;
  const std::string html = Written(Grey(50), {36, 1000, 100}, bytes);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("as many pictures as it may hold"));
  EXPECT_EQ(bytes, 90U);
}

TEST(SampleHtml, WhatIsNoPictureIsNotShown) {
  std::size_t bytes = 0;
  EXPECT_THAT(Written(Grey(5, 2), {36, 1000, 100'000}, bytes), HasSubstr("no pictures of 1 or 3 channels"));
  EXPECT_THAT(Written(Grey(0), {36, 1000, 100'000}, bytes), HasSubstr("not shown"));
  storage::Samples cut = Grey(5);
  cut.images.bytes.resize(20);
  EXPECT_THAT(Written(cut, {36, 1000, 100'000}, bytes), HasSubstr("pixels are missing"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
