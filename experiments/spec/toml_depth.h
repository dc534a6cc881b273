// Keys of more parts than anything has, found before a parser recurses into them.
#pragma once

#include <optional>
#include <string_view>

namespace retort {

inline constexpr int kMostKeyParts = 16;

struct TextPlace {
  int line = 1, column = 1;  // from 1; columns count code points
};

// Where the first dotted key or header of `toml` grows past kMostKeyParts parts. Text that is not TOML is
// scanned as far as it can be read as such.
[[nodiscard]] std::optional<TextPlace> FindDeepKey(std::string_view toml);

}  // namespace retort
