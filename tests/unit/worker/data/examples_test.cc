#include "worker/data/examples.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>

#include "storage/images/prepared_image.h"
#include "worker/data/augmentation.h"

namespace retort::worker {
namespace {

const PixelScale kScale{{0.5, 0.4, 0.3}, {0.2, 0.3, 0.4}};

storage::DecodedImage Drawn(std::int64_t row) {
  storage::DecodedImage image;
  image.whole = {12, 10};
  image.region = {0, 0, 12, 10};
  for (std::int64_t i = 0; i < 360; ++i) image.rgb.push_back(static_cast<std::uint8_t>((i * 7 + row * 31) % 256));
  image.rgb.resize(360 + storage::kImagePadding);
  return image;
}

// Six images of 3 x 12 x 10, as a cache would hold them.
class StoredExamples : public ::testing::Test {
 protected:
  StoredExamples() {
    auto bytes = std::make_shared<std::string>();
    for (std::int64_t row = 0; row < 6; ++row)
      for (std::int64_t c = 0; c < 3; ++c)
        for (std::size_t i = 0; i < 120; ++i)
          bytes->push_back(static_cast<char>(Drawn(row).rgb[i * 3 + static_cast<std::size_t>(c)]));
    const std::string_view view = *bytes;
    auto pictures = std::make_shared<storage::DecodedImages>(bytes, view, 360, std::vector<storage::SkippedImage>());
    images_ = std::make_shared<StoredImages>(pictures, ImageShape{3, 12, 10}, kScale, at::kCPU);
    const at::Tensor levels = at::from_blob(bytes->data(), {6, 3, 12, 10}, at::kByte).to(at::kDouble) / 255.0;
    const at::Tensor mean = at::tensor(kScale.mean, at::kDouble).view({1, 3, 1, 1});
    const at::Tensor std = at::tensor(kScale.std, at::kDouble).view({1, 3, 1, 1});
    floats_ = ((levels - mean) / std).to(at::kFloat);
  }
  // Places 5, 0, 3, 1.
  [[nodiscard]] Examples Stored() const { return {images_, {5, 0, 3, 1}, at::tensor({2, 1, 0, 1}, at::kLong)}; }
  [[nodiscard]] Examples InMemory() const {
    return {floats_.index_select(0, at::tensor({5, 0, 3, 1}, at::kLong)), at::tensor({2, 1, 0, 1}, at::kLong)};
  }

  std::shared_ptr<StoredImages> images_;
  at::Tensor floats_;
};

bool Same(const Examples& a, const Examples& b) {
  return a.labels.equal(b.labels) && a.shape() == b.shape() && at::equal(a.Range(0, a.size()), b.Range(0, b.size()));
}

TEST_F(StoredExamples, AreTheFloatsThatMemoryWouldHold) {
  const Examples stored = Stored(), held = InMemory();
  EXPECT_TRUE(Same(stored, held));
  const at::Tensor rows = at::tensor({3, 3, 0}, at::kLong);
  EXPECT_TRUE(stored.Batch(rows).equal(held.Batch(rows)));
  EXPECT_TRUE(stored.Range(1, 2).equal(held.Range(1, 2)));
  EXPECT_EQ(stored.Batch(at::empty({0}, at::kLong)).sizes(), (std::vector<std::int64_t>{0, 3, 12, 10}));
}

TEST_F(StoredExamples, PartsAreThoseOfMemory) {
  const Examples stored = Stored(), held = InMemory();
  const at::Tensor rows = at::tensor({2, 0}, at::kLong);
  EXPECT_TRUE(Same(stored.Rows(rows), held.Rows(rows)));
  EXPECT_TRUE(Same(stored.First(3), held.First(3)));
  EXPECT_TRUE(Same(Examples::Joined(stored, stored.First(1)), Examples::Joined(held, held.First(1))));
  EXPECT_TRUE(Same(Examples::Joined(stored, held), Examples::Joined(held, held)));
  const at::Tensor labels = at::tensor({9, 8, 7, 6}, at::kLong);
  EXPECT_TRUE(Same(stored.Relabelled(labels), held.Relabelled(labels)));
}

TEST_F(StoredExamples, WhatIsTakenOutIsNoNumber) {
  for (const Examples& examples : {Stored(), InMemory()}) {
    const Examples without = examples.Without({1, 3});
    for (const std::int64_t row : {0, 1, 2, 3}) {
      EXPECT_EQ(without.Range(row, 1).isnan().all().item<bool>(), row % 2 == 1);
      EXPECT_EQ(without.Range(row, 1).isnan().any().item<bool>(), row % 2 == 1);
    }
    EXPECT_FALSE(examples.Range(0, 4).isnan().any().item<bool>());
  }
}

TEST(Augmentation, RowsDoNotDependOnTheirBatch) {
  const at::Tensor images = at::randn({9, 3, 12, 10});
  const Examples examples(images, at::zeros({9}, at::kLong));
  for (const AugmentationKind kind :
       {AugmentationKind::none, AugmentationKind::shift, AugmentationKind::crop_flip,
        AugmentationKind::random_resized_crop, AugmentationKind::affine, AugmentationKind::elastic}) {
    const Augmentation augmentation{kind, 4, kScale};
    const auto whole = MakeAugmentedBatch(examples, at::arange(9, at::kLong), augmentation, 7, 3, 0);
    const auto part = MakeAugmentedBatch(examples, at::arange(4, 9, at::kLong), augmentation, 7, 3, 4);
    ASSERT_TRUE(whole.ok() && part.ok());
    EXPECT_TRUE(whole->narrow(0, 4, 5).equal(*part));
    const auto other = MakeAugmentedBatch(examples, at::arange(9, at::kLong), augmentation, 7, 4, 0);
    EXPECT_EQ(other->equal(*whole), kind == AugmentationKind::none);
  }
}

TEST(Augmentation, AMoveIsAPaddedCropInTheColourOfItsChannel) {
  const at::Tensor images = at::randn({30, 2, 9, 11}), black = at::tensor({-1.5F, 2.5F});
  const at::Tensor moved = MoveImages(images, 4, black, RngStream(1, Purpose::crops));
  const at::Tensor padded = black.view({1, 2, 1, 1}).expand({30, 2, 17, 19}).clone();
  padded.narrow(2, 4, 9).narrow(3, 4, 11).copy_(images);
  for (std::int64_t i = 0; i < 30; ++i) {
    bool found = false;
    for (std::int64_t y = 0; y < 9; ++y)
      for (std::int64_t x = 0; x < 9; ++x) found |= moved[i].equal(padded[i].narrow(1, y, 9).narrow(2, x, 11));
    EXPECT_TRUE(found) << i;
  }
}

TEST(Augmentation, HalfOfTheImagesAreMirrored) {
  const at::Tensor images = at::randn({2000, 1, 2, 3});
  const at::Tensor out = MirrorImages(images, RngStream(5, Purpose::flips));
  std::int64_t mirrored = 0;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const bool same = out[i].equal(images[i]);
    EXPECT_TRUE(same || out[i].equal(images[i].flip(2)));
    mirrored += same ? 0 : 1;
  }
  EXPECT_NEAR(static_cast<double>(mirrored), 1000, 110);
}

TEST(Augmentation, BoxesHaveTorchvisionsAreasAndAspects) {
  double area = 0;
  constexpr int kBoxes = 4000;
  for (std::uint64_t i = 0; i < kBoxes; ++i) {
    const storage::Region box = DrawCropBox({300, 400}, RngStream(3, Purpose::resized_crops).Lane(i));
    ASSERT_TRUE(box.top >= 0 && box.left >= 0 && box.top + box.height <= 300 && box.left + box.width <= 400);
    const double share = static_cast<double>(box.height * box.width) / 120000.0;
    const double aspect = static_cast<double>(box.width) / static_cast<double>(box.height);
    EXPECT_TRUE(share > 0.075 && share <= 1 && aspect > 0.73 && aspect < 1.37) << share << " " << aspect;
    area += share / kBoxes;
  }
  // torchvision's get_params gives 0.4351 here (20,000 draws).
  EXPECT_NEAR(area, 0.4351, 0.015);
  // Nothing of an allowed aspect fits often: the central box.
  const storage::Region strip = DrawCropBox({10, 4000}, RngStream(3, Purpose::resized_crops));
  EXPECT_EQ(strip, (storage::Region{0, 1993, 10, 13}));
}

TEST_F(StoredExamples, PicturesAreCutAnewFromTheirFiles) {
  std::atomic<int> reads = 0;
  auto with_files = std::make_shared<StoredImages>(*images_);
  with_files->set.rows = {10, 11, 12, 13, 14, 15};
  with_files->set.source.where = [](std::int64_t row) { return "row " + std::to_string(row); };
  with_files->set.source.read = [&](std::int64_t row) -> Result<std::string> {
    ++reads;
    return row == 13 ? Result<std::string>(EnvironmentError("no file of row 13")) : std::string("no picture");
  };
  const Examples examples(with_files, {5, 0, 3, 1}, at::tensor({2, 1, 0, 1}, at::kLong));
  EXPECT_TRUE(examples.HasFiles());
  EXPECT_FALSE(Stored().HasFiles());
  const Augmentation augmentation{AugmentationKind::random_resized_crop, 0, kScale};
  const auto cut = MakeAugmentedBatch(examples, at::tensor({2}, at::kLong), augmentation, 1, 1, 0);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.status().message(), "no file of row 13");
  const auto broken = MakeAugmentedBatch(examples, at::tensor({0}, at::kLong), augmentation, 1, 1, 0);
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.status().message().find("row 15"), std::string::npos);
  EXPECT_EQ(reads, 2);
}

}  // namespace
}  // namespace retort::worker
