// How many columns text takes, and text cut to a number of them. No function here needs a terminal or a locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace retort {

// Valid UTF-8 in ASCII: "ε" is "eps", "≤" is "<=", "…" is "~"; what has no such spelling becomes '?'.
[[nodiscard]] std::string InAscii(std::string_view text);
// Columns of one code point, given by its bytes: 0 for a mark that joins the character before it, 2 for the wide ones
// of East Asia and for pictographs, 1 for any other and for a byte that is not UTF-8.
[[nodiscard]] std::size_t PointColumns(std::string_view point);
// Columns of valid UTF-8 without colours.
[[nodiscard]] std::size_t Columns(std::string_view text);
// Columns of UTF-8 on a terminal, where colours and bold take none.
[[nodiscard]] std::size_t DisplayWidth(std::string_view text);
// Returns at most `width` columns: what does not fit is cut off at the end, or out of the middle, and replaced by '…'.
[[nodiscard]] std::string CutEnd(std::string_view text, std::size_t width);
[[nodiscard]] std::string CutMiddle(std::string_view text, std::size_t width);
// `cells` columns, of which the fraction (in [0, 1]) is filled: "███░░"; InAscii makes "###.." of it.
[[nodiscard]] std::string Bar(double fraction, std::size_t cells);

}  // namespace retort
