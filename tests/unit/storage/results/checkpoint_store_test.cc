#include "storage/results/checkpoint_store.h"
#include "experiments/base/digests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "experiments/methods/spec_codec.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using retort::testing::FloatBlob;
using ::testing::HasSubstr;

constexpr char kTrial[] = "trials/t";

Checkpoint At(std::int64_t step) {
  return {step,
          {FloatBlob("student/w", {static_cast<float>(step), 0.5F}), FloatBlob("adam/m", {-1})},
          {{"cursor", std::to_string(step * 10)}, {"empty", ""}}};
}

TranscriptRecord Released(std::int64_t step) { return {step, {FloatBlob("y", {static_cast<float>(step)})}}; }

std::vector<std::int64_t> Steps(const std::vector<TranscriptRecord>& records) {
  std::vector<std::int64_t> steps;
  for (const TranscriptRecord& record : records) steps.push_back(record.step);
  return steps;
}

class CheckpointStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<CheckpointStore> Open(std::uint32_t attempt) {
    auto store = CheckpointStore::Open(env_, kTrial, attempt);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return store.ok() ? std::move(store).value() : nullptr;
  }
  static std::int64_t LatestStep(CheckpointStore& store) {
    const auto latest = store.Latest();
    EXPECT_TRUE(latest.ok()) << latest.status().message();
    return latest.ok() && *latest ? (*latest)->step : -1;
  }
  void Commit(CheckpointStore& store, std::int64_t step) {
    const auto digest = store.Commit(At(step));
    ASSERT_TRUE(digest.ok()) << digest.status().message();
  }
  void Release(CheckpointStore& store, std::int64_t step) { ASSERT_TRUE(store.AppendReleased(Released(step)).ok()); }
  std::vector<std::string> Files(std::uint32_t attempt) {
    return env_.List(std::string(kTrial) + "/attempt-" + std::to_string(attempt)).value();
  }
  void Damage(const std::string& name) { env_.Bytes(std::string(kTrial) + "/" + name)[100] ^= 1; }

  retort::testing::FaultInjectionEnv env_;
};

TEST_F(CheckpointStoreTest, AFirstAttemptHasNothing) {
  auto store = Open(1);
  EXPECT_EQ(LatestStep(*store), -1);
  EXPECT_TRUE(store->Transcript()->empty());
  EXPECT_TRUE(store->Series()->empty());
  EXPECT_EQ(store->directory(), "trials/t/attempt-1");
}

TEST(CheckpointStore, AFolderThatIsALinkLosesNothing) {
  const retort::testing::TemporaryDirectory folder;
  const std::string mine = folder / "mine", trial = folder / "t";
  ASSERT_TRUE(PosixEnv().CreateDirectories(mine).ok() && PosixEnv().CreateDirectories(trial).ok());
  for (const char* name : {"/checkpoint-1.h5", "/notes.tmp"})
    ASSERT_TRUE(PosixEnv().WriteFileAtomically(mine + name, "precious").ok());
  std::filesystem::create_directory_symlink(mine, trial + "/attempt-1");
  const auto store = CheckpointStore::Open(PosixEnv(), trial, 1);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.status().message(), HasSubstr("attempt-1' is a link"));
  EXPECT_EQ(PosixEnv().List(mine).value(), (std::vector<std::string>{"checkpoint-1.h5", "notes.tmp"}));
}

TEST_F(CheckpointStoreTest, ACommittedCheckpointComesBackExactly) {
  auto store = Open(1);
  const auto digest = store->Commit(At(3));
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(*digest, ComputeSha256Hex(env_.Bytes("trials/t/attempt-1/checkpoint-3.h5")));
  for (const bool again : {false, true}) {
    if (again) store = Open(1);
    const auto latest = store->Latest();
    ASSERT_TRUE(latest.ok() && *latest);
    EXPECT_EQ((*latest)->step, 3);
    EXPECT_EQ((*latest)->tensors, At(3).tensors);
    EXPECT_EQ((*latest)->attributes, At(3).attributes);
  }
}

TEST_F(CheckpointStoreTest, EqualCheckpointsHaveEqualDigests) {
  const auto first = Open(1)->Commit(At(3));
  std::vector<std::string> disturb(100, std::string(1000, 'x'));
  const auto second = Open(2)->Commit(At(4));
  retort::testing::FaultInjectionEnv other;
  const auto third = CheckpointStore::Open(other, kTrial, 1).value()->Commit(At(3));
  EXPECT_EQ(first.value(), third.value());
  EXPECT_NE(first.value(), second.value());
}

TEST_F(CheckpointStoreTest, TheLastTwoCheckpointsAreKept) {
  auto store = Open(1);
  for (const std::int64_t step : {1, 2, 3, 4}) Commit(*store, step);
  EXPECT_EQ(Files(1), (std::vector<std::string>{"checkpoint-3.h5", "checkpoint-4.h5", "manifest.log", "series.log",
                                                "transcript-0.log"}));
}

TEST_F(CheckpointStoreTest, AsManyCheckpointsStayAsAreAskedFor) {
  for (const std::size_t kept : {1U, 4U}) {
    auto store = CheckpointStore::Open(env_, kTrial, static_cast<std::uint32_t>(kept), kept);
    ASSERT_TRUE(store.ok());
    for (std::int64_t step = 100; step < 106; ++step) Commit(**store, step);
    std::size_t files = 0;
    for (const std::string& name : Files(static_cast<std::uint32_t>(kept)))
      files += name.rfind("checkpoint-", 0) == 0 ? 1 : 0;
    EXPECT_EQ(files, kept);
    EXPECT_EQ(LatestStep(**store), 105);
    ASSERT_TRUE((*store)->RemoveCheckpoints().ok());
  }
}

TEST_F(CheckpointStoreTest, ACommitThatDoesNotFitIsRefusedBeforeAByteIsWritten) {
  auto store = Open(1);
  Commit(*store, 1);
  const auto before = Files(1);
  env_.SetFreeBytes(std::uint64_t{8} << 20);
  const auto refused = store->Commit(At(2));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::environment);
  EXPECT_THAT(refused.status().message(), HasSubstr("disk is full"));
  EXPECT_THAT(refused.status().message(), HasSubstr("--results"));
  EXPECT_EQ(Files(1), before);
  EXPECT_EQ(LatestStep(*store), 1);
  env_.SetFreeBytes(std::uint64_t{1} << 30);
  Commit(*store, 2);
  EXPECT_EQ(LatestStep(*store), 2);
}

TEST_F(CheckpointStoreTest, CommitRotatesTheTranscriptAndRemovesOldFiles) {
  auto store = Open(1);
  for (std::int64_t step = 0; step < 8; ++step) {
    if (step % 2 == 0 && step > 0) Commit(*store, step);
    Release(*store, step);
  }
  EXPECT_EQ(Steps(*store->Transcript()), (std::vector<std::int64_t>{6, 7}));
  EXPECT_EQ(Files(1), (std::vector<std::string>{"checkpoint-4.h5", "checkpoint-6.h5", "manifest.log", "series.log",
                                                "transcript-4.log", "transcript-6.log"}));
  ASSERT_TRUE(store->RemoveCheckpoints().ok());
  EXPECT_EQ(Files(1), (std::vector<std::string>{"manifest.log", "series.log", "transcript-6.log"}));
}

TEST_F(CheckpointStoreTest, OfOneCheckpointAloneOneTranscriptIsKept) {
  auto store = CheckpointStore::Open(env_, kTrial, 1, 1).value();
  for (std::int64_t step = 0; step < 6; ++step) {
    if (step % 2 == 0) Commit(*store, step);
    Release(*store, step);
  }
  EXPECT_EQ(Files(1), (std::vector<std::string>{"checkpoint-4.h5", "manifest.log", "series.log", "transcript-4.log"}));
}

TEST_F(CheckpointStoreTest, ACommitKeepsReleasesOfWorkItDoesNotCover) {
  auto store = Open(1);
  for (const std::int64_t step : {0, 1, 2}) Release(*store, step);
  Commit(*store, 2);
  EXPECT_EQ(Steps(*store->Transcript()), std::vector<std::int64_t>{2});
  EXPECT_EQ(Steps(*Open(2)->Transcript()), std::vector<std::int64_t>{2});
}

TEST_F(CheckpointStoreTest, TheNextAttemptGoesOnFromTheImportedState) {
  {
    auto store = Open(1);
    store->AppendSeries(0, {{"loss", 4.0}});
    store->AppendSeries(1, {{"loss", 3.0}});
    Commit(*store, 1);
    Release(*store, 1);
    Release(*store, 2);
    store->AppendSeries(2, {{"loss", 2.0}});
    ASSERT_TRUE(store->FlushSeries().ok());
  }
  auto store = Open(2);
  EXPECT_EQ(LatestStep(*store), 1);
  EXPECT_EQ(Steps(*store->Transcript()), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(store->Transcript()->at(1).released, Released(2).released);
  EXPECT_EQ(store->Series()->at("loss"), (std::vector<std::pair<std::int64_t, double>>{{0, 4.0}, {1, 3.0}}));
  Release(*store, 3);
  Commit(*store, 4);
  EXPECT_EQ(LatestStep(*Open(3)), 4);
}

TEST_F(CheckpointStoreTest, AnAttemptWithoutCheckpointHandsItsTranscriptOn) {
  Release(*Open(1), 0);
  auto store = Open(2);
  EXPECT_EQ(LatestStep(*store), -1);
  EXPECT_EQ(Steps(*store->Transcript()), std::vector<std::int64_t>{0});
  Release(*store, 1);
  EXPECT_EQ(Steps(*Open(3)->Transcript()), (std::vector<std::int64_t>{0, 1}));
}

TEST_F(CheckpointStoreTest, TheNewestAttemptWithACheckpointIsImported) {
  Commit(*Open(1), 5);
  Commit(*Open(2), 6);
  ASSERT_TRUE(env_.CreateDirectories("trials/t/attempt-3").ok());
  ASSERT_TRUE(env_.CreateDirectories("trials/t/attempt-9").ok());
  EXPECT_EQ(LatestStep(*Open(4)), 6);
}

TEST_F(CheckpointStoreTest, AttemptNumbersAreComparedAsNumbers) {
  Commit(*Open(9), 9);
  Commit(*Open(10), 10);
  EXPECT_EQ(LatestStep(*Open(11)), 10);
}

TEST_F(CheckpointStoreTest, ADamagedNewestCheckpointGivesWayToTheOneBefore) {
  for (const std::uint32_t reopened : {1U, 2U}) {
    env_ = {};
    {
      auto store = Open(1);
      Commit(*store, 2);
      store->AppendSeries(3, {{"loss", 1.0}});
      Commit(*store, 4);
      Release(*store, 4);
    }
    Damage("attempt-1/checkpoint-4.h5");
    auto store = Open(reopened);
    EXPECT_EQ(LatestStep(*store), 2);
    EXPECT_TRUE(store->Series()->empty());
    Release(*store, 2);
    Commit(*store, 4);
    EXPECT_EQ(LatestStep(*store), 4);
    EXPECT_EQ(LatestStep(*Open(3)), 4);
  }
}

// Eight steps with a release in each, and a checkpoint before every other one: 4 and 6 are kept.
class FallBack : public CheckpointStoreTest, public ::testing::WithParamInterface<std::uint32_t> {
 protected:
  void SetUp() override {
    auto store = Open(1);
    for (std::int64_t step = 0; step < 8; ++step) {
      if (step % 2 == 0) Commit(*store, step);
      Release(*store, step);
    }
  }
  static std::string At(const std::string& name) { return std::string(kTrial) + "/attempt-1/" + name; }
  std::vector<std::int64_t> Continued() { return Steps(*Open(GetParam())->Transcript()); }
};

TEST_P(FallBack, WhatWasReleasedSinceTheOlderCheckpointIsReplayed) {
  Damage("attempt-1/checkpoint-6.h5");
  auto store = Open(GetParam());
  EXPECT_EQ(LatestStep(*store), 4);
  const auto records = store->Transcript().value();
  EXPECT_EQ(Steps(records), (std::vector<std::int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(records[3].released, Released(7).released);
  Commit(*store, 6);
  EXPECT_EQ(Steps(*store->Transcript()), (std::vector<std::int64_t>{6, 7})) << "while it is replayed";
  Release(*store, 8);
  EXPECT_EQ(Steps(*Open(9)->Transcript()), (std::vector<std::int64_t>{6, 7, 8}));
}

TEST_P(FallBack, SoItIsWhenTheCheckpointIsGone) {
  ASSERT_TRUE(env_.Remove(At("checkpoint-6.h5")).ok());
  EXPECT_EQ(Continued(), (std::vector<std::int64_t>{4, 5, 6, 7}));
}

TEST_P(FallBack, AGapIsNotLeaptOver) {
  Damage("attempt-1/checkpoint-6.h5");
  ASSERT_TRUE(env_.Remove(At("transcript-4.log")).ok());
  EXPECT_EQ(Continued(), std::vector<std::int64_t>()) << "releases of 6 and 7 go on from other parameters";
}

TEST_P(FallBack, ALogThatWasCutEndsTheReplay) {
  Damage("attempt-1/checkpoint-6.h5");
  std::string& bytes = env_.Bytes(At("transcript-4.log"));
  bytes.resize(bytes.size() - 18);  // the record that closes it
  EXPECT_EQ(Continued(), (std::vector<std::int64_t>{4, 5}));
}

TEST_P(FallBack, ReleasesAfterAGapNeverComeBack) {
  Damage("attempt-1/checkpoint-6.h5");
  ASSERT_TRUE(env_.Remove(At("transcript-4.log")).ok());
  {
    auto store = Open(GetParam());
    Release(*store, 4);
    Release(*store, 5);
    Commit(*store, 6);
  }
  EXPECT_EQ(Steps(*Open(9)->Transcript()), std::vector<std::int64_t>());
}

INSTANTIATE_TEST_SUITE_P(ReopenedOrNext, FallBack, ::testing::Values(1U, 2U));

TEST_F(CheckpointStoreTest, DamagedTranscriptCostsOnlyItsReleases) {
  {
    auto store = Open(1);
    Commit(*store, 2);
    for (const std::int64_t step : {2, 3, 4}) Release(*store, step);
  }
  env_.Bytes("trials/t/attempt-1/transcript-0.log")[40] ^= 1;
  EXPECT_EQ(CheckpointStore::Open(env_, kTrial, 1).status().code(), StatusCode::damage);
  auto store = Open(2);
  EXPECT_EQ(LatestStep(*store), 2);
  EXPECT_TRUE(store->Transcript()->empty());
}

TEST_F(CheckpointStoreTest, ReleasesAfterALostCopyAreReplayed) {
  {
    auto store = Open(1);
    Commit(*store, 2);
    Release(*store, 2);
  }
  Release(*Open(2), 3);
  Damage("attempt-2/checkpoint-2.h5");
  auto store = Open(3);
  EXPECT_EQ(LatestStep(*store), 2);
  EXPECT_EQ(Steps(*store->Transcript()), (std::vector<std::int64_t>{2, 3}));
}

TEST_F(CheckpointStoreTest, WithEveryCheckpointDamagedTheBeginningIsReplayed) {
  {
    auto store = Open(1);
    Commit(*store, 0);
    Release(*store, 0);
    Commit(*store, 1);
    Release(*store, 1);
  }
  Damage("attempt-1/checkpoint-0.h5");
  Damage("attempt-1/checkpoint-1.h5");
  for (const std::uint32_t attempt : {2U, 1U}) {
    auto store = Open(attempt);
    EXPECT_EQ(LatestStep(*store), -1);
    EXPECT_EQ(Steps(*store->Transcript()), (std::vector<std::int64_t>{0, 1}));
  }
}

TEST_F(CheckpointStoreTest, WhatAFinishedAttemptReleasedIsNotReplayed) {
  {
    auto store = Open(1);
    Release(*store, 0);
    Commit(*store, 0);
    ASSERT_TRUE(store->RemoveCheckpoints().ok());
  }
  for (const std::uint32_t attempt : {2U, 1U}) EXPECT_TRUE(Open(attempt)->Transcript()->empty());
}

// One log for all, emptied at each commit.
TEST_F(CheckpointStoreTest, OlderTranscriptResumesFromTheCheckpointAlone) {
  for (const std::uint32_t next : {1U, 2U}) {
    for (const bool damaged : {false, true}) {
      env_ = {};
      {
        auto store = Open(1);
        for (const std::int64_t step : {2, 4}) Commit(*store, step);
        for (const std::int64_t step : {4, 5}) Release(*store, step);
      }
      env_.Put("trials/t/attempt-1/transcript.log", env_.Bytes("trials/t/attempt-1/transcript-0.log"));
      ASSERT_TRUE(env_.Remove("trials/t/attempt-1/transcript-0.log").ok());
      if (damaged) Damage("attempt-1/checkpoint-4.h5");
      auto store = Open(next);
      EXPECT_EQ(LatestStep(*store), damaged ? 2 : 4);
      EXPECT_EQ(Steps(*store->Transcript()), damaged ? std::vector<std::int64_t>() : (std::vector<std::int64_t>{4, 5}));
      if (next == 1) {
        EXPECT_FALSE(env_.Exists("trials/t/attempt-1/transcript.log"));
      }
    }
  }
}

TEST_F(CheckpointStoreTest, WithEveryCheckpointDamagedTheTrialBeginsAgain) {
  Commit(*Open(1), 2);
  Damage("attempt-1/checkpoint-2.h5");
  EXPECT_EQ(LatestStep(*Open(2)), -1);
  EXPECT_EQ(LatestStep(*Open(1)), -1);
}

TEST_F(CheckpointStoreTest, ADamagedManifestOfAnEarlierAttemptIsPassedOver) {
  Commit(*Open(1), 2);
  Commit(*Open(2), 3);
  env_.Bytes("trials/t/attempt-2/manifest.log")[20] ^= 1;
  EXPECT_EQ(LatestStep(*Open(3)), 2);
}

TEST_F(CheckpointStoreTest, StepsOnlyGrow) {
  auto store = Open(1);
  Commit(*store, 5);
  EXPECT_EQ(store->Commit(At(4)).status().code(), StatusCode::refused);
  EXPECT_EQ(store->AppendReleased(Released(4)).code(), StatusCode::refused);
  EXPECT_EQ(LatestStep(*store), 5);
}

TEST_F(CheckpointStoreTest, ASecondCommitOfOneStepReplacesTheFirst) {
  auto store = Open(1);
  Commit(*store, 5);
  Checkpoint later = At(5);
  later.attributes["cursor"] = "51";
  ASSERT_TRUE(store->Commit(later).ok());
  EXPECT_EQ((*Open(1)->Latest())->attributes.at("cursor"), "51");
  EXPECT_EQ((*Open(2)->Latest())->attributes.at("cursor"), "51");
}

TEST_F(CheckpointStoreTest, CommittingTheSameAgainWritesNothing) {
  auto store = Open(1);
  const auto first = store->Commit(At(5));
  const int operations = env_.operations();
  EXPECT_EQ(store->Commit(At(5)).value(), first.value());
  EXPECT_EQ(env_.operations(), operations);
}

TEST_F(CheckpointStoreTest, WorkDoneAfreshReplacesTheReleasesItRepeats) {
  auto store = Open(1);
  for (const std::int64_t step : {0, 1, 2}) Release(*store, step);
  ASSERT_TRUE(store->AppendReleased({1, {FloatBlob("y", {42})}}).ok());
  const auto records = *store->Transcript();
  EXPECT_EQ(Steps(records), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(records[1].released, std::vector<TensorBlob>{FloatBlob("y", {42})});
}

TEST_F(CheckpointStoreTest, PointsPastTheResumedStepAreDroppedAndOverwritten) {
  {
    auto store = Open(1);
    for (std::int64_t step = 0; step < 3; ++step)
      store->AppendSeries(step, {{"loss", 10.0 + static_cast<double>(step)}});
    Commit(*store, 2);
    store->AppendSeries(3, {{"loss", 13.0}, {"gone", 1.0}});
    ASSERT_TRUE(store->FlushSeries().ok());
  }
  auto store = Open(1);
  store->AppendSeries(2, {{"loss", 22.0}});
  EXPECT_EQ(*store->Series(), (std::map<std::string, std::vector<std::pair<std::int64_t, double>>>{
                                  {"loss", {{0, 10.0}, {1, 11.0}, {2, 22.0}}}}));
}

TEST_F(CheckpointStoreTest, RemovingCheckpointsLeavesNoneInAnyAttempt) {
  Commit(*Open(1), 1);
  auto store = Open(2);
  Commit(*store, 2);
  ASSERT_TRUE(store->RemoveCheckpoints().ok());
  for (const std::uint32_t attempt : {1U, 2U}) {
    EXPECT_THAT(Files(attempt), ::testing::Not(::testing::Contains(HasSubstr("checkpoint-"))));
  }
  EXPECT_EQ(LatestStep(*store), -1);
  EXPECT_EQ(LatestStep(*Open(3)), -1);
}

TEST_F(CheckpointStoreTest, DamagedOlderManifestDoesNotBlockFinishing) {
  Commit(*Open(1), 1);
  Commit(*Open(2), 2);
  auto store = Open(3);
  env_.Bytes("trials/t/attempt-2/manifest.log")[40] ^= 1;
  ASSERT_TRUE(store->RemoveCheckpoints().ok());
  EXPECT_THAT(Files(1), ::testing::Not(::testing::Contains(HasSubstr("checkpoint-"))));
  EXPECT_THAT(Files(3), ::testing::Not(::testing::Contains(HasSubstr("checkpoint-"))));
}

TEST_F(CheckpointStoreTest, TensorsKeepTheirOrderTypesAndShapes) {
  using retort::testing::Blob;
  Checkpoint checkpoint;
  checkpoint.tensors = {Blob<double>("z/last", DType::f64, {2, 1}, {1e300, -0.0}),
                        Blob<std::uint8_t>("a", DType::u8, {3}, {0, 1, 255}),
                        Blob<std::int32_t>("z/first", DType::i32, {0, 4}, {}),
                        Blob<std::int64_t>("m/n/o", DType::i64, {}, {-7}),
                        Blob<std::uint32_t>("u32", DType::u32, {1}, {4000000000U}),
                        Blob<std::uint64_t>("u64", DType::u64, {1}, {18446744073709551615U})};
  checkpoint.attributes["long"] = std::string(200'000, 'x');
  checkpoint.attributes["utf-8"] = "Δ²/σ²";
  auto store = Open(1);
  ASSERT_TRUE(store->Commit(checkpoint).ok());
  const auto latest = *store->Latest();
  EXPECT_EQ(latest->tensors, checkpoint.tensors);
  EXPECT_EQ(latest->attributes, checkpoint.attributes);
}

TEST_F(CheckpointStoreTest, WhatHdf5CannotHoldIsRefusedWithoutACommit) {
  auto store = Open(1);
  Checkpoint checkpoint = At(1);
  checkpoint.attributes["nul"] = std::string("a\0b", 3);
  EXPECT_EQ(store->Commit(checkpoint).status().code(), StatusCode::refused);
  checkpoint = At(1);
  checkpoint.tensors[0].name = "student//w";
  EXPECT_EQ(store->Commit(checkpoint).status().code(), StatusCode::refused);
  checkpoint = At(1);
  checkpoint.tensors[0].shape = {3};
  EXPECT_EQ(store->Commit(checkpoint).status().code(), StatusCode::refused);
  EXPECT_EQ(LatestStep(*store), -1);
  EXPECT_EQ(LatestStep(*Open(2)), -1);
}

// The library that reads the bytes must not mind that a file of that name lies on the disk.
TEST(CheckpointStore, RealFileSystemGivesTheCheckpointBack) {
  const retort::testing::TemporaryDirectory folder;
  const std::string trial = folder / "trial";
  for (const std::uint32_t attempt : {1U, 2U, 3U}) {
    auto store = CheckpointStore::Open(PosixEnv(), trial, attempt);
    ASSERT_TRUE(store.ok()) << store.status().message();
    const auto latest = (*store)->Latest();
    ASSERT_TRUE(latest.ok()) << latest.status().message();
    ASSERT_EQ(latest->has_value(), attempt > 1);
    if (attempt > 1) {
      EXPECT_EQ((*latest)->tensors, At(attempt - 1).tensors);
    }
    const auto committed = (*store)->Commit(At(attempt));
    ASSERT_TRUE(committed.ok()) << committed.status().message();
  }
}

}  // namespace
}  // namespace retort::storage
