// What a learner does with the running statistics of its network: in a gang, and over an interruption.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "worker/gang/local_collective.h"
#include "worker/models/model_registry.h"
#include "worker/training/learner.h"

namespace retort::worker::batch_norm_training_test {
namespace {

constexpr std::int64_t kClasses = 3;

std::unique_ptr<Network> Make() {
  return std::move(MakeNetwork("dense-mnist", {1, 12, 12}, kClasses, RngStream(1, Purpose::parameters))).value();
}

at::Tensor Images(std::int64_t rows) { return at::arange(rows * 144, at::kFloat).sin().view({rows, 1, 12, 12}); }

at::Tensor Targets(std::int64_t rows) {
  return MakeOneHotTargets(at::arange(rows, at::kLong).remainder(kClasses), kClasses);
}

// The state of every member after one step on each of the batches.
std::vector<std::vector<storage::TensorBlob>> TrainedInGang(int size, const std::vector<std::int64_t>& batches) {
  auto gang = MakeLocalGang(size, std::chrono::seconds(20));
  std::vector<std::vector<storage::TensorBlob>> states(static_cast<std::size_t>(size));
  std::vector<std::thread> members;
  for (std::size_t rank = 0; rank < states.size(); ++rank) {
    members.emplace_back([&, rank] {
      Learner learner(Make(), *gang[rank]);
      for (const std::int64_t rows : batches)
        EXPECT_TRUE(learner.Teach(OwnMinibatch(Images(rows), Targets(rows), *gang[rank]), 1e-3, std::nullopt).ok());
      states[rank] = learner.network().StateBlobs("");
    });
  }
  for (std::thread& member : members) member.join();
  return states;
}

const storage::TensorBlob& Entry(const std::vector<storage::TensorBlob>& state, const std::string& name) {
  for (const storage::TensorBlob& blob : state)
    if (blob.name == name) return blob;
  ADD_FAILURE() << name;
  return state.front();
}

TEST(BatchNormInAGang, LeavesEveryMemberWithTheSameStatistics) {
  const auto states = TrainedInGang(2, {7, 6, 5});
  EXPECT_EQ(states[0], states[1]);
  EXPECT_EQ(Entry(states[0], "layer1.1.num_batches_tracked").bytes[0], 3);
}

TEST(BatchNormInAGang, MemberWithoutRowsTakesTheOthersStatistics) {
  const auto states = TrainedInGang(3, {2, 2});
  EXPECT_EQ(states[0], states[1]);
  EXPECT_EQ(states[0], states[2]);
}

// The first layer's means are linear in the rows, so members' means add up to those of the whole batch.
TEST(BatchNormInAGang, FirstRunningMeansAreThoseOfTheWholeBatch) {
  const auto name = "layer1.1.running_mean";
  const auto together = TrainedInGang(2, {7}), alone = TrainedInGang(1, {7});
  const auto& a = Entry(together[0], name).bytes;
  const auto& b = Entry(alone[0], name).bytes;
  const auto values = [](const std::vector<std::uint8_t>& bytes) {
    return at::from_blob(const_cast<std::uint8_t*>(bytes.data()), {16}, at::kFloat).clone();
  };
  EXPECT_TRUE(at::allclose(values(a), values(b), 1e-4, 1e-6));
  EXPECT_GT(values(b).abs().max().item<double>(), 1e-3);
}

TEST(Learner, GoesOnWithTheSameStatisticsAfterAnInterruption) {
  const auto solo = MakeSoloCollective();
  const auto teach = [](Learner& learner) {
    EXPECT_TRUE(learner.Teach({Images(6), Targets(6), 0, 6}, 1e-3, std::nullopt).ok());
  };
  Learner whole(Make(), *solo), first(Make(), *solo), second(Make(), *solo);
  teach(whole);
  teach(whole);
  teach(first);
  TrainState saved, restored;
  first.Register(saved, "student/");
  second.Register(restored, "student/");
  ASSERT_TRUE(restored.Load(saved.Save()).ok());
  teach(second);
  EXPECT_EQ(second.network().StateBlobs(""), whole.network().StateBlobs(""));
}

TEST(Learner, KeepsNoEntriesForANetworkWithoutBatchNorms) {
  const auto solo = MakeSoloCollective();
  Learner learner(std::move(MakeNetwork("tanh-cnn", {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value(),
                  *solo);
  TrainState state;
  learner.Register(state, "student/");
  for (const storage::TensorBlob& blob : state.Save())
    EXPECT_TRUE(blob.name == "student/parameters" || blob.name.starts_with("student/adam/")) << blob.name;
}

}  // namespace
}  // namespace retort::worker::batch_norm_training_test
