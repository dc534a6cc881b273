// How many columns of a terminal a character takes, whatever the locale. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace retort::orchestrator {

// Of the bytes of one code point: 0 for a mark that joins the character before it, 2 for the wide ones of East Asia and
// for pictures, 1 for any other and for a byte that is no UTF-8.
[[nodiscard]] std::size_t PointColumns(std::string_view point);

}  // namespace retort::orchestrator
