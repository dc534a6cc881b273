#include "cluster/socket_link.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>
#include <vector>

#include "tests/testing/message_samples.h"

namespace retort::cluster {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
constexpr milliseconds kLinkPatience(20'000);

struct LinkPair {
  LinkPair() {
    auto made = MakeSocketPair();
    RETORT_CHECK(made.ok());
    agent = SocketLink(made->first, SendMode::queued);
    worker = SocketLink(made->second);
  }
  SocketLink agent;
  SocketLink worker;
};

void SendRaw(const SocketLink& link, std::string_view bytes) {
  ASSERT_EQ(::send(link.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

Envelope WithBlob(std::uint64_t sequence, std::size_t size) {
  Envelope envelope = testing::SampleEnvelope(GangAddress{std::string(size, 'a')});
  envelope.sequence = sequence;
  return envelope;
}

TEST(SocketLinkTest, EveryMessageCrossesBothWays) {
  LinkPair pair;
  for (const Message& message : testing::SampleMessages()) {
    const Envelope sent = testing::SampleEnvelope(message);
    ASSERT_TRUE(pair.agent.Send(sent).ok());
    const auto at_worker = pair.worker.Receive(kLinkPatience);
    ASSERT_TRUE(at_worker.ok() && at_worker->has_value());
    ASSERT_TRUE(pair.worker.Send(**at_worker).ok());
    const auto back = pair.agent.Receive(kLinkPatience);
    ASSERT_TRUE(back.ok() && back->has_value());
    EXPECT_EQ(Encode(**back), Encode(sent));
  }
}

TEST(SocketLinkTest, FramesUpToTheLimitArriveWholeAndInOrder) {
  LinkPair pair;
  const std::size_t largest = kMaxEnvelopeBytes - Encode(WithBlob(0, 0)).size();
  // Sizes around the packet size, where splitting could go wrong.
  const std::vector<std::size_t> sizes = {0, 32'711, 32'712, 32'713, 32'714, 32'768, 65'535, 1'000'000, largest};
  std::thread sender([&] {
    for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_TRUE(pair.worker.Send(WithBlob(i, sizes[i])).ok());
  });
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto got = pair.agent.Receive(kLinkPatience);
    ASSERT_TRUE(got.ok() && got->has_value());
    EXPECT_EQ((*got)->sequence, i);
    EXPECT_EQ(std::get<GangAddress>((*got)->message).blob.size(), sizes[i]);
  }
  sender.join();
}

TEST(SocketLinkTest, EveryFrameLengthAroundAPacketBorderArrives) {
  LinkPair pair;
  const std::size_t overhead = Encode(WithBlob(0, 0)).size();
  for (std::size_t total = (64U << 10) - 3; total <= (64U << 10) + 3; ++total) {
    ASSERT_TRUE(pair.worker.Send(WithBlob(total, total - overhead)).ok());
    const auto got = pair.agent.Receive(kLinkPatience);
    ASSERT_TRUE(got.ok() && got->has_value()) << total;
    EXPECT_EQ((*got)->sequence, total);
  }
}

TEST(SocketLinkTest, AnOversizeFrameIsRefusedAndSendsNothing) {
  LinkPair pair;
  const Status status = pair.worker.Send(WithBlob(0, kMaxEnvelopeBytes));
  EXPECT_EQ(status.code(), StatusCode::refused);
  const auto got = pair.agent.Receive(milliseconds(0));
  ASSERT_TRUE(got.ok());
  EXPECT_FALSE(got->has_value());
}

TEST(SocketLinkTest, AnAgentNeverWaitsForAWorkerThatDoesNotRead) {
  LinkPair pair;
  Status status;
  int sent = 0;
  while (status.ok() && sent < 1000) {
    status = pair.agent.Send(WithBlob(static_cast<std::uint64_t>(sent), 1'000'000));
    ++sent;
  }
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_THAT(status.message(), HasSubstr("does not read"));
  EXPECT_EQ(pair.agent.Flush(milliseconds(1)).code(), StatusCode::cancelled);
  // What was accepted still arrives, once the worker reads and the agent turns to the link.
  std::thread reader([&] {
    for (int i = 0; i + 1 < sent; ++i) {
      const auto got = pair.worker.Receive(kLinkPatience);
      ASSERT_TRUE(got.ok() && got->has_value());
      EXPECT_EQ((*got)->sequence, static_cast<std::uint64_t>(i));
    }
  });
  EXPECT_TRUE(pair.agent.Flush(kLinkPatience).ok());
  reader.join();
}

TEST(SocketLinkTest, ReceiveFlushesWhatWasQueued) {
  LinkPair pair;
  ASSERT_TRUE(pair.agent.Send(WithBlob(0, 3'000'000)).ok());
  ASSERT_TRUE(pair.agent.has_queued());
  std::thread reader([&] {
    const auto got = pair.worker.Receive(kLinkPatience);
    EXPECT_TRUE(got.ok() && got->has_value());
    EXPECT_TRUE(pair.worker.Send(WithBlob(1, 0)).ok());
  });
  const auto reply = pair.agent.Receive(kLinkPatience);
  EXPECT_TRUE(reply.ok() && reply->has_value());
  reader.join();
  EXPECT_FALSE(pair.agent.has_queued());
}

TEST(SocketLinkTest, NothingWithinTheWaitIsNoError) {
  LinkPair pair;
  const auto begin = std::chrono::steady_clock::now();
  const auto got = pair.agent.Receive(milliseconds(30));
  ASSERT_TRUE(got.ok());
  EXPECT_FALSE(got->has_value());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(30));
}

TEST(SocketLinkTest, AClosedPeerIsCancelledAfterItsLastFrame) {
  LinkPair pair;
  ASSERT_TRUE(pair.worker.Send(WithBlob(9, 10)).ok());
  pair.worker.Close();
  const auto last = pair.agent.Receive(kLinkPatience);
  ASSERT_TRUE(last.ok() && last->has_value());
  EXPECT_EQ((*last)->sequence, 9U);
  EXPECT_EQ(pair.agent.Receive(kLinkPatience).status().code(), StatusCode::cancelled);
  EXPECT_EQ(pair.agent.Send(WithBlob(0, 1)).code(), StatusCode::cancelled);
}

TEST(SocketLinkTest, GarbageIsRefusedByFieldAndTheNextFrameArrives) {
  LinkPair pair;
  SendRaw(pair.worker, "hi");
  EXPECT_THAT(pair.agent.Receive(kLinkPatience).status().message(), HasSubstr("field length"));
  SendRaw(pair.worker, std::string(100, '\xFF'));
  EXPECT_THAT(pair.agent.Receive(kLinkPatience).status().message(), HasSubstr("field length"));
  std::string damaged = Encode(WithBlob(0, 10));
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  SendRaw(pair.worker, damaged);
  const auto refused = pair.agent.Receive(kLinkPatience);
  EXPECT_EQ(refused.status().code(), StatusCode::refused);
  EXPECT_THAT(refused.status().message(), HasSubstr("field crc"));
  ASSERT_TRUE(pair.worker.Send(WithBlob(1, 10)).ok());
  const auto good = pair.agent.Receive(kLinkPatience);
  ASSERT_TRUE(good.ok() && good->has_value());
  EXPECT_EQ((*good)->sequence, 1U);
}

TEST(SocketLinkTest, AFrameThatStopsShortIsRefused) {
  LinkPair pair;
  const std::string frame = Encode(WithBlob(0, 100'000));
  SendRaw(pair.worker, std::string_view(frame).substr(0, 32'768));
  SendRaw(pair.worker, std::string_view(frame).substr(32'768, 1'000));
  EXPECT_THAT(pair.agent.Receive(kLinkPatience).status().message(), HasSubstr("field length"));
}

TEST(SocketLinkTest, APacketLongerThanAnyOfOursIsRefused) {
  LinkPair pair;
  SendRaw(pair.worker, std::string(100'000, 'x'));
  EXPECT_EQ(pair.agent.Receive(kLinkPatience).status().code(), StatusCode::refused);
}

TEST(SocketLinkTest, ClosedAndMovedFromLinksAreHarmless) {
  SocketLink closed;
  EXPECT_EQ(closed.Send(WithBlob(0, 1)).code(), StatusCode::cancelled);
  EXPECT_EQ(closed.Receive(milliseconds(0)).status().code(), StatusCode::cancelled);
  EXPECT_EQ(closed.Flush(milliseconds(0)).code(), StatusCode::cancelled);
  LinkPair pair;
  const int fd = pair.agent.fd();
  SocketLink moved = std::move(pair.agent);
  EXPECT_EQ(moved.fd(), fd);
  EXPECT_FALSE(pair.agent.open());  // NOLINT(bugprone-use-after-move): that is the test
}

}  // namespace
}  // namespace retort::cluster
