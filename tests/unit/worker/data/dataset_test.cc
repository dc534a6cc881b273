#include "worker/data/dataset.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "storage/datasets/data_inspection.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

const PixelScale kDigitsScale = {{0.1307, 0.1307}, {0.3081, 0.3081}};

// Classes 1 and 3 leave the public split; everything else stays where it was.
TEST(Dataset, SensitiveClassesArePrivate) {
  const TinyTrials tiny;
  const auto before = LoadDataset(storage::PosixEnv(), *tiny.data());
  DataSpec spec = *tiny.data();
  spec.sensitive_classes = {1, 3};
  ASSERT_TRUE(storage::InspectData(storage::PosixEnv(), spec, {}).ok());
  const auto data = LoadDataset(storage::PosixEnv(), spec);
  ASSERT_TRUE(data.ok()) << data.status().message();
  const at::Tensor sensitive = before->public_split.labels % 2 == 1;
  const std::int64_t moved = sensitive.sum().item<std::int64_t>();
  EXPECT_GT(moved, 0);
  EXPECT_EQ(spec.moved, moved);
  EXPECT_EQ(data->train.size(), spec.PrivateExamples());
  EXPECT_EQ(data->public_split.size(), spec.PublicExamples());
  EXPECT_TRUE(data->public_split.labels.equal(before->public_split.labels.masked_select(~sensitive)));
  EXPECT_TRUE(
      data->train.labels.equal(at::cat({before->train.labels, before->public_split.labels.masked_select(sensitive)})));
  const at::Tensor rows = at::nonzero(sensitive).flatten();
  EXPECT_TRUE(data->train.Range(120, moved).equal(before->public_split.Batch(rows)));
  EXPECT_TRUE(data->test.labels.equal(before->test.labels));
}

// What a score is measured on is no part of what training sees.
TEST(Dataset, ValidationExamplesAreApart) {
  const TinyTrials tiny;
  const auto before = LoadDataset(storage::PosixEnv(), *tiny.data());
  EXPECT_EQ(before->validation.size(), 0);
  DataSpec spec = *tiny.data();
  spec.split.train = {0, 100};
  spec.split.validation = {100, 120};
  const auto data = LoadDataset(storage::PosixEnv(), spec);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_TRUE(data->validation_apart);
  EXPECT_TRUE(data->train.Range(0, 100).equal(before->train.Range(0, 100)));
  EXPECT_TRUE(data->validation.Range(0, 20).equal(before->train.Range(100, 20)));
  EXPECT_TRUE(data->validation.labels.equal(before->train.labels.narrow(0, 100, 20)));
  spec.split.validation = {99, 119};  // no sweep file gets this far
  EXPECT_FALSE(LoadDataset(storage::PosixEnv(), spec)->validation_apart);
}

TEST(Dataset, SplitsAreDisjointAndNormalised) {
  const TinyTrials tiny;
  const auto data = LoadDataset(storage::PosixEnv(), *tiny.data());
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->train.size(), 120);
  EXPECT_EQ(data->public_split.size(), 40);
  EXPECT_EQ(data->test.size(), 40);
  EXPECT_EQ(data->train.Range(0, data->train.size()).sizes(), (std::vector<std::int64_t>{120, 1, 16, 16}));
  const at::Tensor all = at::cat({data->train.labels, data->public_split.labels, data->test.labels});
  for (std::int64_t c = 0; c < 4; ++c) EXPECT_EQ((all == c).sum().item<std::int64_t>(), 50);
  // Images and labels stay together: the bright quarter is the class.
  const at::Tensor quarters = at::avg_pool2d(data->test.Range(0, data->test.size()), 8).flatten(1);
  EXPECT_TRUE(quarters.argmax(1).equal(data->test.labels));
}

TEST(Dataset, BytesSurviveNormalisation) {
  const TinyTrials tiny;
  const auto data = LoadDataset(storage::PosixEnv(), *tiny.data());
  ASSERT_TRUE(data.ok());
  const at::Tensor bytes = ConvertToBytes(data->train.Range(0, data->train.size()), data->scale);
  EXPECT_EQ(bytes.max().item<std::int64_t>(), 229);
  EXPECT_EQ(bytes.min().item<std::int64_t>(), 0);
}

TEST(Dataset, SplitBeyondTheFilesIsRefused) {
  const TinyTrials tiny;
  DataSpec spec = *tiny.data();
  spec.split.test = {160, 201};
  const auto data = LoadDataset(storage::PosixEnv(), spec);
  ASSERT_FALSE(data.ok());
  EXPECT_NE(data.status().message().find("test"), std::string::npos);
}

TEST(Shifted, MovesEachImageWholePixels) {
  const at::Tensor images = at::randn({20, 2, 9, 11});
  const at::Tensor moved = ShiftImages(images, 2, kDigitsScale, RngStream(1, Purpose::shifts));
  const at::Tensor padded = at::constant_pad_nd(images, {2, 2, 2, 2}, -0.1307 / 0.3081);
  for (std::int64_t i = 0; i < 20; ++i) {
    bool found = false;
    for (std::int64_t y = 0; y < 5; ++y) {
      for (std::int64_t x = 0; x < 5; ++x) {
        found |= moved[i].equal(padded[i].narrow(1, y, 9).narrow(2, x, 11));
      }
    }
    EXPECT_TRUE(found) << "image " << i;
  }
  EXPECT_TRUE(ShiftImages(images, 0, kDigitsScale, RngStream(1, Purpose::shifts)).equal(images));
}

}  // namespace
}  // namespace retort::worker
