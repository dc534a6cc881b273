#include "orchestrator/core/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;

const AttemptId kAttempt{TrialId(0xabcdef0123456789U), 7};

std::vector<Event> OneOfEach() {
  AttemptEnded ended;
  ended.attempt = kAttempt;
  ended.for_good = false;
  ended.failure = FailureKind::out_of_memory;
  ended.detail = "a \"quoted\" word,\na newline and \xc3\xa9";
  ended.metrics = {{"test.accuracy", 0.1}, {"loss", std::numeric_limits<double>::infinity()}};
  ended.timings = {{"seconds", 12.25}};
  ended.parameters_digest = "feed";
  ended.file = "trials/x/attempt-7/attempt.h5";
  ended.retry_at = 1.7e9 + 0.125;
  storage::ResultRow row;
  row.trial = kAttempt.trial.Hex();
  row.name = "dpdfd";
  row.state = "failed";
  row.metrics = {{"test.accuracy", 1.0 / 3}};
  return {SweepOpened{1, "tested", "retort = 1\n", "{\"version\":\"0\"}"},
          MakeTrialPlanned(testing::TrialBuilder(5).Build()),
          PlanAdopted{{kAttempt.trial, TrialId(1)}},
          RunStarted{"{}"},
          AttemptLeased{kAttempt, Generation{12}, {{0, 1}, {3, 2}}},
          AttemptStarted{kAttempt},
          CheckpointNoted{kAttempt, 40, "beef"},
          ProgressNoted{kAttempt, 41, 160, "train"},
          ended,
          RowWritten{row},
          TrialCancelled{kAttempt.trial},
          TrialReopened{kAttempt.trial},
          SweepInterrupted{"SIGTERM"},
          SlotDrained{1, 2, "node1", {kAttempt.trial, TrialId(7)}},
          PackingMeasured{"node1", "cuda:0", "dpdfd", 3, 1.0 / 3, 2, 0.25, false, "out of memory"},
          SlotRestored{1, 2, "node1", kAttempt.trial},
          AgentNoted{3, AgentChange::joined, "node1", {"cuda:0", "cuda:1"}},
          LedgerNoted{17},
          DataNoted{std::string(64, 'a'), std::string(64, 'b')},
          RootNoted{std::string(32, 'c')}};
}

TEST(Events, EachSurvivesEncodingByteForByte) {
  for (const Event& event : OneOfEach()) {
    const std::string bytes = EncodeEvent({1.7e9 + 1.0 / 3, event});
    const auto type = static_cast<std::uint16_t>(FindEventType(event));
    SCOPED_TRACE(bytes);
    const Result<JournalEvent> decoded = DecodeEvent(type, bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(decoded->at, 1.7e9 + 1.0 / 3);
    EXPECT_EQ(FindEventType(decoded->event), FindEventType(event));
    EXPECT_EQ(EncodeEvent(*decoded), bytes);
  }
}

TEST(Events, NumbersOnDiskStay) {
  std::uint16_t expected = 1;
  for (const Event& event : OneOfEach()) EXPECT_EQ(static_cast<std::uint16_t>(FindEventType(event)), expected++);
}

TEST(Events, NumbersThatAreNotFiniteComeBack) {
  AttemptEnded ended;
  ended.attempt = kAttempt;
  ended.metrics = {{"a", std::nan("")}, {"b", -std::numeric_limits<double>::infinity()}, {"c", 5e-324}};
  const Result<JournalEvent> decoded =
      DecodeEvent(static_cast<std::uint16_t>(EventType::attempt_ended), EncodeEvent({0, ended}));
  ASSERT_TRUE(decoded.ok());
  const auto& metrics = std::get<AttemptEnded>(decoded->event).metrics;
  EXPECT_TRUE(std::isnan(metrics[0].second));
  EXPECT_EQ(metrics[1].second, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(metrics[2].second, 5e-324);
}

TEST(Events, TextThatIsNoUnicodeIsKeptReadable) {
  AttemptEnded ended;
  ended.attempt = kAttempt;
  ended.detail = "last words: \xff\xfe!";
  const Result<JournalEvent> decoded =
      DecodeEvent(static_cast<std::uint16_t>(EventType::attempt_ended), EncodeEvent({0, ended}));
  ASSERT_TRUE(decoded.ok());
  EXPECT_THAT(std::get<AttemptEnded>(decoded->event).detail, HasSubstr("last words: "));
}

TEST(Events, MissingFieldIsNamed) {
  const Result<JournalEvent> decoded =
      DecodeEvent(static_cast<std::uint16_t>(EventType::attempt_started), R"({"at":1,"trial":"0123456789abcdef"})");
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.status().code(), StatusCode::damage);
  EXPECT_THAT(decoded.status().message(), HasSubstr("attempt_started"));
  EXPECT_THAT(decoded.status().message(), HasSubstr("attempt"));
}

TEST(Events, PayloadThatIsNoJsonIsDamage) {
  for (const char* payload : {"", "{", "[]", "null", "{\"at\":\"now\"}"})
    EXPECT_EQ(DecodeEvent(1, payload).status().code(), StatusCode::damage) << payload;
}

TEST(Events, UnknownTypeAsksForTheNewerProgram) {
  const Result<JournalEvent> decoded = DecodeEvent(999, "{}");
  EXPECT_EQ(decoded.status().code(), StatusCode::usage);
  EXPECT_THAT(decoded.status().message(), HasSubstr("newer retort"));
}

}  // namespace
}  // namespace retort::orchestrator
