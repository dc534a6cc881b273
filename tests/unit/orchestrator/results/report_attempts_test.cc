#include "orchestrator/results/attempt_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class AttemptReaderTest : public ::testing::Test {
 protected:
  // The teacher's and the baseline's attempts are there.
  void SetUp() override {
    sample_.view.directory = folder_.path();
    for (const std::size_t trial : {0U, 4U}) {
      storage::ResultRow row = *sample_.view.trials[trial].row;
      row.attempt_file = std::to_string(trial) + ".h5";
      sample_.view.trials[trial].row = row;
      ASSERT_TRUE(
          storage::WriteAttemptFile(storage::PosixEnv(), folder_ / row.attempt_file, retort::testing::SampleAttempt())
              .ok());
    }
  }
  [[nodiscard]] const TrialView& Trial(std::size_t place) const { return sample_.view.trials[place]; }

  retort::testing::TemporaryDirectory folder_;
  testing::Sample sample_ = testing::SampleSweep();
};

TEST_F(AttemptReaderTest, ReadsCurvesSamplesAndEvaluation) {
  AttemptReader reader(storage::PosixEnv(), sample_.view, 1 << 20);
  const storage::AttemptFile file = reader.Read(Trial(0));
  EXPECT_EQ(file.curves.size(), 3U);
  EXPECT_TRUE(file.samples && file.evaluation);
  EXPECT_TRUE(reader.Read(Trial(1)).curves.empty());  // has no file
  EXPECT_THAT(reader.unreadable(), IsEmpty());
}

TEST_F(AttemptReaderTest, WhatIsDamagedIsNamedAndTheRestIsRead) {
  const std::string path = folder_ / "0.h5";
  std::string bytes = storage::PosixEnv().ReadFile(path).value();
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(path, bytes).ok());
  AttemptReader reader(storage::PosixEnv(), sample_.view, 1 << 20);
  EXPECT_TRUE(reader.Read(Trial(0)).curves.empty());
  EXPECT_FALSE(reader.Read(Trial(4)).curves.empty());
  EXPECT_THAT(reader.unreadable(), ElementsAre(Pair(Trial(0).spec.id, HasSubstr("teacher-single-digits-s0-11111111"))));
}

TEST_F(AttemptReaderTest, AFileThatIsGoneIsNamedWithoutBeingAskedFor) {
  ASSERT_TRUE(storage::PosixEnv().Remove(folder_ / "4.h5").ok());
  const AttemptReader reader(storage::PosixEnv(), sample_.view, 1 << 20);
  EXPECT_THAT(reader.unreadable(), ElementsAre(Pair(Trial(4).spec.id, HasSubstr("dpsgd-digits-s0"))));
}

TEST_F(AttemptReaderTest, AffordsNoMoreThanIsLeft) {
  const std::uint64_t size = storage::PosixEnv().Stamp(folder_ / "0.h5")->size;
  AttemptReader reader(storage::PosixEnv(), sample_.view, size + size / 2);
  EXPECT_TRUE(reader.Affords({&Trial(0), &Trial(1), &Trial(2)}));
  EXPECT_FALSE(reader.Affords({&Trial(0), &Trial(4)}));
  static_cast<void>(reader.Read(Trial(0)));
  EXPECT_FALSE(reader.Affords({&Trial(4)}));
  EXPECT_TRUE(reader.Affords({&Trial(1)}));
}

}  // namespace
}  // namespace retort::orchestrator::cli
