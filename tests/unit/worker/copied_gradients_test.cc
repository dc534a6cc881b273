#include "worker/private/copied_gradients.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "experiments/spec/trial_spec.h"
#include "worker/data/examples.h"
#include "worker/methods/training_images.h"
#include "worker/models/model_registry.h"
#include "worker/private/per_sample_gradients.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kMost = 512;

class CopiedGradients : public ::testing::Test {
 protected:
  CopiedGradients()
      : network_(std::move(MakeNetwork("datalens-x0.125", {1, 16, 16}, 4, RngStream(1, Purpose::parameters))).value()),
        examples_(at::randn({9, 1, 16, 16}), at::randint(4, {9}, at::kLong)) {
    spec_.augment = Augment::elastic;
    spec_.shift = 1;
  }
  ImagesOf Images() {
    return [this](const at::Tensor& rows, std::int64_t first) {
      asked_.emplace_back(rows, first);
      return TrainingImages(spec_, kScale, examples_, rows, 3, first);
    };
  }
  at::Tensor Mean(const std::vector<std::int64_t>& rows, std::int64_t first, std::int64_t copies,
                  std::int64_t most = kMost) {
    const at::Tensor index = at::tensor(rows, at::kLong);
    return MeanGradients(*network_, {index, examples_.labels.index_select(0, index), first, copies}, most, Images())
        .value();
  }

  const PixelScale kScale{{0.5}, {0.25}};
  TrialSpec spec_;
  std::unique_ptr<Network> network_;
  Examples examples_;
  std::vector<std::pair<at::Tensor, std::int64_t>> asked_;
};

TEST_F(CopiedGradients, AreMeansOverImagesOfTheirOwn) {
  const at::Tensor mean = Mean({7, 2}, 5, 3);
  ASSERT_EQ(mean.size(0), 2);
  for (std::int64_t i = 0; i < 2; ++i) {
    const at::Tensor rows = at::full({3}, i == 0 ? 7 : 2, at::kLong);
    // Images 15, 16, 17 of the step are copies of the example at place 5; 18, 19, 20 of that at 6.
    const at::Tensor images = TrainingImages(spec_, kScale, examples_, rows, 3, (5 + i) * 3).value();
    EXPECT_FALSE(images[0].equal(images[1]) || images[1].equal(images[2]));
    const at::Tensor each = PerSampleGradients(*network_, images, examples_.labels.index_select(0, rows));
    EXPECT_TRUE(at::allclose(mean[i], each.mean(0), 1e-4, 1e-7)) << i;
  }
}

TEST_F(CopiedGradients, OfAnExampleDoNotDependOnTheRowsBesideIt) {
  const at::Tensor whole = Mean({7, 2, 2, 8, 0}, 4, 4);
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::vector<std::int64_t> row = {std::vector<std::int64_t>{7, 2, 2, 8, 0}[static_cast<std::size_t>(i)]};
    EXPECT_TRUE(at::allclose(Mean(row, 4 + i, 4)[0], whole[i], 1e-4, 1e-7)) << i;
  }
  EXPECT_FALSE(at::allclose(whole[1], whole[2], 1e-3, 1e-6)) << "one example at two places has other copies";
}

TEST_F(CopiedGradients, OfOneExampleAreMadeAFewAtATime) {
  const at::Tensor whole = Mean({4}, 6, 7);
  asked_.clear();
  EXPECT_TRUE(at::allclose(Mean({4}, 6, 7, 3), whole, 1e-4, 1e-7));
  ASSERT_EQ(asked_.size(), 3U);
  const std::vector<std::pair<std::int64_t, std::int64_t>> want = {{42, 3}, {45, 3}, {48, 1}};
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(asked_[i].second, want[i].first);
    EXPECT_TRUE(asked_[i].first.equal(at::full({want[i].second}, 4, at::kLong)));
  }
}

TEST_F(CopiedGradients, OneCopyIsTheExampleItself) {
  const at::Tensor rows = at::tensor({3, 1}, at::kLong), labels = examples_.labels.index_select(0, rows);
  const at::Tensor images = TrainingImages(spec_, kScale, examples_, rows, 3, 2).value();
  EXPECT_TRUE(Mean({3, 1}, 2, 1).equal(PerSampleGradients(*network_, images, labels)));
}

TEST_F(CopiedGradients, ABadCopySilencesTheWholeExample) {
  const auto images = [](const at::Tensor& rows, std::int64_t) -> Result<at::Tensor> {
    at::Tensor made = at::ones({rows.size(0), 1, 16, 16});
    made[1].fill_(std::nan(""));
    return made;
  };
  const CopiedRows sample{at::tensor({0, 1}, at::kLong), at::tensor({0, 1}, at::kLong), 0, 3};
  const at::Tensor mean = MeanGradients(*network_, sample, kMost, images).value();
  EXPECT_TRUE(mean[0].isnan().any().item<bool>());
  EXPECT_FALSE(mean[1].isnan().any().item<bool>());
}

TEST_F(CopiedGradients, APictureThatCannotBeReadIsTold) {
  const auto images = [](const at::Tensor&, std::int64_t) -> Result<at::Tensor> {
    return EnvironmentError("no file");
  };
  const CopiedRows sample{at::tensor({0}, at::kLong), at::tensor({0}, at::kLong), 0, 2};
  EXPECT_EQ(MeanGradients(*network_, sample, kMost, images).status().message(), "no file");
}

}  // namespace
}  // namespace retort::worker
