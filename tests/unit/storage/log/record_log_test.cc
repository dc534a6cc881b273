#include "storage/log/record_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/base/digests.h"
#include "storage/formats/byte_codec.h"
#include "tests/testing/fault_injection_env.h"

namespace retort::storage {
namespace {

using ::testing::HasSubstr;

constexpr char kPath[] = "records.log";

std::vector<std::string> Payloads(const LogContents& contents) {
  std::vector<std::string> payloads;
  for (const Record& record : contents.records) payloads.emplace_back(record.payload);
  return payloads;
}

class RecordLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<RecordLog> Open(LogContents* contents = nullptr, LogKind kind = LogKind::journal) {
    Result<std::unique_ptr<RecordLog>> log = RecordLog::Open(env_, kPath, kind, contents);
    EXPECT_TRUE(log.ok()) << log.status().message();
    return log.ok() ? std::move(log).value() : nullptr;
  }
  LogContents Read() {
    const Result<LogContents> contents = ReadRecordLog(env_, kPath, LogKind::journal);
    EXPECT_TRUE(contents.ok()) << contents.status().message();
    return contents.ok() ? *contents : LogContents();
  }
  retort::testing::FaultInjectionEnv env_;
};

TEST_F(RecordLogTest, AnAbsentLogHasNoRecords) {
  EXPECT_TRUE(Read().records.empty());
  EXPECT_FALSE(env_.Exists(kPath));
}

TEST_F(RecordLogTest, GivesBackTypesPayloadsAndOffsetsInOrder) {
  auto log = Open();
  log->Append(1, "first");
  log->Append(2, "");
  log->Append(65535, std::string("\0\xff\n", 3));
  ASSERT_TRUE(log->Sync().ok());
  const LogContents contents = Read();
  ASSERT_EQ(contents.records.size(), 3U);
  EXPECT_EQ(Payloads(contents), (std::vector<std::string>{"first", "", std::string("\0\xff\n", 3)}));
  EXPECT_EQ(contents.records[0].type, 1);
  EXPECT_EQ(contents.records[2].type, 65535);
  EXPECT_EQ(contents.records[0].offset, 16U);
  EXPECT_EQ(contents.records[1].offset, 16U + 10 + 5);
  EXPECT_EQ(contents.valid_bytes, log->size());
  EXPECT_EQ(contents.valid_bytes, env_.Bytes(kPath).size());
  EXPECT_EQ(contents.torn_bytes, 0U);
}

TEST_F(RecordLogTest, RecordsOfOneSyncAreOneWriteAndOneSync) {
  auto log = Open();
  const int before = env_.operations();
  for (int i = 0; i < 100; ++i) log->Append(1, "payload");
  ASSERT_TRUE(log->Sync().ok());
  EXPECT_EQ(env_.operations() - before, 2);
}

TEST_F(RecordLogTest, NothingIsWrittenBeforeSync) {
  auto log = Open();
  log->Append(1, "buffered");
  EXPECT_TRUE(Read().records.empty());
}

TEST_F(RecordLogTest, WhatWasReadIsThereAfterThePowerFails) {
  auto log = Open();
  log->Append(1, "written by a process killed before it could sync");
  env_.StopAt(env_.operations() + 1);
  ASSERT_FALSE(log->Sync().ok());
  env_.Restart(retort::testing::Crash::process_killed);
  LogContents contents;
  ASSERT_NE(Open(&contents), nullptr);
  ASSERT_EQ(contents.records.size(), 1U);
  env_.Restart(retort::testing::Crash::power_lost);
  EXPECT_EQ(Payloads(Read()), Payloads(contents));
}

TEST_F(RecordLogTest, RecordsBeforeATornTailSurvivePowerLoss) {
  auto log = Open();
  log->Append(1, "whole");
  log->Append(1, "torn by the kill");
  env_.StopAt(env_.operations() + 1);
  ASSERT_FALSE(log->Sync().ok());
  env_.Restart(retort::testing::Crash::process_killed);
  std::string& bytes = env_.Bytes(kPath);
  bytes.resize(bytes.size() - 3);
  LogContents contents;
  ASSERT_NE(Open(&contents), nullptr);
  ASSERT_EQ(Payloads(contents), std::vector<std::string>{"whole"});
  EXPECT_GT(contents.torn_bytes, 0U);
  env_.Restart(retort::testing::Crash::power_lost);
  EXPECT_EQ(Payloads(Read()), Payloads(contents));
}

TEST_F(RecordLogTest, ReopeningAppendsAfterWhatWasThere) {
  Open()->Append(1, "lost, never synced");
  auto log = Open();
  log->Append(1, "a");
  ASSERT_TRUE(log->Sync().ok());
  LogContents contents;
  log = Open(&contents);
  EXPECT_EQ(Payloads(contents), std::vector<std::string>{"a"});
  log->Append(1, "b");
  ASSERT_TRUE(log->Sync().ok());
  EXPECT_EQ(Payloads(Read()), (std::vector<std::string>{"a", "b"}));
}

TEST_F(RecordLogTest, ResetKeepsTheHeaderAlone) {
  auto log = Open();
  log->Append(1, "synced");
  ASSERT_TRUE(log->Sync().ok());
  log->Append(1, "buffered");
  ASSERT_TRUE(log->Reset().ok());
  EXPECT_EQ(log->size(), 16U);
  log->Append(1, "after");
  ASSERT_TRUE(log->Sync().ok());
  EXPECT_EQ(Payloads(Read()), std::vector<std::string>{"after"});
}

TEST_F(RecordLogTest, RefusesEverythingAfterAFailedWrite) {
  auto log = Open();
  env_.FailAt(env_.operations(), EnvironmentError("disk full"));
  log->Append(1, "never acknowledged");
  EXPECT_EQ(log->Sync().message(), "disk full");
  env_.ClearFaults();
  EXPECT_EQ(log->Sync().message(), "disk full");
  EXPECT_EQ(log->Reset().message(), "disk full");
  EXPECT_TRUE(Read().records.empty());
}

TEST_F(RecordLogTest, AnotherKindIsAUsageErrorThatNamesBoth) {
  Open();
  const auto other = ReadRecordLog(env_, kPath, LogKind::ledger);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.status().code(), StatusCode::usage);
  EXPECT_THAT(other.status().message(), HasSubstr("journal"));
  EXPECT_THAT(other.status().message(), HasSubstr("ledger"));
}

TEST_F(RecordLogTest, AnotherVersionIsAUsageErrorWithARemedy) {
  ByteWriter header;
  header.Raw("RETORTLG");
  header.U16(7);
  header.U16(1);
  header.U32(ComputeCrc32c(header.bytes()));
  env_.Put(kPath, header.bytes());
  for (const char* rest : {"", "and records of a form that nobody here knows"}) {
    env_.Put(kPath, header.bytes() + rest);
    const auto contents = ReadRecordLog(env_, kPath, LogKind::journal);
    ASSERT_FALSE(contents.ok());
    EXPECT_EQ(contents.status().code(), StatusCode::usage);
    EXPECT_THAT(contents.status().message(), HasSubstr("version 7"));
    EXPECT_THAT(contents.status().message(), HasSubstr("version 1"));
    EXPECT_THAT(contents.status().message(), HasSubstr("--results"));
    EXPECT_FALSE(RecordLog::Open(env_, kPath, LogKind::journal).ok());
    EXPECT_EQ(env_.Bytes(kPath), header.bytes() + rest);
  }
}

TEST_F(RecordLogTest, AForeignFileIsDamageAndIsLeftAlone) {
  env_.Put(kPath, "This is somebody's diary.\n");
  const auto log = RecordLog::Open(env_, kPath, LogKind::journal);
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.status().code(), StatusCode::damage);
  EXPECT_EQ(env_.Bytes(kPath), "This is somebody's diary.\n");
}

TEST_F(RecordLogTest, TheBytesAreThoseOfTheWorkedExample) {
  auto log = Open(nullptr, LogKind::ledger);
  log->Append(2, R"({"id":1,"used":64})");
  ASSERT_TRUE(log->Sync().ok());
  std::string hex;
  for (const char byte : env_.Bytes(kPath)) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  EXPECT_EQ(hex,
            "5245544f52544c47"
            "0100"
            "0200"
            "e37a194d"
            "12000000"
            "7cc7c528"
            "0200"
            "7b226964223a312c2275736564223a36347d");
}

}  // namespace
}  // namespace retort::storage
