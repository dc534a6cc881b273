// Members that are fitted in closed form on frozen features.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/worker/tiny_trials.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/method.h"
#include "worker/models/ensemble.h"
#include "worker/models/model_registry.h"
#include "worker/private/head_gradients.h"
#include "worker/private/ridge_heads.h"
#include "worker/private/shards.h"
#include "worker/tensor_codec.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kExamples = 60, kMembers = 6;

// Four classes, a bright quarter each.
Dataset Quarters() {
  Dataset data;
  data.shape = {1, 12, 12};
  data.classes = 4;
  const at::Tensor labels = at::arange(kExamples, at::kLong).remainder(4);
  at::Tensor images = UniformTensor({kExamples, 1, 12, 12}, 0.3, RngStream(3, Purpose::split));
  for (std::int64_t i = 0; i < kExamples; ++i)
    images[i][0].narrow(0, i % 4 / 2 * 6, 6).narrow(1, i % 2 * 6, 6).add_(1.5);
  data.train = Examples(images, labels);
  data.test = Examples(images.narrow(0, 0, 20).clone(), labels.narrow(0, 0, 20).clone());
  data.public_split = data.test;
  return data;
}

TrialSpec Spec() {
  TrialSpec spec;
  spec.role = Role::teacher;
  spec.method = "ensemble";
  spec.network = "hog-linear";
  spec.members = kMembers;
  spec.ridge = 0.3;
  spec.seed = 4;
  return spec;
}

Outcome Trained(const TrialSpec& spec, const Dataset& data, Collective& gang) {
  ReleaseTape tape(nullptr, gang);
  const auto method = std::move(MakeMethod({spec, data, nullptr, tape, gang})).value();
  EXPECT_EQ(method->steps(), 1);
  Series series;
  EXPECT_TRUE(method->Step(0, series).ok());
  return std::move(method->Finish()).value();
}

Outcome Trained(const TrialSpec& spec, const Dataset& data) { return Trained(spec, data, *MakeSoloCollective()); }

at::Tensor HeadsOf(const Outcome& outcome) {
  for (const storage::TensorBlob& blob : outcome.parameters)
    if (blob.name == "teacher/heads") return FromBlob(blob).value();
  return {};
}

// (X^T X + strength I) W^T = X^T Y, written out.
at::Tensor NormalEquations(const at::Tensor& features, const at::Tensor& labels, double strength) {
  const at::Tensor x = features.to(at::kDouble), y = at::one_hot(labels, 4).to(at::kDouble) - 0.25;
  const at::Tensor gram = at::matmul(x.t(), x) + at::eye(x.size(1), at::kDouble) * strength;
  return at::linalg_solve(gram, at::matmul(x.t(), y)).t();
}

TEST(RidgeHead, SolvesTheNormalEquationsWhicheverSystemIsTheSmaller) {
  const at::Tensor labels = at::arange(30, at::kLong).remainder(4);
  for (const std::int64_t values : {5, 80}) {
    const at::Tensor features = NormalRows(30, values, RngStream(7));
    const at::Tensor expected = NormalEquations(features, labels, 0.3);
    EXPECT_TRUE(at::allclose(RidgeHead(features, labels, 4, 0.3).to(at::kDouble), expected, 1e-5, 1e-6)) << values;
  }
}

TEST(RidgeEnsemble, EveryMemberIsTheSolutionOfItsOwnShard) {
  const Dataset data = Quarters();
  const TrialSpec spec = Spec();
  const Outcome outcome = Trained(spec, data);
  const auto network =
      std::move(MakeNetwork("hog-linear", data.shape, 4, RngStream(4, Purpose::parameters))).value();
  const at::Tensor heads = HeadsOf(outcome);
  const Shards shards = ShardsOf(spec, data).value();
  for (std::int64_t m = 0; m < kMembers; ++m) {
    const Examples shard = data.train.Rows(shards[static_cast<std::size_t>(m)]);
    const at::Tensor seen = SeenByHead(*network, *FrozenFront(*network), shard);
    EXPECT_TRUE(at::allclose(heads[m].to(at::kDouble), NormalEquations(seen, shard.labels, 0.3), 1e-4, 1e-5)) << m;
  }
  EXPECT_GE(outcome.metrics.front().second, 0.9);
}

TEST(RidgeEnsemble, AChangedExampleChangesItsOwnMemberAlone) {
  const Dataset data = Quarters();
  const TrialSpec spec = Spec();
  Dataset changed = data;
  at::Tensor images = data.train.Range(0, kExamples).clone();
  images[20].copy_(images[21].flip(1));
  at::Tensor labels = data.train.labels.clone();
  labels[20] = 3;
  changed.train = Examples(images, labels);
  const at::Tensor before = HeadsOf(Trained(spec, data)), after = HeadsOf(Trained(spec, changed));
  const Shards shards = ShardsOf(spec, data).value();
  for (std::int64_t m = 0; m < kMembers; ++m) {
    const bool own = (shards[static_cast<std::size_t>(m)] == 20).any().item<bool>();
    EXPECT_EQ(at::equal(before[m], after[m]), !own) << m;
  }
}

TEST(RidgeEnsemble, AGangFitsTheSameHeads) {
  const Dataset data = Quarters();
  const TrialSpec spec = Spec();
  const at::Tensor alone = HeadsOf(Trained(spec, data));
  auto gang = MakeLocalGang(2, std::chrono::seconds(60));
  std::vector<at::Tensor> heads(2);
  std::thread other([&] { heads[1] = HeadsOf(Trained(spec, data, *gang[1])); });
  heads[0] = HeadsOf(Trained(spec, data, *gang[0]));
  other.join();
  EXPECT_TRUE(at::equal(heads[0], heads[1]));
  EXPECT_TRUE(at::allclose(heads[0], alone, 1e-5, 1e-6));
}

TEST(RidgeEnsemble, IsLoadedAsTheMembersThatWereFitted) {
  const Dataset data = Quarters();
  Outcome outcome = Trained(Spec(), data);
  const auto load = [&](std::int64_t members, RowShare share) {
    return LoadEnsemble("hog-linear", members, data.shape, 4, "teacher/", outcome.parameters, share);
  };
  const auto some = std::move(load(kMembers, {2, 3})).value();
  const auto network =
      std::move(MakeNetwork("hog-linear", data.shape, 4, RngStream(4, Purpose::parameters))).value();
  const at::Tensor images = data.test.Range(0, 7);
  const at::Tensor seen = network->ForwardTo(*FrozenFront(*network), images);
  const at::Tensor logits = some->Forward(images), heads = HeadsOf(outcome);
  ASSERT_EQ(logits.sizes(), (std::vector<std::int64_t>{3, 7, 4}));
  for (std::int64_t m = 0; m < 3; ++m)
    EXPECT_TRUE(at::allclose(logits[m], at::matmul(seen, heads[2 + m].t()), 1e-4, 1e-5)) << m;
  EXPECT_EQ(load(kMembers + 1, {0, 1}).status().code(), StatusCode::damage);
  std::erase_if(outcome.parameters, [](const auto& blob) { return blob.name == "teacher/whiten.mean"; });
  EXPECT_EQ(load(kMembers, {0, 1}).status().code(), StatusCode::damage);
}

TEST(RidgeEnsemble, NeedsANetworkThatIsFrozenButForItsLastLayer) {
  const Dataset data = Quarters();
  TrialSpec spec = Spec();
  spec.network = "datalens-x0.125";
  const auto solo = MakeSoloCollective();
  ReleaseTape tape(nullptr, *solo);
  EXPECT_EQ(MakeMethod({spec, data, nullptr, tape, *solo}).status().code(), StatusCode::usage);
}

}  // namespace
}  // namespace retort::worker
