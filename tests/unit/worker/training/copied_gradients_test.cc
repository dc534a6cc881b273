#include "worker/training/per_sample_gradients.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "worker/data/examples.h"
#include "worker/models/model_registry.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kMost = 512;

class CopiedGradients : public ::testing::Test {
 protected:
  CopiedGradients()
      : network_(std::move(MakeNetwork("datalens-x0.125", {1, 16, 16}, 4, RngStream(1, Purpose::parameters))).value()),
        examples_(at::randn({9, 1, 16, 16}), at::randint(4, {9}, at::kLong)) {
    spec_.inputs.augment = Augment::elastic;
    spec_.inputs.shift = 1;
  }
  ImageLoader Images() {
    return [this](const at::Tensor& rows, const RowPlaces& places) {
      asked_.emplace_back(rows, places.Of(0));
      return MakeTrainingImages(spec_, kScale, examples_, rows, 3, places);
    };
  }
  at::Tensor Mean(const std::vector<std::int64_t>& rows, std::int64_t copies, std::int64_t most = kMost) {
    const at::Tensor index = at::tensor(rows, at::kLong);
    return ComputeMeanGradients(*network_, {index, examples_.labels.index_select(0, index), copies}, most, Images())
        .value();
  }

  const PixelScale kScale{{0.5}, {0.25}};
  TrialSpec spec_;
  std::unique_ptr<Network> network_;
  Examples examples_;
  std::vector<std::pair<at::Tensor, std::int64_t>> asked_;
};

TEST_F(CopiedGradients, AreMeansOverImagesOfTheirOwn) {
  const std::vector<std::int64_t> sampled = {7, 2};
  const at::Tensor mean = Mean(sampled, 3);
  ASSERT_EQ(mean.size(0), 2);
  for (std::int64_t i = 0; i < 2; ++i) {
    const std::int64_t example = sampled[static_cast<std::size_t>(i)];
    const at::Tensor rows = at::full({3}, example, at::kLong);
    // Images 21, 22, 23 of the step are copies of example 7; 6, 7, 8 of example 2.
    const at::Tensor images = MakeTrainingImages(spec_, kScale, examples_, rows, 3, example * 3).value();
    EXPECT_FALSE(images[0].equal(images[1]) || images[1].equal(images[2]));
    const at::Tensor each = ComputePerSampleGradients(*network_, images, examples_.labels.index_select(0, rows));
    EXPECT_TRUE(at::allclose(mean[i], each.mean(0), 1e-4, 1e-7)) << i;
  }
}

// Neither on which they are nor on how many come before it: else one example more would change the copies of others.
TEST_F(CopiedGradients, OfAnExampleDoNotDependOnTheRowsBesideIt) {
  for (const std::int64_t copies : {1, 4}) {
    const std::vector<std::int64_t> sampled = {7, 2, 8, 0};
    const at::Tensor whole = Mean(sampled, copies);
    for (std::size_t i = 0; i < sampled.size(); ++i) {
      EXPECT_TRUE(at::allclose(Mean({sampled[i]}, copies)[0], whole[static_cast<std::int64_t>(i)], 1e-4, 1e-7)) << i;
    }
    EXPECT_TRUE(at::allclose(Mean({5, 2}, copies)[1], whole[1], 1e-4, 1e-7));
  }
}

TEST_F(CopiedGradients, OfExamplesThatAreAlikeAreAugmentedEachItsOwnWay) {
  const Examples alike(examples_.Batch(at::zeros({9}, at::kLong)), at::zeros({9}, at::kLong));
  const at::Tensor rows = at::tensor({3, 4}, at::kLong);
  const at::Tensor images = MakeTrainingImages(spec_, kScale, alike, rows, 3, RowPlaces({3, 4})).value();
  EXPECT_FALSE(images[0].equal(images[1]));
}

TEST_F(CopiedGradients, OfOneExampleAreMadeAFewAtATime) {
  const at::Tensor whole = Mean({4}, 7);
  asked_.clear();
  EXPECT_TRUE(at::allclose(Mean({4}, 7, 3), whole, 1e-4, 1e-7));
  ASSERT_EQ(asked_.size(), 3U);
  const std::vector<std::pair<std::int64_t, std::int64_t>> want = {{28, 3}, {31, 3}, {34, 1}};
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(asked_[i].second, want[i].first);
    EXPECT_TRUE(asked_[i].first.equal(at::full({want[i].second}, 4, at::kLong)));
  }
}

TEST_F(CopiedGradients, OneCopyIsTheExampleItself) {
  const at::Tensor rows = at::tensor({3, 1}, at::kLong), labels = examples_.labels.index_select(0, rows);
  const at::Tensor images = MakeTrainingImages(spec_, kScale, examples_, rows, 3, RowPlaces({3, 1})).value();
  EXPECT_TRUE(Mean({3, 1}, 1).equal(ComputePerSampleGradients(*network_, images, labels)));
}

TEST_F(CopiedGradients, ABadCopySilencesTheWholeExample) {
  const auto images = [](const at::Tensor& rows, const RowPlaces&) -> Result<at::Tensor> {
    at::Tensor made = at::ones({rows.size(0), 1, 16, 16});
    made[1].fill_(std::nan(""));
    return made;
  };
  const AugmentedRows sample{at::tensor({0, 1}, at::kLong), at::tensor({0, 1}, at::kLong), 3};
  const at::Tensor mean = ComputeMeanGradients(*network_, sample, kMost, images).value();
  EXPECT_TRUE(mean[0].isnan().any().item<bool>());
  EXPECT_FALSE(mean[1].isnan().any().item<bool>());
}

TEST_F(CopiedGradients, APictureThatCannotBeReadIsTold) {
  const auto images = [](const at::Tensor&, const RowPlaces&) -> Result<at::Tensor> {
    return EnvironmentError("no file");
  };
  const AugmentedRows sample{at::tensor({0}, at::kLong), at::tensor({0}, at::kLong), 2};
  EXPECT_EQ(ComputeMeanGradients(*network_, sample, kMost, images).status().message(), "no file");
}

}  // namespace
}  // namespace retort::worker
