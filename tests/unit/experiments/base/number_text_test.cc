#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"

#include <gtest/gtest.h>

#include <limits>

namespace retort::orchestrator::cli {
namespace {

TEST(NumberText, EpsilonHasThreeDecimalsAndSeparators) {
  EXPECT_EQ(FormatEpsilon(3), "3.000");
  EXPECT_EQ(FormatEpsilon(0.041), "0.041");
  EXPECT_EQ(FormatEpsilon(541289.259), "541,289.259");
  EXPECT_EQ(FormatEpsilon(1234567.5), "1,234,567.500");
}

TEST(NumberText, EpsilonThatIsNoNumberIsInfinite) {
  EXPECT_EQ(FormatEpsilon(std::numeric_limits<double>::infinity()), "∞");
  EXPECT_EQ(FormatEpsilon(std::numeric_limits<double>::quiet_NaN()), "∞");
}

TEST(NumberText, ShortNumbersHaveNoPaddedExponent) {
  EXPECT_EQ(FormatShortNumber(1e-5), "1e-5");
  EXPECT_EQ(FormatShortNumber(1e-10), "1e-10");
  EXPECT_EQ(FormatShortNumber(0.0001), "1e-4");
  EXPECT_EQ(FormatShortNumber(0.00025), "2.5e-4");
  EXPECT_EQ(FormatShortNumber(0), "0");
  EXPECT_EQ(FormatShortNumber(1e20), "1e20");
  EXPECT_EQ(FormatShortNumber(0.001), "0.001");
  EXPECT_EQ(FormatShortNumber(3), "3");
}

TEST(NumberText, DurationsReadAsPeopleSayThem) {
  EXPECT_EQ(FormatDuration(0.42), "0.4 s");
  EXPECT_EQ(FormatDuration(59.4), "59 s");
  EXPECT_EQ(FormatDuration(160), "2 min 40 s");
  EXPECT_EQ(FormatDuration(11100), "3 h 5 min");
  EXPECT_EQ(FormatDuration(200000), "2 d 7 h");
  EXPECT_EQ(FormatDuration(-1), "unknown");
}

TEST(NumberText, CountsAndPercents) {
  EXPECT_EQ(CountText(10000), "10,000");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(-1234567), "-1,234,567");
  EXPECT_EQ(FormatPercent(0.9173), "91.73");
  EXPECT_EQ(FormatTrialCount(1), "1 trial");
  EXPECT_EQ(FormatTrialCount(0), "0 trials");
  EXPECT_EQ(FormatTrialCount(12000), "12000 trials");
}

TEST(NumberText, BytesHaveBinaryUnits) {
  EXPECT_EQ(FormatBytes(640), "640 B");
  EXPECT_EQ(FormatBytes(12700), "12.4 KiB");
  EXPECT_EQ(FormatBytes(std::uint64_t{3} << 40), "3.0 TiB");
}

TEST(NumberText, NumbersAreReadFromTextThatIsNothingElse) {
  EXPECT_EQ(ParseFiniteNumber("0.25"), 0.25);
  EXPECT_EQ(ParseFiniteNumber("-1e-5"), -1e-5);
  for (const char* none : {"", " 1", "1 ", "1x", "+1", "inf", "nan", "1e999", "true"})
    EXPECT_EQ(ParseFiniteNumber(none), std::nullopt) << none;
}

TEST(NumberText, WholeNumbersAreDigitsAlone) {
  EXPECT_EQ(ParseWholeNumber("0"), 0);
  EXPECT_EQ(ParseWholeNumber("0042"), 42);
  EXPECT_EQ(ParseWholeNumber("9223372036854775807"), 9223372036854775807);
  for (const char* none : {"", "-0", "-1", "+1", " 1", "1 ", "1.0", "0x1", "9223372036854775808"})
    EXPECT_EQ(ParseWholeNumber(none), std::nullopt) << none;
  EXPECT_EQ(ParseWholeNumber("65535", 65535), 65535);
  EXPECT_EQ(ParseWholeNumber("65536", 65535), std::nullopt);
}

TEST(NumberText, WidthIsThatOnATerminal) {
  EXPECT_EQ(MeasureDisplayWidth("≤ ∞ †"), 5U);
  EXPECT_EQ(MeasureDisplayWidth(""), 0U);
  EXPECT_EQ(MeasureDisplayWidth("\x1b[1m数字\x1b[0m a\u0301"), 6U);
  EXPECT_EQ(MeasureDisplayWidth("\u1112\u1161\u11ab"), 2U) << "the vowel and the final of Hangul join their letter";
  EXPECT_EQ(MeasureDisplayWidth("\u0915\u093f"), 2U) << "a spacing mark has a column of its own";
  EXPECT_EQ(MeasureDisplayWidth("\U0001f600\u00ad"), 3U);
}

TEST(NumberText, ColoursAndBoldTakeNoColumns) {
  EXPECT_EQ(MeasureDisplayWidth("\x1b[1m92.00 %\x1b[0m"), 7U);
  EXPECT_EQ(MeasureDisplayWidth("mm"), 2U);
}

}  // namespace
}  // namespace retort::orchestrator::cli
