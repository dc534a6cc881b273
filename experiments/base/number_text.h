// Numbers, sizes and durations as people read them, and back. Text is UTF-8; every symbol used is one column wide.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace retort {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An epsilon that is already rounded up: three decimals and thousands separators; infinity and NaN as "∞".
[[nodiscard]] std::string FormatEpsilon(double epsilon);
// Three digits after the point, the precision that claims are rounded up to; "inf" for infinity.
[[nodiscard]] std::string FormatThreeDecimals(double value);
// Shortest text that reads back as the same double; "inf" and "nan" as such.
[[nodiscard]] std::string FormatExactNumber(double value);
// The same without a padded exponent: "1e-5", "0.001".
[[nodiscard]] std::string FormatShortNumber(double value);
// The same, always with a point or an exponent, as TOML has real numbers.
[[nodiscard]] std::string FormatReal(double value);
// Six significant digits, without trailing zeros.
[[nodiscard]] std::string FormatSixDigits(double value);
// A fraction in percent with two decimals and no sign: 0.9173 is "91.73".
[[nodiscard]] std::string FormatPercent(double fraction);

// With thousands separators: "12,345".
[[nodiscard]] std::string CountText(std::int64_t count);
// "1 trial", "12 trials".
[[nodiscard]] std::string FormatTrialCount(std::int64_t count);
// "640 B", "12.4 KiB", "3.1 MiB", "2.0 GiB".
[[nodiscard]] std::string FormatBytes(std::uint64_t bytes);
// "3.1 MiB", whatever the size.
[[nodiscard]] std::string FormatMebibytes(std::uint64_t bytes);

// "0.4 s", "12 s", "2 min 40 s", "3 h 5 min", "2 d 4 h"; "unknown" where negative or not finite.
[[nodiscard]] std::string FormatDuration(double seconds);
// In columns that line up: "12 s", "4 min 10 s", "1 h 03 min". A negative duration is "0 s".
[[nodiscard]] std::string FormatPaddedDuration(double seconds);
// One unit, rounded up: "99 s", "12 min", "3.4 h", "2.5 d". A negative duration is "0 s".
[[nodiscard]] std::string FormatRoughDuration(double seconds);

// Returns the seconds of "30s", "500ms", "5m", "2h", "1d": a number and a unit without a blank; nothing for other text.
[[nodiscard]] std::optional<double> ParseDuration(std::string_view text);
// Returns the number, where `text` is a finite number and nothing else.
[[nodiscard]] std::optional<double> ParseFiniteNumber(std::string_view text);
// Returns the number, where `text` is digits and nothing else, and the number is at most `max`.
[[nodiscard]] std::optional<std::int64_t> ParseWholeNumber(std::string_view text,
                                                           std::int64_t max = std::numeric_limits<std::int64_t>::max());

}  // namespace retort
