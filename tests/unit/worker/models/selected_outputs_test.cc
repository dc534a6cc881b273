// Weights of a network with more outputs than there are classes: the logits are those of the whole network.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/unit/worker/models/formula_state.h"
#include "worker/models/model_registry.h"
#include "worker/models/saved_models.h"

namespace retort::worker {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string network;
  ImageShape image;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.network; }

class SelectedOutputsTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { ASSERT_TRUE(whole_->LoadState("x/", FormulaState(*whole_)).ok()); }
  std::unique_ptr<Network> Make(std::int64_t classes) const {
    return MakeNetwork(NetworkChoice(GetParam().network), GetParam().image, classes, RngStream(5, Purpose::parameters))
        .value();
  }
  Result<storage::KeyReport> Load(Network& small, const Network& whole,
                                  const std::vector<std::int64_t>& outputs) const {
    return LoadSelectedWeights(small, GetParam().network, whole.StateBlobs(""), outputs, "teacher.t.outputs", "w.pth");
  }
  const std::unique_ptr<Network> whole_ = Make(7);
  const at::Tensor images_ = at::linspace(-2, 2, 3 * GetParam().image.size())
                                 .view({3, GetParam().image.channels, GetParam().image.height, -1});
};

TEST_P(SelectedOutputsTest, LogitsAreThoseOfTheWholeNetwork) {
  const std::unique_ptr<Network> small = Make(3);
  const Result<storage::KeyReport> report = Load(*small, *whole_, {6, 0, 3});
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_TRUE(report->complete());
  const at::Tensor all = whole_->Forward(images_).logits, chosen = small->Forward(images_).logits;
  EXPECT_TRUE(at::allclose(chosen, all.index_select(1, at::tensor({6, 0, 3}, at::kLong)), 1e-5, 1e-6));
  EXPECT_FALSE(at::allclose(chosen, all.index_select(1, at::tensor({0, 6, 3}, at::kLong)), 1e-5, 1e-6))
      << "another order";
}

TEST_P(SelectedOutputsTest, AllOfThemInAnotherOrderAreChosenToo) {
  const std::unique_ptr<Network> small = Make(7);
  const std::vector<std::int64_t> order = {6, 5, 4, 3, 2, 1, 0};
  ASSERT_TRUE(Load(*small, *whole_, order).ok());
  EXPECT_TRUE(at::allclose(small->Forward(images_).logits, whole_->Forward(images_).logits.flip(1), 1e-5, 1e-6));
}

TEST_P(SelectedOutputsTest, OutputsBeyondTheFilesAreRefused) {
  const std::unique_ptr<Network> small = Make(2);
  const Result<storage::KeyReport> report = Load(*small, *whole_, {0, 7});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.status().message(), HasSubstr("teacher.t.outputs names output 7, but w.pth has 7 outputs"));
}

INSTANTIATE_TEST_SUITE_P(Zoo, SelectedOutputsTest,
                         ::testing::Values(Case{"mobilenet_v2", {3, 32, 32}}, Case{"googlenet", {3, 32, 32}},
                                           Case{"densenet161", {3, 32, 32}}, Case{"cnn-128", {3, 32, 32}},
                                           Case{"logistic", {1, 8, 8}}),
                         [](const auto& network) {
                           std::string name = network.param.network;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

// Every network ends with a linear layer that alone knows the classes.
TEST(SelectedOutputs, EveryNetworkOfTheZooHasThem) {
  for (const std::string& name : ListNetworkNames()) {
    const std::vector<Layer> layers = MakeLayers(name, 10).value();
    EXPECT_EQ(layers.back().kind, LayerKind::linear) << name;
  }
}

}  // namespace
}  // namespace retort::worker
