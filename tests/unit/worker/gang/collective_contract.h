// What every Collective does, whatever carries it; instantiated for each implementation.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "worker/gang/collective.h"

namespace retort::worker {

inline constexpr std::chrono::milliseconds kContractDeadline{5000};

struct GangMaker {
  const char* name;
  int size;
  // Called in member `rank`'s own thread; `meeting` is shared by the members of one gang.
  std::function<std::shared_ptr<void>(int size)> open;
  std::function<std::unique_ptr<Collective>(std::shared_ptr<void> meeting, int rank, int size)> join;
  // Of the tensors that the members bring; device `rank` of its kind, where the kind has several.
  at::DeviceType kind = at::kCPU;
};

class CollectiveContract : public ::testing::TestWithParam<GangMaker> {
 protected:
  // Where the member's tensors lie.
  static at::TensorOptions On(const Collective& gang, at::ScalarType type = at::kFloat) {
    const at::DeviceType kind = GetParam().kind;
    const int ordinal = kind == at::kCPU ? -1 : gang.rank().value;
    return at::device(at::Device(kind, static_cast<at::DeviceIndex>(ordinal))).dtype(type);
  }
  // Equal bits, wherever they lie.
  static bool Same(const at::Tensor& a, const at::Tensor& b) { return at::equal(a.cpu(), b.cpu()); }

  // Runs `body` in one thread for each member.
  void InEveryMember(const std::function<void(Collective&)>& body) const {
    const GangMaker& maker = GetParam();
    const auto meeting = maker.open(maker.size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < maker.size; ++rank) {
      threads.emplace_back([&, rank] {
        const auto collective = maker.join(meeting, rank, maker.size);
        ASSERT_NE(collective, nullptr);
        body(*collective);
        // Nobody leaves while another still works.
        EXPECT_TRUE(collective->Barrier().ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_P(CollectiveContract, RanksAreDistinctAndKnowTheSize) {
  std::vector<int> seen(static_cast<std::size_t>(GetParam().size));
  InEveryMember([&](Collective& gang) {
    EXPECT_EQ(gang.size(), GetParam().size);
    seen.at(static_cast<std::size_t>(gang.rank().value)) += 1;
  });
  for (const int count : seen) EXPECT_EQ(count, 1);
}

TEST_P(CollectiveContract, AllReduceSumsFloatsOnEveryMember) {
  InEveryMember([&](Collective& gang) {
    at::Tensor values = at::arange(1000, On(gang)) * static_cast<double>(gang.rank().value + 1);
    ASSERT_TRUE(gang.AllReduceSum(values).ok());
    const double factor = gang.size() * (gang.size() + 1) / 2.0;
    EXPECT_TRUE(Same(values, at::arange(1000, at::kFloat) * factor));
  });
}

TEST_P(CollectiveContract, AllReduceSumsIntegersExactly) {
  InEveryMember([&](Collective& gang) {
    at::Tensor votes = at::full({3, 5}, (1 << 24) + 1 + gang.rank().value, On(gang, at::kInt));
    ASSERT_TRUE(gang.AllReduceSum(votes).ok());
    const int n = gang.size();
    EXPECT_TRUE(Same(votes, at::full({3, 5}, n * ((1 << 24) + 1) + n * (n - 1) / 2, at::kInt)));
  });
}

TEST_P(CollectiveContract, AllReduceGivesTheSameBitsEverywhere) {
  std::vector<at::Tensor> sums(static_cast<std::size_t>(GetParam().size));
  InEveryMember([&](Collective& gang) {
    at::Tensor values = at::sin(at::arange(4097, On(gang)) * (1.3 + gang.rank().value));
    ASSERT_TRUE(gang.AllReduceSum(values).ok());
    sums[static_cast<std::size_t>(gang.rank().value)] = values;
  });
  for (const at::Tensor& sum : sums) EXPECT_TRUE(Same(sum, sums[0]));
}

TEST_P(CollectiveContract, BroadcastBringsTheRootsValues) {
  InEveryMember([&](Collective& gang) {
    const GangRank root{gang.size() - 1};
    at::Tensor values = at::full({2, 3}, static_cast<float>(gang.rank().value), On(gang));
    ASSERT_TRUE(gang.Broadcast(values, root).ok());
    EXPECT_TRUE(Same(values, at::full({2, 3}, static_cast<float>(root.value))));
  });
}

TEST_P(CollectiveContract, GatherBringsEveryMembersValuesToTheRootInRankOrder) {
  InEveryMember([&](Collective& gang) {
    const auto parts = gang.Gather(at::full({2, 2}, static_cast<float>(gang.rank().value), On(gang)), GangRank{0});
    ASSERT_TRUE(parts.ok());
    ASSERT_EQ(parts->size(), gang.rank().value == 0 ? static_cast<std::size_t>(gang.size()) : 0u);
    for (std::size_t i = 0; i < parts->size(); ++i) {
      EXPECT_TRUE(Same((*parts)[i], at::full({2, 2}, static_cast<float>(i))));
    }
  });
}

TEST_P(CollectiveContract, AllGatherBringsEveryMembersValuesToAllInRankOrder) {
  InEveryMember([&](Collective& gang) {
    const auto parts = gang.AllGather(at::full({2, 3}, std::int64_t{gang.rank().value}, On(gang, at::kLong)));
    ASSERT_TRUE(parts.ok());
    ASSERT_EQ(parts->size(), static_cast<std::size_t>(gang.size()));
    for (std::size_t i = 0; i < parts->size(); ++i)
      EXPECT_TRUE(Same((*parts)[i], at::full({2, 3}, static_cast<std::int64_t>(i), at::kLong)));
  });
}

TEST_P(CollectiveContract, SumsUnderWayAtOnceAreThoseOfTheBlockingCall) {
  InEveryMember([&](Collective& gang) {
    std::vector<at::Tensor> values;
    for (int i = 0; i < 8; ++i)
      values.push_back(at::full({100 + i}, static_cast<float>((i + 1) * (gang.rank().value + 1)), On(gang)));
    std::vector<std::unique_ptr<PendingOperation>> pending;
    for (at::Tensor& part : values) {
      auto begun = gang.BeginAllReduceSum(part);
      ASSERT_TRUE(begun.ok());
      pending.push_back(std::move(*begun));
    }
    for (auto& operation : pending) ASSERT_TRUE(operation->Wait().ok());
    const int n = gang.size();
    for (int i = 0; i < 8; ++i)
      EXPECT_TRUE(Same(values[static_cast<std::size_t>(i)],
                       at::full({100 + i}, static_cast<float>((i + 1) * n * (n + 1) / 2))));
  });
}

TEST_P(CollectiveContract, ManyOperationsKeepTheirOrder) {
  InEveryMember([&](Collective& gang) {
    for (int i = 0; i < 50; ++i) {
      at::Tensor values = at::full({1}, static_cast<float>(i), On(gang));
      ASSERT_TRUE(gang.AllReduceSum(values).ok());
      ASSERT_EQ(values.item<float>(), static_cast<float>(i * gang.size()));
      at::Tensor sent = at::full({1}, static_cast<float>(gang.rank().value * 100 + i), On(gang));
      ASSERT_TRUE(gang.Broadcast(sent, GangRank{0}).ok());
      ASSERT_EQ(sent.item<float>(), static_cast<float>(i));
    }
  });
}

}  // namespace retort::worker
