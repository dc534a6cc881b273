#include "cluster/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "cluster/worker_questions.h"
#include "tests/testing/message_samples.h"

namespace retort::cluster {
namespace {

using ::testing::HasSubstr;

TEST(MessagesTest, SamplesCoverEveryAlternativeAndNumbersAreDistinct) {
  std::set<std::size_t> alternatives;
  std::set<MessageType> types;
  for (const Message& message : testing::SampleMessages()) {
    alternatives.insert(message.index());
    types.insert(FindMessageType(message));
    EXPECT_FALSE(GetMessageTypeName(FindMessageType(message)).empty());
  }
  EXPECT_EQ(alternatives.size(), std::variant_size_v<Message>);
  EXPECT_EQ(types.size(), std::variant_size_v<Message>);
}

TEST(MessagesTest, EveryPayloadRoundTrips) {
  for (const Message& message : testing::SampleMessages()) {
    const std::string payload = EncodePayload(message);
    const auto decoded = DecodePayload(FindMessageType(message), payload);
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_EQ(EncodePayload(*decoded), payload);
  }
}

TEST(MessagesTest, NonFiniteAndExtremeNumbersSurvive) {
  const Message sent =
      Progress{1, 2, "train", {{"nan", NAN}, {"inf", INFINITY}, {"neg", -INFINITY}, {"zero", -0.0}, {"tiny", 5e-324}}};
  const auto decoded = DecodePayload(MessageType::progress, EncodePayload(sent));
  ASSERT_TRUE(decoded.ok());
  const auto& series = std::get<Progress>(*decoded).series;
  ASSERT_EQ(series.size(), 5U);
  EXPECT_TRUE(std::isnan(series[0].second));
  EXPECT_EQ(series[1].second, INFINITY);
  EXPECT_EQ(series[2].second, -INFINITY);
  EXPECT_TRUE(std::signbit(series[3].second));
  EXPECT_EQ(series[4].second, 5e-324);
}

TEST(MessagesTest, BytesThatAreNotUtf8SurviveInEveryStringField) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  for (const std::string& blob :
       {all, std::string("\xED\xA0\x80"), std::string("\xC0\x80"), std::string("\xF4\x90\x80\x80")}) {
    const auto decoded = DecodePayload(MessageType::gang_address, EncodePayload(GangAddress{blob}));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(std::get<GangAddress>(*decoded).blob, blob);
  }
}

TEST(MessagesTest, APrivacyEventArrivesUnchanged) {
  const auto decoded = DecodePayload(MessageType::reserve, EncodePayload(Reserve{1, testing::SampleEvent(), 64}));
  ASSERT_TRUE(decoded.ok());
  const auto& reserve = std::get<Reserve>(*decoded);
  EXPECT_TRUE(reserve.event.SameMechanism(testing::SampleEvent()));
  EXPECT_EQ(reserve.event.count, testing::SampleEvent().count);
  EXPECT_EQ(reserve.event.sensitivity, 2e-3);
}

TEST(MessagesTest, AMissingFieldIsNamed) {
  const auto decoded = DecodePayload(MessageType::settle, R"({"id": 3})");
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.status().code(), StatusCode::refused);
  EXPECT_THAT(decoded.status().message(), HasSubstr("Settle"));
  EXPECT_THAT(decoded.status().message(), HasSubstr("used"));
}

TEST(MessagesTest, AFieldOfWrongTypeOrRangeIsNamed) {
  const std::pair<MessageType, std::pair<std::string, std::string>> cases[] = {
      {MessageType::settle, {R"({"id": -1, "used": 0})", "id"}},
      {MessageType::settle, {R"({"id": 1, "used": 9223372036854775808})", "used"}},
      {MessageType::settle, {R"({"id": 1, "used": 1.5})", "used"}},
      {MessageType::stop, {R"({"save": 1, "deadline_seconds": 0})", "save"}},
      {MessageType::stop, {R"({"save": true, "deadline_seconds": "soon"})", "deadline_seconds"}},
      {MessageType::worker_lost, {R"({"failure": "tired", "detail": ""})", "failure"}},
      {MessageType::gang_ready, {R"({"blob": {"bytes": "0g"}})", "blob"}},
      {MessageType::gang_ready, {R"({"blob": {"bytes": "abc"}})", "blob"}},
      {MessageType::reserve, {R"({"id": 1, "event": "{}", "count": 1})", "event"}},
      {MessageType::lease, {R"({"members": [[0]], "slot": 0, "start": {}})", "members"}},
      {MessageType::lease, {R"({"members": [[0, 4294967296]], "slot": 0, "start": {}})", "members"}},
      {MessageType::lease, {R"({"members": [[0, 0]], "slot": 0, "start": {}})", "start.spec"}},
  };
  for (const auto& [type, text] : cases) {
    const auto decoded = DecodePayload(type, text.first);
    ASSERT_FALSE(decoded.ok()) << text.first;
    EXPECT_THAT(decoded.status().message(), HasSubstr("field " + text.second)) << text.first;
  }
}

TEST(MessagesTest, TextThatWouldFillTheJournalIsRefusedByItsField) {
  const std::pair<MessageType, std::pair<std::string, std::size_t>> cases[] = {
      {MessageType::checkpoint_committed, {"digest", 64}},
      {MessageType::progress, {"phase", 256}},
      {MessageType::ended, {"detail", 4096}},
      {MessageType::ended, {"parameters_digest", 64}},
      {MessageType::worker_lost, {"detail", 4096}},
  };
  for (const auto& [type, field] : cases) {
    for (const Message& sample : testing::SampleMessages()) {
      if (FindMessageType(sample) != type) continue;
      nlohmann::json payload = nlohmann::json::parse(EncodePayload(sample));
      payload[field.first] = std::string(field.second, 'x');
      EXPECT_TRUE(DecodePayload(type, payload.dump()).ok()) << field.first;
      payload[field.first] = std::string(field.second + 1, 'x');
      const auto decoded = DecodePayload(type, payload.dump());
      ASSERT_FALSE(decoded.ok()) << field.first;
      EXPECT_THAT(decoded.status().message(), HasSubstr("field " + field.first + " (more than"));
    }
  }
}

TEST(MessagesTest, LongDetailIsCutByItsSenderBetweenCharacters) {
  std::string detail = "a";
  while (detail.size() < 5000) detail += "\xC3\xA9";
  const auto decoded =
      DecodePayload(MessageType::worker_lost, EncodePayload(WorkerLost{FailureKind::worker_crash, detail}));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(std::get<WorkerLost>(*decoded).detail, detail.substr(0, 4095));
  const std::string bytes(5000, '\xFF');
  const auto raw = DecodePayload(MessageType::worker_lost, EncodePayload(WorkerLost{FailureKind::worker_crash, bytes}));
  ASSERT_TRUE(raw.ok()) << raw.status().message();
}

TEST(MessagesTest, TextThatIsNoObjectIsRefused) {
  for (const char* const text : {"", "[]", "3", "{", "{\"id\":1,\"used\":2}x", "\xFF"}) {
    EXPECT_FALSE(DecodePayload(MessageType::settle, text).ok()) << text;
  }
  const auto unknown = DecodePayload(MessageType{999}, "{}");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.status().message(), HasSubstr("type"));
}

TEST(MessagesTest, DeeplyNestedTextIsRefused) {
  const std::string nested = std::string(2'000'000, '[') + std::string(2'000'000, ']');
  EXPECT_FALSE(DecodePayload(MessageType::settle, nested).ok());
  EXPECT_FALSE(DecodePayload(MessageType::settle, R"({"id":)" + nested + R"(,"used":1})").ok());
}

TEST(WorkerReport, RoundTripsExactly) {
  const WorkerReport report{"0.1.0", 1, "2.11.0", "AVX2", 2, 138.25};
  const Result<WorkerReport> read = DecodeWorkerReport(EncodeWorkerReport(report));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->build, report.build);
  EXPECT_EQ(read->envelope, report.envelope);
  EXPECT_EQ(read->torch, report.torch);
  EXPECT_EQ(read->capability, report.capability);
  EXPECT_EQ(read->threads, report.threads);
  EXPECT_EQ(read->gflops, report.gflops);
}

TEST(WorkerReport, MissingFieldIsNamed) {
  const Result<WorkerReport> read = DecodeWorkerReport(R"({"build": "0.1.0", "envelope": 1})");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::damage);
  EXPECT_THAT(read.status().message(), HasSubstr("torch"));
  EXPECT_FALSE(DecodeWorkerReport("no JSON").ok());
}

TEST(GraphAnswer, RoundTripsExactly) {
  const GraphAnswer answer{{"conv1.weight", "fc.bias"}, std::string("\0\n\xff{", 4)};
  const Result<GraphAnswer> read = DecodeGraphAnswer(EncodeGraphAnswer(answer));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->state, answer.state);
  EXPECT_EQ(read->graph, answer.graph);
}

TEST(GraphAnswer, DamageIsNamed) {
  for (const auto& [text, named] :
       {std::pair(R"({"state": []})", "graph"), std::pair(R"({"graph": ""})", "state"),
        std::pair(R"({"state": [1], "graph": ""})", "string"), std::pair(R"({"state": [], "graph": "?"})", "hex"),
        std::pair("", "graph answer")}) {
    const Result<GraphAnswer> read = DecodeGraphAnswer(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), StatusCode::damage);
    EXPECT_THAT(read.status().message(), HasSubstr(named));
  }
}

}  // namespace
}  // namespace retort::cluster
