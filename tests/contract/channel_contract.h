// What every Channel promises. A suite is instantiated with a World: a default-constructible type with
//   int size() const;                                   // ranks, at least 2
//   void Run(std::function<void(cluster::Channel&)>);   // the body on every rank at once
// In a single process Run starts a thread for each rank; under MPI each rank is in its own process and
// runs the body once. Bodies take out every message they cause and end with Meet; a rank writes to rank 0
// and to itself alone (rank 0 to all), so that one that is ahead never writes into the test of another.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cluster/channel.h"
#include "tests/testing/message_samples.h"

namespace retort::testing {

using cluster::Channel;
using cluster::Envelope;

inline Envelope Numbered(std::uint64_t sequence, std::size_t bytes) {
  Envelope envelope = SampleEnvelope(cluster::GangAddress{std::string(bytes, 'x')});
  envelope.sequence = sequence;
  return envelope;
}

inline std::size_t BlobSize(const Envelope& envelope) {
  return std::get<cluster::GangAddress>(envelope.message).blob.size();
}

// Takes messages out by sender; those of others wait, in order.
class Inbox {
 public:
  explicit Inbox(Channel& channel) : channel_(channel) {}

  // The next message from `sender`, or a failed test after a long while.
  Envelope From(WorldRank sender) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < until) {
      auto& kept = kept_[sender];
      if (!kept.empty()) {
        Envelope envelope = std::move(kept.front());
        kept.pop_front();
        return envelope;
      }
      auto received = channel_.Receive();
      EXPECT_TRUE(received.ok()) << received.status().message();
      if (received.ok() && received->has_value())
        kept_[(*received)->first].push_back(std::move((*received)->second));
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "nothing came from world rank " << sender.value << " to " << channel_.rank().value;
    return Numbered(0, 0);
  }

  // Returns once every rank has come here: all tell rank 0, which tells all.
  void Meet() {
    if (channel_.rank() != WorldRank{0}) {
      EXPECT_TRUE(channel_.Send({0}, Numbered(0, 0)).ok());
      From({0});
      return;
    }
    for (int rank = 1; rank < channel_.size(); ++rank) From({rank});
    for (int rank = 1; rank < channel_.size(); ++rank) EXPECT_TRUE(channel_.Send({rank}, Numbered(0, 0)).ok());
  }

 private:
  Channel& channel_;
  std::map<WorldRank, std::deque<Envelope>> kept_;
};

template <typename World>
class ChannelContract : public ::testing::Test {
 protected:
  World world_;
};
TYPED_TEST_SUITE_P(ChannelContract);

TYPED_TEST_P(ChannelContract, RanksAndSizeAreThoseOfTheWorld) {
  this->world_.Run([&](Channel& channel) {
    EXPECT_EQ(channel.size(), this->world_.size());
    EXPECT_GE(channel.rank().value, 0);
    EXPECT_LT(channel.rank().value, channel.size());
    Inbox(channel).Meet();
  });
}

TYPED_TEST_P(ChannelContract, EveryMessageTypeCrossesUnchanged) {
  this->world_.Run([](Channel& channel) {
    Inbox inbox(channel);
    if (channel.rank() == WorldRank{1}) {
      for (const auto& message : SampleMessages()) EXPECT_TRUE(channel.Send({0}, SampleEnvelope(message)).ok());
    } else if (channel.rank() == WorldRank{0}) {
      for (const auto& message : SampleMessages()) {
        EXPECT_EQ(Encode(inbox.From({1})), Encode(SampleEnvelope(message)));
      }
    }
    inbox.Meet();
  });
}

// Large messages take another road through MPI than small ones, and must not be overtaken on it.
TYPED_TEST_P(ChannelContract, MessagesOfOneSenderKeepTheirOrderWhateverTheirSize) {
  constexpr std::uint64_t kMessages = 120;
  const auto size_of = [](std::uint64_t sequence) { return sequence % 10 == 0 ? std::size_t{300'000} : sequence; };
  this->world_.Run([&](Channel& channel) {
    Inbox inbox(channel);
    for (std::uint64_t i = 0; channel.rank() != WorldRank{0} && i < kMessages; ++i) {
      EXPECT_TRUE(channel.Send({0}, Numbered(i, size_of(i))).ok());
    }
    for (int rank = 1; channel.rank() == WorldRank{0} && rank < channel.size(); ++rank) {
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        const Envelope envelope = inbox.From({rank});
        EXPECT_EQ(envelope.sequence, i);
        EXPECT_EQ(BlobSize(envelope), size_of(i));
      }
    }
    inbox.Meet();
  });
}

TYPED_TEST_P(ChannelContract, AMessageToOneselfArrives) {
  this->world_.Run([](Channel& channel) {
    Inbox inbox(channel);
    EXPECT_TRUE(channel.Send(channel.rank(), Numbered(8, 1000)).ok());
    EXPECT_EQ(inbox.From(channel.rank()).sequence, 8U);
    inbox.Meet();
  });
}

TYPED_TEST_P(ChannelContract, TheLargestFrameArrives) {
  const std::size_t blob = cluster::kMaxEnvelopeBytes - Encode(Numbered(0, 0)).size();
  this->world_.Run([&](Channel& channel) {
    Inbox inbox(channel);
    if (channel.rank() == WorldRank{1}) {
      EXPECT_TRUE(channel.Send({0}, Numbered(1, blob)).ok());
    } else if (channel.rank() == WorldRank{0}) {
      EXPECT_EQ(BlobSize(inbox.From({1})), blob);
    }
    inbox.Meet();
  });
}

// Rank 0 and all others send each other a lot before anyone receives: a Send that waited for its
// receiver would wait for ever.
TYPED_TEST_P(ChannelContract, SendDoesNotWaitForTheReceiver) {
  constexpr int kEach = 5;
  this->world_.Run([](Channel& channel) {
    Inbox inbox(channel);
    const int first = channel.rank() == WorldRank{0} ? 1 : 0;
    const int last = channel.rank() == WorldRank{0} ? channel.size() - 1 : 0;
    for (int peer = first; peer <= last; ++peer) {
      for (int i = 0; i < kEach; ++i) EXPECT_TRUE(channel.Send({peer}, Numbered(1, 1'000'000)).ok());
    }
    for (int peer = first; peer <= last; ++peer) {
      for (int i = 0; i < kEach; ++i) EXPECT_EQ(BlobSize(inbox.From({peer})), 1'000'000U);
    }
    inbox.Meet();
  });
}

TYPED_TEST_P(ChannelContract, AnOversizeFrameAndAnUnknownRankAreRefusedAndNothingIsSent) {
  this->world_.Run([](Channel& channel) {
    Inbox inbox(channel);
    EXPECT_EQ(channel.Send({0}, Numbered(0, cluster::kMaxEnvelopeBytes)).code(), StatusCode::refused);
    EXPECT_EQ(channel.Send({channel.size()}, Numbered(0, 1)).code(), StatusCode::refused);
    EXPECT_EQ(channel.Send({-1}, Numbered(0, 1)).code(), StatusCode::refused);
    EXPECT_TRUE(channel.Send({0}, Numbered(77, 0)).ok());
    for (int rank = 0; channel.rank() == WorldRank{0} && rank < channel.size(); ++rank) {
      EXPECT_EQ(inbox.From({rank}).sequence, 77U);
    }
    inbox.Meet();
  });
}

REGISTER_TYPED_TEST_SUITE_P(ChannelContract, RanksAndSizeAreThoseOfTheWorld, EveryMessageTypeCrossesUnchanged,
                            MessagesOfOneSenderKeepTheirOrderWhateverTheirSize, AMessageToOneselfArrives,
                            TheLargestFrameArrives, SendDoesNotWaitForTheReceiver,
                            AnOversizeFrameAndAnUnknownRankAreRefusedAndNothingIsSent);

}  // namespace retort::testing
