#include "storage/log/transcript_writer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <vector>

#include "tests/testing/fault_injection_env.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"
#include "tests/testing/transcript_disk.h"

namespace retort::storage {
namespace {

using retort::testing::FaultInjectionEnv;
using retort::testing::FloatBlob;
using retort::testing::TranscriptDisk;
using std::chrono::milliseconds;

constexpr milliseconds kMoment{50};
const TranscriptLimits kUntilAsked{.bytes = 1 << 20, .gathering = std::chrono::hours(1)};

TranscriptRecord Answer(std::int64_t step) { return {step, {FloatBlob("released", {static_cast<float>(step)})}}; }

Status Hand(TranscriptWriter& writer, std::int64_t step, std::size_t bytes = 4) {
  return writer.Queue(bytes, [step]() -> Result<TranscriptRecord> { return Answer(step); });
}

class TranscriptWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<TranscriptWriter> Begin(const TranscriptLimits& limits = {}) {
    return std::make_unique<TranscriptWriter>(TranscriptLog::Begin(disk_, folder_.path(), 0, {}).value(), limits);
  }
  // As the next attempt would find them.
  std::vector<std::int64_t> Written() {
    std::vector<std::int64_t> steps;
    const auto records = ReadTranscript(PosixEnv(), folder_.path(), 0, true);
    EXPECT_TRUE(records.ok()) << records.status().message();
    for (const TranscriptRecord& record : *records) {
      EXPECT_EQ(record.released, Answer(record.step).released);
      steps.push_back(record.step);
    }
    return steps;
  }

  retort::testing::TemporaryDirectory folder_{retort::testing::Place::memory};
  TranscriptDisk disk_{PosixEnv()};
};

TEST_F(TranscriptWriterTest, KeepsTheOrderOfWhatIsHandedOver) {
  const auto writer = Begin({.gathering = milliseconds(0)});
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step < 500; ++step) {
    ASSERT_TRUE(Hand(*writer, step).ok());
    steps.push_back(step);
    if (step % 50 != 7) continue;
    ASSERT_TRUE(writer->Append(Answer(step)).ok());
    steps.push_back(step);
  }
  ASSERT_TRUE(writer->Await().ok());
  EXPECT_EQ(Written(), steps);
}

TEST_F(TranscriptWriterTest, ManyRecordsShareOneSync) {
  const auto writer = Begin(kUntilAsked);
  const int before = disk_.syncs();
  for (std::int64_t step = 0; step < 50; ++step) ASSERT_TRUE(Hand(*writer, step).ok());
  ASSERT_TRUE(writer->Await().ok());
  EXPECT_EQ(disk_.syncs(), before + 1);
  EXPECT_EQ(disk_.DurableSteps().size(), 50U);
}

TEST_F(TranscriptWriterTest, NobodyNeedsToWaitForItToWrite) {
  const auto writer = Begin({.gathering = milliseconds(1)});
  ASSERT_TRUE(Hand(*writer, 0).ok());
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (disk_.DurableSteps().empty() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(disk_.DurableSteps(), std::set<std::int64_t>{0});
}

TEST_F(TranscriptWriterTest, QueueGoesOnWhereTheDiskIsSlow) {
  const auto writer = Begin({.gathering = milliseconds(0)});
  disk_.Hold();
  for (std::int64_t step = 0; step < 5; ++step) ASSERT_TRUE(Hand(*writer, step).ok());
  EXPECT_TRUE(disk_.DurableSteps().empty());
  disk_.LetGo();
  ASSERT_TRUE(writer->Await().ok());
  EXPECT_EQ(disk_.DurableSteps().size(), 5U);
}

TEST_F(TranscriptWriterTest, AwaitReturnsWhenAllIsDurable) {
  const auto writer = Begin(kUntilAsked);
  disk_.Hold();
  for (std::int64_t step = 0; step < 3; ++step) ASSERT_TRUE(Hand(*writer, step).ok());
  auto waiting = std::async(std::launch::async, [&] { return writer->Await(); });
  EXPECT_EQ(waiting.wait_for(kMoment), std::future_status::timeout);
  disk_.LetGo();
  ASSERT_TRUE(waiting.get().ok());
  EXPECT_EQ(disk_.DurableSteps(), (std::set<std::int64_t>{0, 1, 2}));
}

TEST_F(TranscriptWriterTest, FullQueueWaitsForTheDisk) {
  const auto writer = Begin({.bytes = 100, .gathering = std::chrono::hours(1)});
  disk_.Hold();
  ASSERT_TRUE(Hand(*writer, 0, 60).ok());
  auto waiting = std::async(std::launch::async, [&] { return Hand(*writer, 1, 60); });
  EXPECT_EQ(waiting.wait_for(kMoment), std::future_status::timeout) << "120 bytes of 100 are on their way";
  disk_.LetGo();
  ASSERT_TRUE(waiting.get().ok());
  EXPECT_EQ(disk_.DurableSteps().count(0), 1U);
  ASSERT_TRUE(Hand(*writer, 2, 1000).ok()) << "larger than the limit, and alone";
  ASSERT_TRUE(writer->Await().ok());
  EXPECT_EQ(Written(), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST_F(TranscriptWriterTest, WritesTheRestWhenItEnds) {
  auto writer = Begin(kUntilAsked);
  for (std::int64_t step = 0; step < 4; ++step) ASSERT_TRUE(Hand(*writer, step).ok());
  writer.reset();
  EXPECT_EQ(Written(), (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST_F(TranscriptWriterTest, RecordThatCannotBeMadeEndsTheTranscript) {
  auto writer = Begin(kUntilAsked);
  ASSERT_TRUE(Hand(*writer, 0).ok());
  ASSERT_TRUE(
      writer->Queue(4, []() -> Result<TranscriptRecord> { return EnvironmentError("The device is gone."); }).ok());
  ASSERT_TRUE(Hand(*writer, 2).ok());
  EXPECT_EQ(writer->Await().message(), "The device is gone.");
  EXPECT_EQ(Hand(*writer, 3).message(), "The device is gone.");
  writer.reset();
  EXPECT_EQ(Written(), std::vector<std::int64_t>{0}) << "what is there is a beginning of what was handed over";
}

TEST_F(TranscriptWriterTest, MemoryThatRunsOutIsAnError) {
  const auto writer = Begin();
  ASSERT_TRUE(writer->Queue(4, []() -> Result<TranscriptRecord> { throw std::bad_alloc(); }).ok());
  EXPECT_EQ(writer->Await().code(), StatusCode::environment);
}

// The thread that hangs is left behind, so the disk must outlive the test.
TEST_F(TranscriptWriterTest, DiskThatHangsIsAnErrorAndLeftBehind) {
  static auto* const disk = new TranscriptDisk(PosixEnv());
  auto writer = std::make_unique<TranscriptWriter>(TranscriptLog::Begin(*disk, folder_.path(), 0, {}).value(),
                                                   TranscriptLimits{.gathering = milliseconds(0), .patience = kMoment});
  disk->Hold();
  ASSERT_TRUE(Hand(*writer, 0).ok());
  EXPECT_EQ(writer->Await().code(), StatusCode::environment);
  EXPECT_FALSE(Hand(*writer, 1).ok()) << "nothing more is taken";
  writer.reset();
  disk->LetGo();
  disk->AwaitClosed();
  EXPECT_EQ(Written(), std::vector<std::int64_t>{0});
}

TEST(TranscriptWriterError, IsToldToAllThatFollow) {
  FaultInjectionEnv disk;
  ASSERT_TRUE(disk.CreateDirectories("a").ok());
  TranscriptWriter writer(TranscriptLog::Begin(disk, "a", 0, {}).value(), kUntilAsked);
  ASSERT_TRUE(Hand(writer, 0).ok());
  ASSERT_TRUE(writer.Await().ok());
  const std::string before = disk.Bytes("a/transcript-0.log");
  disk.FailAll(EnvironmentError("The disk is full."));
  ASSERT_TRUE(Hand(writer, 1).ok()) << "nobody has looked yet";
  EXPECT_EQ(writer.Await().message(), "The disk is full.");
  disk.ClearFaults();
  EXPECT_EQ(writer.status().message(), "The disk is full.");
  EXPECT_EQ(Hand(writer, 2).message(), "The disk is full.");
  EXPECT_EQ(writer.Append(Answer(2)).message(), "The disk is full.");
  EXPECT_EQ(writer.Committed(1, 0).message(), "The disk is full.");
  EXPECT_EQ(writer.Await().message(), "The disk is full.");
  EXPECT_EQ(disk.Bytes("a/transcript-0.log"), before) << "a gap would be taken for the whole";
}

TEST(TranscriptWriterError, IsToldToOneThatWaitsForRoom) {
  FaultInjectionEnv disk;
  ASSERT_TRUE(disk.CreateDirectories("a").ok());
  TranscriptWriter writer(TranscriptLog::Begin(disk, "a", 0, {}).value(),
                          {.bytes = 100, .gathering = std::chrono::hours(1)});
  ASSERT_TRUE(Hand(writer, 0, 60).ok());
  disk.FailAll(EnvironmentError("The disk is full."));
  EXPECT_EQ(Hand(writer, 1, 60).message(), "The disk is full.");
}

}  // namespace
}  // namespace retort::storage
