// Text that fits a line of a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace retort::orchestrator {

// Valid UTF-8 in ASCII: "ε" is "eps", "≤" is "<=", "…" is "~"; what has no such spelling becomes '?'.
[[nodiscard]] std::string InAscii(std::string_view text);
// Columns of valid UTF-8 without colours.
[[nodiscard]] std::size_t Columns(std::string_view text);
// At most `width` columns: what does not fit is cut off at the end, or out of the middle, and '…' stands there.
[[nodiscard]] std::string CutEnd(std::string_view text, std::size_t width);
[[nodiscard]] std::string CutMiddle(std::string_view text, std::size_t width);
// `cells` columns, of which the fraction (in [0, 1]) is filled: "███░░"; InAscii makes "###.." of it.
[[nodiscard]] std::string Bar(double fraction, std::size_t cells);

}  // namespace retort::orchestrator
