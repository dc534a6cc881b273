// A log cut anywhere loses its last records alone; a log changed anywhere is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "storage/log/record_log.h"
#include "tests/testing/fault_injection_env.h"

namespace retort::storage {
namespace {

constexpr char kLogPath[] = "log";
constexpr std::size_t kHeaderBytes = 16;

class TornLog : public ::testing::Test {
 protected:
  TornLog() {
    const std::string payloads[] = {"{\"a\":1}", "", std::string(300, 'x'),
                                    "{\"long\":\"" + std::string(40, 'y') + "\"}", "{}"};
    auto log = RecordLog::Open(env_, kLogPath, LogKind::ledger);
    EXPECT_TRUE(log.ok());
    ends_.push_back(kHeaderBytes);
    for (const std::string& payload : payloads) {
      (*log)->Append(3, payload);
      ends_.push_back(static_cast<std::size_t>((*log)->size()));
    }
    EXPECT_TRUE((*log)->Sync().ok());
    whole_ = env_.Bytes(kLogPath);
  }
  // Records that end at or before `size`.
  std::size_t WholeRecords(std::size_t size) const {
    std::size_t count = 0;
    while (count + 1 < ends_.size() && ends_[count + 1] <= size) ++count;
    return count;
  }
  retort::testing::FaultInjectionEnv env_;
  std::vector<std::size_t> ends_;
  std::string whole_;
};

TEST_F(TornLog, CutAtAnyOffsetKeepsWholeRecords) {
  for (std::size_t size = 0; size <= whole_.size(); ++size) {
    env_.Put(kLogPath, whole_.substr(0, size));
    LogContents contents;
    auto log = RecordLog::Open(env_, kLogPath, LogKind::ledger, &contents);
    ASSERT_TRUE(log.ok()) << size << ": " << log.status().message();
    ASSERT_EQ(contents.records.size(), WholeRecords(size)) << size;
    (*log)->Append(9, "next");
    ASSERT_TRUE((*log)->Sync().ok());
    const auto read = ReadRecordLog(env_, kLogPath, LogKind::ledger);
    ASSERT_TRUE(read.ok()) << size << ": " << read.status().message();
    ASSERT_EQ(read->records.size(), WholeRecords(size) + 1);
    EXPECT_EQ(read->records.back().payload, "next");
    EXPECT_EQ(read->torn_bytes, 0U);
  }
}

TEST_F(TornLog, ZerosFromAnyOffsetKeepWholeRecords) {
  for (std::size_t size = 0; size < whole_.size(); ++size) {
    const std::string filled = whole_.substr(0, size) + std::string(whole_.size() - size, '\0');
    env_.Put(kLogPath, filled);
    const auto contents = ReadRecordLog(env_, kLogPath, LogKind::ledger);
    ASSERT_TRUE(contents.ok()) << size << ": " << contents.status().message();
    const auto equal = std::mismatch(filled.begin(), filled.end(), whole_.begin()).first - filled.begin();
    EXPECT_EQ(contents->records.size(), WholeRecords(static_cast<std::size_t>(equal))) << size;
  }
}

TEST_F(TornLog, EveryChangedByteIsDamageAtItsRecord) {
  for (std::size_t position = 0; position < whole_.size(); ++position) {
    for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
      std::string bytes = whole_;
      bytes[position] = static_cast<char>(static_cast<unsigned char>(bytes[position]) ^ flip);
      env_.Put(kLogPath, bytes);
      const auto contents = ReadRecordLog(env_, kLogPath, LogKind::ledger);
      ASSERT_FALSE(contents.ok()) << "byte " << position << " flip " << flip;
      EXPECT_EQ(contents.status().code(), StatusCode::damage) << position;
      if (position < kHeaderBytes) continue;
      const std::size_t offset = ends_[WholeRecords(position)];
      EXPECT_NE(contents.status().message().find("at byte " + std::to_string(offset) + ":"), std::string::npos)
          << "byte " << position << ": " << contents.status().message();
      EXPECT_FALSE(RecordLog::Open(env_, kLogPath, LogKind::ledger).ok());
      EXPECT_EQ(env_.Bytes(kLogPath), bytes);
    }
  }
}

TEST_F(TornLog, AStopAtAnyOperationLeavesEveryAcknowledgedRecord) {
  using retort::testing::Crash;
  for (const Crash crash : {Crash::process_killed, Crash::power_lost, Crash::power_lost_torn}) {
    for (int stop = 0;; ++stop) {
      retort::testing::FaultInjectionEnv env;
      env.StopAt(stop);
      std::size_t acknowledged = 0, appended = 0;
      if (auto log = RecordLog::Open(env, kLogPath, LogKind::journal); log.ok()) {
        for (int group = 0; group < 3; ++group) {
          for (int i = 0; i < 2; ++i) (*log)->Append(1, "record " + std::to_string(appended++));
          if (!(*log)->Sync().ok()) break;
          acknowledged = appended;
        }
      }
      const bool finished = !env.stopped();
      env.Restart(crash);
      LogContents contents;
      ASSERT_TRUE(RecordLog::Open(env, kLogPath, LogKind::journal, &contents).ok()) << stop;
      ASSERT_GE(contents.records.size(), acknowledged) << stop;
      ASSERT_LE(contents.records.size(), appended) << stop;
      for (std::size_t i = 0; i < contents.records.size(); ++i) {
        EXPECT_EQ(contents.records[i].payload, "record " + std::to_string(i));
      }
      if (finished) break;
    }
  }
}

}  // namespace
}  // namespace retort::storage
