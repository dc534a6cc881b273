#include "experiments/base/digests.h"

#include <gtest/gtest.h>

#include <string>

namespace retort {
namespace {

// RFC 3720, B.4.
TEST(Crc32c, GivesThePublishedValues) {
  std::string ascending(32, '\0'), descending(32, '\0');
  for (std::size_t i = 0; i < 32; ++i) {
    ascending[i] = static_cast<char>(i);
    descending[i] = static_cast<char>(31 - i);
  }
  EXPECT_EQ(ComputeCrc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(ComputeCrc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(ComputeCrc32c(ascending), 0x46DD794EU);
  EXPECT_EQ(ComputeCrc32c(descending), 0x113FDB5CU);
  EXPECT_EQ(ComputeCrc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(ComputeCrc32c(""), 0U);
}

TEST(Crc32c, InstructionAndTablesAgreeAtEveryLengthAndSplit) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) bytes.push_back(static_cast<char>(i * 37 + 11));
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const std::string_view part = std::string_view(bytes).substr(0, length);
    EXPECT_EQ(ComputeCrc32c(part), ExtendCrc32cPortable(0, part)) << length;
    for (std::size_t split = 0; split <= length; ++split) {
      EXPECT_EQ(ExtendCrc32c(ComputeCrc32c(part.substr(0, split)), part.substr(split)), ComputeCrc32c(part));
      EXPECT_EQ(ExtendCrc32cPortable(ComputeCrc32c(part.substr(0, split)), part.substr(split)), ComputeCrc32c(part));
    }
  }
}

}  // namespace
}  // namespace retort
