// Numbers as claims print them.
#pragma once

#include <string>

namespace retort::privacy {

// Shortest text that reads back as the same double; "inf" and "nan" as such.
[[nodiscard]] std::string ExactNumber(double value);
// Six significant digits, without trailing zeros.
[[nodiscard]] std::string ShortNumber(double value);

// Three digits after the point, the precision that claims are rounded up to.
[[nodiscard]] std::string ThreeDecimals(double value);

}  // namespace retort::privacy
