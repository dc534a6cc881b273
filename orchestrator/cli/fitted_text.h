// Text for a terminal that may be narrow. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace retort::orchestrator::cli {

// Lines of more than `width` columns are broken at spaces. What stands behind two spaces or more, as the meaning of an
// option does, goes on below itself, or where that leaves too little room in lines of its own. Tables with a rule below
// their header, and commands that are there to be pasted, stay as they are.
[[nodiscard]] std::string FittedText(std::string_view text, std::size_t width);

}  // namespace retort::orchestrator::cli
