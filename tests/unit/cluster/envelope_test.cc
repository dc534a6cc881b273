#include "cluster/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "experiments/base/digests.h"
#include "tests/testing/message_samples.h"

namespace retort::cluster {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string WithCrc(std::string frame) {
  frame.resize(frame.size() - 4);
  const std::uint32_t crc = ComputeCrc32c(frame);
  for (int i = 0; i < 4; ++i) frame.push_back(static_cast<char>((crc >> (8 * i)) & 0xFFU));
  return frame;
}

TEST(EnvelopeTest, EveryMessageRoundTripsWithItsHeader) {
  for (const Message& message : testing::SampleMessages()) {
    const std::string bytes = Encode(testing::SampleEnvelope(message));
    const auto decoded = Decode(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(decoded->attempt, (AttemptId{TrialId(0x1F3A9C2E00000001), 3}));
    EXPECT_EQ(decoded->generation, Generation{5});
    EXPECT_EQ(decoded->sequence, 42U);
    EXPECT_EQ(Encode(*decoded), bytes);
  }
}

TEST(EnvelopeTest, BytesAreThoseOfTheContract) {
  const std::string bytes = Encode(testing::SampleEnvelope(Shutdown{}));
  const std::string header(
      "\x2A\x00\x00\x00\x01\x00\x2C\x00\x01\x00\x00\x00\x2E\x9C\x3A\x1F\x03\x00\x00\x00"
      "\x05\x00\x00\x00\x00\x00\x00\x00\x2A\x00\x00\x00\x00\x00\x00\x00{}",
      38);
  EXPECT_EQ(bytes.substr(0, 38), header);
  EXPECT_EQ(bytes.size(), 42U);
}

TEST(EnvelopeTest, EveryTruncationIsRefusedByLength) {
  for (const Message& message : testing::SampleMessages()) {
    const std::string bytes = Encode(testing::SampleEnvelope(message));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto decoded = Decode(std::string_view(bytes).substr(0, length));
      ASSERT_FALSE(decoded.ok());
      EXPECT_THAT(decoded.status().message(), HasSubstr("field length"));
    }
    EXPECT_FALSE(Decode(bytes + "x").ok());
  }
}

TEST(EnvelopeTest, EveryFlippedByteIsRefusedNamingAField) {
  for (const Message& message : testing::SampleMessages()) {
    const std::string bytes = Encode(testing::SampleEnvelope(message));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const unsigned mask : {0x01U, 0x80U, 0xFFU}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ mask);
        const auto decoded = Decode(damaged);
        ASSERT_FALSE(decoded.ok()) << at;
        EXPECT_EQ(decoded.status().code(), StatusCode::refused);
        EXPECT_THAT(decoded.status().message(),
                    AnyOf(HasSubstr("field length"), HasSubstr("field version"), HasSubstr("field crc")));
      }
    }
  }
}

TEST(EnvelopeTest, LengthsThatNoFrameHasAreRefused) {
  for (const std::uint32_t length : {0U, 39U, static_cast<std::uint32_t>(kMaxEnvelopeBytes) + 1, 0xFFFFFFFFU}) {
    std::string bytes;
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>((length >> (8 * i)) & 0xFFU));
    const auto said = DecodeEnvelopeLength(bytes);
    ASSERT_FALSE(said.ok());
    EXPECT_THAT(said.status().message(), HasSubstr("field length"));
    EXPECT_FALSE(Decode(bytes + std::string(100, 'x')).ok());
  }
  EXPECT_FALSE(DecodeEnvelopeLength("abc").ok());
}

TEST(EnvelopeTest, AnotherVersionAndAnUnknownTypeAreNamed) {
  const std::string bytes = Encode(testing::SampleEnvelope(Shutdown{}));
  std::string newer = bytes;
  newer[4] = 2;
  EXPECT_THAT(Decode(WithCrc(newer)).status().message(), HasSubstr("field version"));
  std::string unknown = bytes;
  unknown[6] = 99;
  EXPECT_THAT(Decode(WithCrc(unknown)).status().message(), HasSubstr("field type"));
}

TEST(EnvelopeTest, AWellFramedButWrongPayloadIsRefusedByField) {
  std::string bytes = Encode(testing::SampleEnvelope(Stop{true, 1}));
  const std::size_t at = bytes.find("true");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 4, "null");
  EXPECT_THAT(Decode(WithCrc(bytes)).status().message(), HasSubstr("field save"));
}

// Random damage behind a valid checksum reaches the payload decoder; whatever it yields, it must yield
// it without a crash, and what it accepts must encode again.
TEST(EnvelopeTest, RandomDamageNeverCrashesTheDecoder) {
  std::mt19937 random(20240607);  // NOLINT: fixed on purpose
  const auto messages = testing::SampleMessages();
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = Encode(testing::SampleEnvelope(messages[random() % messages.size()]));
    const unsigned changes = 1 + random() % 4;
    for (unsigned i = 0; i < changes; ++i) {
      bytes[6 + random() % (bytes.size() - 10)] = static_cast<char>(random() & 0xFFU);
    }
    const auto decoded = Decode(WithCrc(bytes));
    if (!decoded.ok()) {
      EXPECT_FALSE(decoded.status().message().empty());
      continue;
    }
    ++accepted;
    EXPECT_TRUE(Decode(Encode(*decoded)).ok());
  }
  EXPECT_GT(accepted, 100);  // the loop reaches behind the checksum
  EXPECT_LT(accepted, 19'000);
}

}  // namespace
}  // namespace retort::cluster
