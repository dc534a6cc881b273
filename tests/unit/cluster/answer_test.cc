#include "cluster/worker_questions.h"

#include <gtest/gtest.h>

#include <chrono>

#include "cluster/messages.h"

namespace retort::cluster {
namespace {

constexpr std::chrono::seconds kAnswerPatience(20);

struct Pair {
  Pair() {
    auto made = MakeSocketPair();
    RETORT_CHECK(made.ok());
    asker = SocketLink(made->first, SendMode::queued);
    worker = SocketLink(made->second);
  }
  template <typename M>
  M Next() {
    auto received = asker.Receive(kAnswerPatience);
    RETORT_CHECK(received.ok() && received->has_value());
    return std::get<M>((*received)->message);
  }
  SocketLink asker, worker;
};

// What is for people is cut at 4096 bytes; what a program reads must not be.
TEST(Answer, LongOneArrivesWholeBeforeTheEnd) {
  Pair pair;
  const std::string text(60'000, '{');
  ASSERT_TRUE(SendAnswer(pair.worker, text).ok());
  EXPECT_EQ(pair.Next<Answer>().text, text);
  EXPECT_TRUE(pair.Next<Ended>().succeeded);
}

TEST(Answer, OneThatNoEnvelopeHoldsIsAnEndThatSaysSo) {
  Pair pair;
  ASSERT_TRUE(SendAnswer(pair.worker, std::string(kMaxEnvelopeBytes, '0')).ok());
  const auto ended = pair.Next<Ended>();
  EXPECT_FALSE(ended.succeeded);
  EXPECT_NE(ended.detail.find("is larger than the 4194304 bytes that an envelope may have"), std::string::npos);
}

TEST(Answer, OfAnErrorIsAnEndWithItsText) {
  const std::pair<Status, FailureKind> cases[] = {{UsageError("no such network"), FailureKind::configuration},
                                                  {Refused("it calls os.system"), FailureKind::configuration},
                                                  {DamageError("cut at offset 7"), FailureKind::disk},
                                                  {EnvironmentError("no memory"), FailureKind::internal}};
  for (const auto& [status, kind] : cases) {
    Pair pair;
    ASSERT_TRUE(SendAnswer(pair.worker, status).ok());
    const auto ended = pair.Next<Ended>();
    EXPECT_FALSE(ended.succeeded);
    EXPECT_EQ(ended.failure, kind);
    EXPECT_EQ(ended.detail, status.message());
  }
}

}  // namespace
}  // namespace retort::cluster
