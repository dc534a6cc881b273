// Numbers as people read them, and back. All text is UTF-8; every symbol used is one column wide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace retort::orchestrator::cli {

// Three decimals and thousands separators; infinity as the symbol. The value is already rounded up.
[[nodiscard]] std::string EpsilonText(double epsilon);
// Shortest exact form without a padded exponent: "1e-5", "0.001".
[[nodiscard]] std::string ShortNumber(double value);
// A fraction in percent with two decimals and no sign: 0.9173 -> "91.73".
[[nodiscard]] std::string PercentText(double fraction);
[[nodiscard]] std::string CountText(std::int64_t count);  // thousands separators
[[nodiscard]] std::string TrialsText(std::int64_t count);  // "1 trial", "12 trials"
// "640 B", "12.4 KiB", "3.1 MiB", "2.0 GiB".
[[nodiscard]] std::string BytesText(std::uint64_t bytes);
// Wall clock: "0.4 s", "2 min 40 s", "3 h 5 min".
[[nodiscard]] std::string DurationText(double seconds);
// Of text that is a finite number and nothing else.
[[nodiscard]] std::optional<double> NumberIn(std::string_view text);
// Columns that UTF-8 text takes on a terminal: none for colours and bold.
[[nodiscard]] std::size_t DisplayWidth(std::string_view text);

}  // namespace retort::orchestrator::cli
