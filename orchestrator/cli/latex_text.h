// Any text as LaTeX that compiles with the packages of the base system.
#pragma once

#include <string>
#include <string_view>

namespace retort::orchestrator::cli {

// Special characters are escaped and the symbols of claims become mathematics; other characters beyond Latin letters
// come out as their code point, "[U+4E2D]".
[[nodiscard]] std::string LatexText(std::string_view text);

}  // namespace retort::orchestrator::cli
