#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/unit/worker/gang/collective_contract.h"
#include "worker/gang/gloo_collective.h"
#include "worker/gang/local_collective.h"

namespace retort::worker {
namespace {

GangMaker Solo() {
  return {"Solo", 1, [](int) { return nullptr; },
          [](const std::shared_ptr<void>&, int, int) { return MakeSoloCollective(); }};
}

GangMaker Threads(const char* name, int gang_size) {
  using Members = std::vector<std::unique_ptr<Collective>>;
  return {name, gang_size, [](int size) { return std::make_shared<Members>(MakeLocalGang(size, kContractDeadline)); },
          [](const std::shared_ptr<void>& meeting, int rank, int) {
            return std::move((*std::static_pointer_cast<Members>(meeting))[static_cast<std::size_t>(rank)]);
          }};
}

GangMaker Gloo(const char* name, int gang_size) {
  return {name, gang_size, [](int) { return std::shared_ptr<GangStore>(OpenGangStore("127.0.0.1").value()); },
          [](const std::shared_ptr<void>& meeting, int rank, int size) {
            GangMembership membership;
            membership.rank = {rank};
            membership.size = size;
            membership.address = std::static_pointer_cast<GangStore>(meeting)->address();
            membership.host = "127.0.0.1";
            membership.deadline = kContractDeadline;
            auto joined = JoinGlooGang(membership);
            EXPECT_TRUE(joined.ok()) << joined.status().message();
            return joined.ok() ? std::move(joined).value() : nullptr;
          }};
}

INSTANTIATE_TEST_SUITE_P(Implementations, CollectiveContract,
                         ::testing::Values(Solo(), Threads("Threads1", 1), Threads("Threads3", 3), Gloo("Gloo1", 1),
                                           Gloo("Gloo2", 2), Gloo("Gloo3", 3)),
                         [](const auto& maker) { return maker.param.name; });

TEST(LocalGang, SilentPeerIsAnErrorAfterTheDeadline) {
  auto gang = MakeLocalGang(2, std::chrono::milliseconds(50));
  at::Tensor values = at::ones({1});
  const Status status = gang[0]->AllReduceSum(values);
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(gang[1]->Barrier().code(), StatusCode::environment);  // broken for good
}

TEST(LocalGang, LossOfAMemberFailsTheOthersAtOnce) {
  auto gang = MakeLocalGang(2, std::chrono::seconds(60));
  std::thread leaver([&] { gang[1].reset(); });
  const Status status = gang[0]->Barrier();
  leaver.join();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_NE(status.message().find("rank 1"), std::string::npos);
}

TEST(GlooGang, GenerationsOverOneStoreDoNotMeet) {
  const auto store = OpenGangStore("127.0.0.1").value();
  for (std::uint64_t generation = 1; generation <= 2; ++generation) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        auto gang = JoinGlooGang({{rank}, 2, {generation}, store->address(), "127.0.0.1", kContractDeadline});
        ASSERT_TRUE(gang.ok()) << gang.status().message();
        EXPECT_TRUE((*gang)->Barrier().ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// What rank 0 of a gang over Gloo has of a sum that is cut into parts of `part` numbers.
at::Tensor GlooSum(int size, std::int64_t part) {
  const auto store = OpenGangStore("127.0.0.1").value();
  at::Tensor first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto gang = JoinGlooGang({{rank}, size, {1}, store->address(), "127.0.0.1", kContractDeadline});
      ASSERT_TRUE(gang.ok()) << gang.status().message();
      const at::Tensor values = at::sin(at::arange(6000, at::kFloat) * (1.3 + rank));
      std::vector<std::unique_ptr<PendingOperation>> sums;
      for (at::Tensor cut : values.split(part)) sums.push_back((*gang)->BeginAllReduceSum(cut).value());
      for (const auto& sum : sums) EXPECT_TRUE(sum->Wait().ok());
      if (rank == 0) first = values;
      EXPECT_TRUE((*gang)->Barrier().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return first;
}

TEST(GlooGang, TwoMembersHaveTheSameBitsHoweverASumIsCut) {
  EXPECT_TRUE(at::equal(GlooSum(2, 6000), GlooSum(2, 1000)));
}

TEST(GlooGang, ThreeMembersHaveTheSameBitsInEveryRun) { EXPECT_TRUE(at::equal(GlooSum(3, 1000), GlooSum(3, 1000))); }

TEST(GlooGang, MissingMemberIsAnErrorThatNamesTheRank) {
  const auto store = OpenGangStore("127.0.0.1").value();
  const auto gang = JoinGlooGang({{0}, 2, {1}, store->address(), "127.0.0.1", std::chrono::milliseconds(300)});
  ASSERT_FALSE(gang.ok());
  EXPECT_EQ(gang.status().code(), StatusCode::environment);
  EXPECT_NE(gang.status().message().find("Gang rank 0 of 2"), std::string::npos);
}

TEST(GlooGang, AddressThatIsNoAddressIsAnError) {
  for (const char* address : {"", "host", "host:", "host:0", "host:70000", "host:12x"}) {
    const auto gang = JoinGlooGang({{0}, 1, {1}, address, "127.0.0.1", std::chrono::milliseconds(100)});
    ASSERT_FALSE(gang.ok()) << address;
    EXPECT_NE(gang.status().message().find("HOST:PORT"), std::string::npos);
  }
}

}  // namespace
}  // namespace retort::worker
