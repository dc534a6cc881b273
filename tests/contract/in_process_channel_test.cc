#include "cluster/channel.h"

#include <gmock/gmock.h>

#include "tests/contract/channel_contract.h"
#include "tests/testing/fault_channel.h"

namespace retort::testing {
namespace {

using cluster::InProcessHub;

class Threads {
 public:
  [[nodiscard]] int size() const { return 3; }
  void Run(const std::function<void(Channel&)>& body) {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < size(); ++rank) {
      ranks.emplace_back([this, &body, rank] { body(*hub_.Open({rank})); });
    }
  }

 private:
  InProcessHub hub_{3};
};

// The wrapper that tests delay and drop with must itself be a channel.
class DelayingThreads {
 public:
  [[nodiscard]] int size() const { return 2; }
  void Run(const std::function<void(Channel&)>& body) {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < size(); ++rank) {
      ranks.emplace_back([this, &body, rank] {
        FaultChannel channel(hub_.Open({rank}), [](WorldRank, const Envelope&, std::int64_t count) {
          return ChannelFault{.drop = false, .delay = static_cast<int>(count % 3)};
        });
        body(channel);
        // What is still held back leaves with later calls; the world's last meeting is such a message.
        for (int i = 0; i < 8; ++i) EXPECT_TRUE(channel.Receive().ok());
      });
    }
  }

 private:
  InProcessHub hub_{2};
};

INSTANTIATE_TYPED_TEST_SUITE_P(InProcess, ChannelContract, Threads);
INSTANTIATE_TYPED_TEST_SUITE_P(Delaying, ChannelContract, DelayingThreads);

TEST(InProcessChannelTest, AMalformedFrameIsAnErrorOnceAndNamesItsSender) {
  InProcessHub hub(2);
  const auto channel = hub.Open({0});
  hub.Inject({1}, {0}, "garbage");
  const auto refused = channel->Receive();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::refused);
  EXPECT_THAT(refused.status().message(), ::testing::HasSubstr("world rank 1"));
  EXPECT_THAT(refused.status().message(), ::testing::HasSubstr("field length"));
  EXPECT_TRUE(channel->Receive().ok());
}

TEST(InProcessChannelTest, AChannelOutlivesItsHub) {
  auto hub = std::make_unique<InProcessHub>(1);
  const auto channel = hub->Open({0});
  hub.reset();
  EXPECT_TRUE(channel->Send({0}, Numbered(3, 0)).ok());
  EXPECT_EQ(Inbox(*channel).From({0}).sequence, 3U);
}

TEST(FaultChannelTest, DroppedEnvelopesNeverArrive) {
  InProcessHub hub(2);
  FaultChannel sender(hub.Open({1}), [](WorldRank, const Envelope&, std::int64_t count) {
    return ChannelFault{.drop = count % 2 == 0, .delay = 0};
  });
  const auto receiver = hub.Open({0});
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(sender.Send({0}, Numbered(i, 0)).ok());
  Inbox inbox(*receiver);
  EXPECT_EQ(inbox.From({1}).sequence, 1U);
  EXPECT_EQ(inbox.From({1}).sequence, 3U);
  const auto nothing = receiver->Receive();
  EXPECT_TRUE(nothing.ok() && !nothing->has_value());
}

}  // namespace
}  // namespace retort::testing
