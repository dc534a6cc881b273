// What may stand on a terminal or a page.
#include "experiments/base/printable.h"

#include <gtest/gtest.h>

namespace retort {
namespace {

TEST(Printable, LineIsValidAndHasNoControls) {
  EXPECT_EQ(MakeOneLine("a\x1b[31mb\r\n\tc"), "ab   c");
  EXPECT_EQ(MakeOneLine("a\x1b[31"), "a [31") << "cut off before its end";
  EXPECT_EQ(MakeOneLine("\xff"
                        "e\xcc"),
            "?e?");
  EXPECT_EQ(MakeOneLine("ε ≤ 2 \xc2\x9b"
                        "1"),
            "ε ≤ 2  1")
      << "C1 controls begin sequences, too";
  EXPECT_EQ(MakeOneLine("\xed\xa0\x80"), "???") << "half of a surrogate pair";
  EXPECT_EQ(MakeOneLine("\x1b]0;title\x07"
                        "b\x7f"),
            " ]0;title b ")
      << "a title of the window, and a bell";
}

TEST(Printable, NothingTurnsTheDirectionOfTextOrEndsItsLine) {
  EXPECT_EQ(MakeOneLine("a\u202Eb\u202Cc"), "a b c");
  EXPECT_EQ(MakeOneLine("\u061C\u200E\u200F\u202A\u202B\u202D\u2066\u2067\u2068\u2069"), std::string(10, ' '));
  EXPECT_EQ(MakeOneLine("a\u2028b\u2029c\u0085"
                        "d"),
            "a b c d");
  EXPECT_EQ(MakeOneLine("–…†שלום例🙂\u200D"), "–…†שלום例🙂\u200D")
      << "neighbours of these, and letters that run leftwards";
}

TEST(Printable, LinesStay) {
  EXPECT_EQ(MakePrintable("a\x1b[2J\nb\r\n\xff"), "a\nb \n?");
  EXPECT_EQ(MakePrintable("a\n"), "a\n");
  EXPECT_EQ(MakePrintable(""), "");
}

TEST(Printable, FirstControlIsNamedByItsNumber) {
  EXPECT_EQ(FindControlCharacter("ε ≤ 2, \xff"), "");
  EXPECT_EQ(FindControlCharacter("a\tb\x1b"), "U+0009");
  EXPECT_EQ(FindControlCharacter("ε\x1b"), "U+001B");
  EXPECT_EQ(FindControlCharacter("\u202E"), "U+202E");
  EXPECT_EQ(FindControlCharacter(std::string_view("\0", 1)), "U+0000");
}

TEST(Printable, CountsCodePointsAndStrayBytes) {
  EXPECT_EQ(FindCodePoint("aε例🙂b", 0), 0U);
  EXPECT_EQ(FindCodePoint("aε例🙂b", 4), 10U);
  EXPECT_EQ(FindCodePoint("aε例🙂b", 9), 11U) << "there are fewer";
  EXPECT_EQ(FindCodePoint("\xff\xc3"
                          "b",
                          2),
            2U);
}

}  // namespace
}  // namespace retort
