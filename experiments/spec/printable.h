// Text that may stand on a terminal or a page: valid UTF-8 in which nothing moves the cursor, ends the line or turns
// the direction of what follows. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace retort {

// Bytes of the code point that begins at `at`, which lies in `text`; 0 where none does.
[[nodiscard]] std::size_t CodePointAt(std::string_view text, std::size_t at);
// Byte at which the code point number `index`, from 0, begins; a byte that belongs to none counts as one. The size
// where there are fewer.
[[nodiscard]] std::size_t ByteOfCodePoint(std::string_view text, std::size_t index);
// Of the bytes of one code point: C0 and C1 controls, delete, the separators of lines and paragraphs (U+2028, U+2029),
// and what turns the direction of text (Bidi_Control: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
[[nodiscard]] bool IsControl(std::string_view point);
// The first that IsControl holds of, as "U+001B"; empty where there is none.
[[nodiscard]] std::string FirstControl(std::string_view text);

// One line of valid UTF-8: colours and the like are left out, what IsControl holds of becomes a space, and a byte that
// is no UTF-8 '?'.
[[nodiscard]] std::string OneLine(std::string_view text);
// The same of every line: those that `text` has stay.
[[nodiscard]] std::string Printable(std::string_view text);

}  // namespace retort
