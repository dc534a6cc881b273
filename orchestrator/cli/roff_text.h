// Text in the language of man pages. What is written is ASCII: other letters go out as \[uXXXX], with a fallback for
// devices that lack them.
#pragma once

#include <string>
#include <string_view>

namespace retort::orchestrator::cli {

// Running text: lines that may be filled, none of which is taken for a request. `code` in backticks is bold.
[[nodiscard]] std::string RoffText(std::string_view text);

// What is typed or stands in a file, letter by letter: hyphens stay what they are when copied.
[[nodiscard]] std::string RoffCode(std::string_view text);
[[nodiscard]] std::string RoffBold(std::string_view code);
[[nodiscard]] std::string RoffItalic(std::string_view code);

// Requests that define a fallback for every \[uXXXX] of `page`; they stand before its first line of text.
[[nodiscard]] std::string RoffFallbacks(std::string_view page);

}  // namespace retort::orchestrator::cli
