#include <gtest/gtest.h>

#include <string>

#include "experiments/base/digests.h"

namespace retort {
namespace {

TEST(FormatHex, TakesTwoDigitsAByte) {
  EXPECT_EQ(FormatHex(""), "");
  EXPECT_EQ(FormatHex(std::string("\0\x0f\xa9", 3)), "000fa9");
}

TEST(ParseHex, TakesOnlyWhatFormatHexMakes) {
  EXPECT_EQ(ParseHex("000fa9"), std::string("\0\x0f\xa9", 3));
  EXPECT_EQ(ParseHex(""), "");
  for (const char* text : {"0", "abc", "0g", "AB", "0x", "a b", " 00", "00 "})
    EXPECT_EQ(ParseHex(text), std::nullopt) << text;
}

TEST(FormatBase64, PadsToFours) {
  EXPECT_EQ(FormatBase64(""), "");
  EXPECT_EQ(FormatBase64("f"), "Zg==");
  EXPECT_EQ(FormatBase64("fo"), "Zm8=");
  EXPECT_EQ(FormatBase64("foo"), "Zm9v");
  EXPECT_EQ(FormatBase64("foob"), "Zm9vYg==");
  EXPECT_EQ(FormatBase64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(FormatBase64(std::string("\0\xff\xfe", 3)), "AP/+");
}

}  // namespace
}  // namespace retort
