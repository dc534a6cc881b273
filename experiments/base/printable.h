// Text that may stand on a terminal or a page: valid UTF-8 in which nothing moves the cursor, ends the line or turns
// the direction of what follows; how many columns it takes, and text cut to a number of them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace retort {

// Returns the length of the code point that begins at `at`, in bytes; 0 where none does. REQUIRES: at < text.size().
[[nodiscard]] std::size_t MeasureCodePoint(std::string_view text, std::size_t at);
// Whether all of `text` is UTF-8.
[[nodiscard]] bool IsUtf8(std::string_view text);
// Returns the byte at which code point number `index` begins, counted from 0; a byte that belongs to none counts as
// one. Returns the size where there are fewer.
[[nodiscard]] std::size_t FindCodePoint(std::string_view text, std::size_t index);
// Returns the number of one code point. REQUIRES: `point` is its bytes in valid UTF-8.
[[nodiscard]] std::uint32_t DecodeCodePoint(std::string_view point);
// Whether the bytes of one code point are a C0 or C1 control, delete, a separator of lines or paragraphs (U+2028,
// U+2029), or change the direction of text (Bidi_Control: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
[[nodiscard]] bool IsControlCharacter(std::string_view point);
// Returns the first control character, as "U+001B"; empty where there is none.
[[nodiscard]] std::string FindControlCharacter(std::string_view text);

// Returns one line of valid UTF-8: escape sequences are left out, a control character becomes a space, and a byte that
// is not UTF-8 becomes '?'.
[[nodiscard]] std::string MakeOneLine(std::string_view text);
// The same for every line of `text`; its line ends stay.
[[nodiscard]] std::string MakePrintable(std::string_view text);

// Columns. No function here needs a terminal or a locale.

// Valid UTF-8 in ASCII: "ε" is "eps", "≤" is "<=", "…" is "~"; what has no such spelling becomes '?'.
[[nodiscard]] std::string ConvertToAscii(std::string_view text);
// Columns of one code point, given by its bytes: 0 for a mark that joins the character before it, 2 for the wide ones
// of East Asia and for pictographs, 1 for any other and for a byte that is not UTF-8.
[[nodiscard]] std::size_t CountPointColumns(std::string_view point);
// Columns of valid UTF-8 without colours.
[[nodiscard]] std::size_t CountColumns(std::string_view text);
// Columns of UTF-8 on a terminal, where colours and bold take none.
[[nodiscard]] std::size_t MeasureDisplayWidth(std::string_view text);
// Returns at most `width` columns: what does not fit is cut off at the end, or out of the middle, and replaced by '…'.
[[nodiscard]] std::string CutEnd(std::string_view text, std::size_t width);
[[nodiscard]] std::string CutMiddle(std::string_view text, std::size_t width);
// `cells` columns, of which the fraction (in [0, 1]) is filled: "███░░"; ConvertToAscii makes "###.." of it.
[[nodiscard]] std::string DrawBar(double fraction, std::size_t cells);

}  // namespace retort
