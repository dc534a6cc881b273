// A worker that dies between publishing attempt.h5 and being heard leaves a finished trial: the next attempt
// takes it over, draws nothing and charges nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "storage/results/checkpoint_store.h"
#include "storage/results/hdf5_reader.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

class FinishedAttempt : public ::testing::Test {
 protected:
  // Attempt 1 ran to its end; whether anybody heard of it is up to the test.
  void SetUp() override {
    FakeTrialHost host;
    first_ = RunTrial(Order(spec_, 1), host, storage::PosixEnv());
    ASSERT_TRUE(first_.succeeded) << first_.detail;
    ASSERT_FALSE(host.grants.empty());
  }
  TrialOrder Order(const TrialSpec& spec, std::uint32_t attempt) const {
    return tiny_.Order(spec, "student", attempt, tiny_.TeacherFile("plain"));
  }
  cluster::Ended Next(const TrialSpec& spec, FakeTrialHost& host) {
    return RunTrial(Order(spec, 2), host, storage::PosixEnv());
  }
  std::string File(std::uint32_t attempt) const {
    return Order(spec_, attempt).start.attempt_directory + "/attempt.h5";
  }

  const TinyTrials tiny_;
  TrialSpec spec_ = tiny_.Student(Reading::working);
  cluster::Ended first_;
};

TEST_F(FinishedAttempt, IsTakenOverWithoutADrawOrACharge) {
  FakeTrialHost host;
  const cluster::Ended second = Next(spec_, host);
  ASSERT_TRUE(second.succeeded) << second.detail;
  EXPECT_EQ(second.file, first_.file) << "the file of attempt 1";
  EXPECT_EQ(second.parameters_digest, first_.parameters_digest);
  EXPECT_EQ(second.metrics, first_.metrics);
  EXPECT_TRUE(host.grants.empty());
  EXPECT_TRUE(host.progress.empty());
  EXPECT_FALSE(std::filesystem::exists(File(2)));
}

TEST_F(FinishedAttempt, IsTakenOverThoughItsLimitsWereEdited) {
  TrialSpec edited = spec_;
  edited.execution.deadline_seconds = 77;
  edited.execution.checkpoint_keep = 5;
  FakeTrialHost host;
  EXPECT_EQ(Next(edited, host).file, first_.file);
}

TEST_F(FinishedAttempt, LeftoverCheckpointsAreRemoved) {
  // As if the worker had died between publishing its file and removing them.
  const std::string directory = Order(spec_, 1).start.trial_directory;
  {
    auto store = storage::CheckpointStore::Open(storage::PosixEnv(), directory, 1, 2);
    ASSERT_TRUE(store.ok()) << store.status().message();
    storage::Checkpoint left;
    left.step = spec_.steps;
    ASSERT_TRUE((*store)->Commit(left).ok());
  }
  const auto checkpoints = [&directory] {
    int found = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
      found += entry.path().filename().string().starts_with("checkpoint-") ? 1 : 0;
    return found;
  };
  ASSERT_EQ(checkpoints(), 1);
  FakeTrialHost host;
  EXPECT_EQ(Next(spec_, host).file, first_.file);
  EXPECT_EQ(checkpoints(), 0);
}

TEST_F(FinishedAttempt, OfAnotherSpecIsPassedOver) {
  TrialSpec edited = spec_;
  edited.distill.kappa = 0.125;
  FakeTrialHost host;
  const cluster::Ended second = Next(edited, host);
  ASSERT_TRUE(second.succeeded) << second.detail;
  EXPECT_NE(second.file, first_.file);
  EXPECT_FALSE(host.grants.empty());
}

TEST_F(FinishedAttempt, OfAnotherTeacherIsPassedOver) {
  // The same teacher's spec, trained to other parameters.
  auto teacher = storage::ReadAttemptFile(tiny_.TeacherFile("plain"));
  ASSERT_TRUE(teacher.ok());
  teacher->parameters[0].bytes[0] ^= 1;
  ASSERT_TRUE(storage::WriteAttemptFile(storage::PosixEnv(), tiny_.TeacherFile("plain"), *teacher).ok());
  FakeTrialHost host;
  const cluster::Ended second = Next(spec_, host);
  ASSERT_TRUE(second.succeeded) << second.detail;
  EXPECT_NE(second.file, first_.file);
}

TEST_F(FinishedAttempt, ThatIsTornIsPassedOverAndStays) {
  const std::string bytes = storage::PosixEnv().ReadFile(File(1)).value();
  for (const std::size_t size : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
    std::filesystem::remove_all(Order(spec_, 2).start.attempt_directory);
    ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(File(1), bytes.substr(0, size)).ok());
    FakeTrialHost host;
    const cluster::Ended second = Next(spec_, host);
    ASSERT_TRUE(second.succeeded) << second.detail;
    EXPECT_NE(second.file, first_.file);
    EXPECT_EQ(second.parameters_digest, first_.parameters_digest) << "seeded noise: the same bits again";
    EXPECT_EQ(storage::PosixEnv().ReadFile(File(1)).value().size(), size);
  }
}

}  // namespace
}  // namespace retort::worker
