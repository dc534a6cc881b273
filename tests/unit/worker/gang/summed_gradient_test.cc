#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/worker/gang/twin_gang.h"
#include "worker/gang/collective_decorators.h"
#include "worker/gang/gang_batch_norm.h"
#include "worker/gang/local_collective.h"
#include "worker/gang/row_share.h"
#include "worker/gang/summed_gradient.h"
#include "worker/models/model_registry.h"
#include "worker/tensors/autograd.h"

namespace retort::worker {
namespace {

void InGang(int size, const std::function<void(Collective&)>& body) {
  auto gang = MakeLocalGang(size, std::chrono::seconds(20));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Collective& own = *gang[static_cast<std::size_t>(rank)];
      body(own);
      EXPECT_TRUE(own.Barrier().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RowShare, SharesCoverEveryRowOnceInRankOrder) {
  for (const std::int64_t rows : {0, 1, 2, 5, 64, 65}) {
    InGang(3, [rows](Collective& gang) {
      const at::Tensor whole = at::arange(rows * 2, at::kFloat).view({rows, 2});
      const RowShare share = ComputeRowShare(rows, gang);
      EXPECT_LE(share.count, (rows + 2) / 3);
      const auto all = AllGatherRows(Own(whole, share), rows, gang);
      ASSERT_TRUE(all.ok());
      EXPECT_TRUE(at::equal(*all, whole));
      const auto root = GatherRowsToRoot(Own(whole, share), rows, gang);
      ASSERT_TRUE(root.ok());
      EXPECT_EQ(root->defined(), gang.rank().value == 0);
      EXPECT_TRUE(!root->defined() || at::equal(*root, whole));
    });
  }
}

TEST(BroadcastFromRoot, BringsTypeShapeAndValues) {
  for (const at::Tensor& value :
       {at::arange(6, at::kFloat).view({2, 3}), at::arange(5, at::kLong), at::zeros({0, 4}, at::kInt),
        at::full({}, 3.5, at::kDouble), at::arange(4, at::kByte).view({1, 2, 2})}) {
    InGang(2, [&value](Collective& gang) {
      const auto got = BroadcastFromRoot(gang.rank().value == 0 ? value : at::Tensor(), gang);
      ASSERT_TRUE(got.ok());
      EXPECT_EQ(got->scalar_type(), value.scalar_type());
      EXPECT_TRUE(at::equal(*got, value));
    });
  }
}

// Small buckets, one bucket, and everything between.
TEST(SumGradients, IsTheGradientOfTheWholeBatchForEveryBucketSize) {
  const at::Tensor images = at::randn({7, 1, 28, 28}), seeds = at::randn({7, 10});
  const auto make = [] {
    return std::move(MakeNetwork("datalens-x0.125", {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
  };
  const auto reference = make();
  const auto solo = MakeSoloCollective();
  ASSERT_TRUE(SumGradients({reference->Forward(images).logits}, {seeds}, reference->parameters(), *solo).ok());
  const at::Tensor want = reference->parameters().gradient();
  for (const std::int64_t bucket : {1, 1000, 100'000, 1 << 30}) {
    InGang(3, [&](Collective& gang) {
      const auto network = make();
      const RowShare share = ComputeRowShare(7, gang);
      const at::Tensor logits = network->Forward(Own(images, share)).logits;
      ASSERT_TRUE(SumGradients({logits}, {Own(seeds, share)}, network->parameters(), gang, bucket).ok());
      EXPECT_TRUE(at::allclose(network->parameters().gradient(), want, 1e-4, 1e-5));
    });
  }
}

TEST(SumGradients, AMemberWithoutRowsContributesNothing) {
  const at::Tensor images = at::randn({1, 1, 28, 28}), seeds = at::randn({1, 10});
  InGang(2, [&](Collective& gang) {
    auto network = std::move(MakeNetwork("logistic", {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
    std::vector<at::Tensor> outputs, own;
    if (gang.rank().value == 0) {
      outputs = {network->Forward(images).logits};
      own = {seeds};
    }
    ASSERT_TRUE(SumGradients(outputs, own, network->parameters(), gang, 1).ok());
    EXPECT_GT(network->parameters().gradient().abs().sum().item<float>(), 0);
  });
}

TEST(SumGradients, ALeafOfOnesOwnGetsTheGradientOfOnesOwnOutputs) {
  const at::Tensor seeds = at::randn({6, 10});
  const at::Tensor inputs = at::randn({6, 1, 2, 2});
  const auto make = [] {
    return std::move(MakeNetwork("logistic", {1, 2, 2}, 10, RngStream(1, Purpose::parameters))).value();
  };
  const at::Tensor want = at::matmul(seeds, make()->parameters().leaves()[0]).view({6, 1, 2, 2});
  for (const int size : {1, 3}) {
    InGang(size, [&](Collective& gang) {
      const auto network = make();
      const RowShare share = ComputeRowShare(6, gang);
      OwnLeaf own{Own(inputs, share).clone().requires_grad_(true)};
      const at::Tensor logits = network->Forward(own.leaf).logits;
      ASSERT_TRUE(SumGradients({logits}, {Own(seeds, share)}, network->parameters(), gang, kBucketFloats, &own).ok());
      EXPECT_TRUE(at::allclose(own.gradient, Own(want, share), 1e-5, 1e-6));
      const at::Tensor all = at::matmul(seeds.t(), inputs.view({6, 4}));
      EXPECT_TRUE(at::allclose(network->parameters().gradient_views()[0], all, 1e-4, 1e-5));
    });
  }
}

// Notes which part of a network's gradient each sum is of, and whether the first parameter's was known then.
class NotedGang final : public TwinGang {
 public:
  explicit NotedGang(ParameterArena& parameters) : parameters_(parameters) {}
  Result<std::unique_ptr<PendingOperation>> BeginAllReduceSum(at::Tensor& values) override {
    first_.push_back(values.storage_offset());
    count_.push_back(values.numel());
    early_.push_back(!parameters_.gradient_views()[0].any().item<bool>());
    return TwinGang::BeginAllReduceSum(values);
  }
  std::vector<std::int64_t> first_, count_;
  std::vector<bool> early_;

 private:
  ParameterArena& parameters_;
};

TEST(SumGradients, BucketsBeginFromTheEndWhileBackwardGoesOn) {
  const auto network = std::move(MakeNetwork("datalens", {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
  ParameterArena& parameters = network->parameters();
  NotedGang gang(parameters);
  const at::Tensor logits = network->Forward(at::randn({2, 1, 28, 28})).logits;
  ASSERT_TRUE(SumGradients({logits}, {at::randn({2, 10})}, parameters, gang, 1000).ok());
  ASSERT_GT(gang.first_.size(), 2u);
  std::int64_t end = parameters.gradient().numel();
  for (std::size_t i = 0; i < gang.first_.size(); ++i) {
    EXPECT_EQ(gang.first_[i] + gang.count_[i], end);
    EXPECT_TRUE(gang.count_[i] >= 1000 || gang.first_[i] == 0);
    EXPECT_EQ(gang.early_[i], i + 1 < gang.first_.size()) << "bucket " << i;
    end = gang.first_[i];
  }
  EXPECT_EQ(end, 0);
}

TEST(SumGradients, AParameterThatOneMemberAloneReachesIsSummed) {
  InGang(2, [&](Collective& gang) {
    auto network = std::move(MakeNetwork("datalens", {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
    const std::vector<at::Tensor>& leaves = network->parameters().leaves();
    // The other member's graph reaches the first parameter only.
    at::Tensor output = leaves[0].sum();
    if (gang.rank().value == 0)
      for (std::size_t i = 1; i < leaves.size(); ++i) output = output + leaves[i].sum();
    ASSERT_TRUE(SumGradients({output}, {at::ones({})}, network->parameters(), gang, 1).ok());
    for (std::size_t i = 0; i < leaves.size(); ++i)
      EXPECT_TRUE((network->parameters().gradient_views()[i] == (i == 0 ? 2 : 1)).all().item<bool>()) << i;
  });
}

// The sums end with an error only when they are waited for.
class LateGang final : public TwinGang {
 public:
  Result<std::unique_ptr<PendingOperation>> BeginAllReduceSum(at::Tensor&) override {
    return std::unique_ptr<PendingOperation>(std::make_unique<Late>());
  }

 private:
  struct Late final : PendingOperation {
    Status Wait() override { return EnvironmentError("the other member is late"); }
  };
};

TEST(SumGradients, ASumThatEndsLateIsTheGangsError) {
  WatchedCollective gang(std::make_unique<LateGang>());
  auto network = std::move(MakeNetwork("logistic", {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
  const at::Tensor logits = network->Forward(at::randn({4, 1, 28, 28})).logits;
  const Status summed = SumGradients({logits}, {at::ones_like(logits)}, network->parameters(), gang);
  EXPECT_EQ(summed.message(), "the other member is late");
  EXPECT_EQ(gang.status().message(), "the other member is late");
}

TEST(BufferArena, StatisticsChangeWhenTheirSumIsWaitedFor) {
  InGang(3, [](Collective& gang) {
    BufferArena waited({5, 3}, {}, at::kCPU), begun({5, 3}, {}, at::kCPU);
    const std::int64_t rows = 1 + gang.rank().value;
    for (BufferArena* arena : {&waited, &begun}) arena->flat().copy_(at::sin(at::arange(16) * rows));
    ASSERT_TRUE(waited.ShareInGang(rows, 6, gang).ok());
    const at::Tensor own = begun.flat().clone();
    const auto version = begun.flat()._version();
    const auto sharing = begun.BeginShareInGang(rows, 6, gang);
    ASSERT_TRUE(sharing.ok());
    EXPECT_TRUE(at::equal(begun.flat(), own));
    EXPECT_EQ(begun.flat()._version(), version) << "a graph may hold them";
    ASSERT_TRUE((*sharing)->Wait().ok());
    EXPECT_TRUE(at::equal(begun.flat(), waited.flat()));
  });
}

TEST(SumGradients, ALostMemberIsAnError) {
  auto gang = MakeLocalGang(2, std::chrono::seconds(20));
  gang[1].reset();
  auto network = std::move(MakeNetwork("logistic", {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
  const at::Tensor logits = network->Forward(at::randn({4, 1, 28, 28})).logits;
  EXPECT_FALSE(SumGradients({logits}, {at::ones_like(logits)}, network->parameters(), *gang[0]).ok());
}

TEST(GangBatchNorm, IsBatchNormOfTheWholeBatchForwardsAndBackwards) {
  const at::Tensor x = at::randn({6, 3, 4, 4}) * 2 + 1, seed = at::randn({6, 3, 4, 4});
  const at::Tensor weight = at::randn({3}), bias = at::randn({3});
  const at::Tensor whole = x.clone().requires_grad_(true), w = weight.clone().requires_grad_(true),
                   b = bias.clone().requires_grad_(true);
  const at::Tensor want = at::batch_norm(whole, w, b, {}, {}, true, 0, 1e-5, false);
  const auto gradients = ComputeVectorJacobian({want}, {seed}, {whole, w, b});
  for (const int size : {1, 2, 4}) {
    InGang(size, [&](Collective& gang) {
      const RowShare share = ComputeRowShare(6, gang);
      const at::Tensor own = Own(x, share).clone().requires_grad_(true), ow = weight.clone().requires_grad_(true),
                       ob = bias.clone().requires_grad_(true);
      const at::Tensor y = GangBatchNorm(own, ow, ob, 1e-5, gang);
      EXPECT_TRUE(at::allclose(y, Own(want, share), 1e-4, 1e-5));
      const auto got = ComputeVectorJacobian({y}, {Own(seed, share)}, {own, ow, ob});
      EXPECT_TRUE(at::allclose(got[0], Own(gradients[0], share), 1e-3, 1e-5));
      at::Tensor sum = got[1].clone();
      ASSERT_TRUE(gang.AllReduceSum(sum).ok());
      EXPECT_TRUE(at::allclose(sum, gradients[1], 1e-3, 1e-4));
    });
  }
}

}  // namespace
}  // namespace retort::worker
