// KEYS.md, from the key table.
#pragma once

#include <string>

namespace retort {

[[nodiscard]] std::string KeysMarkdown();

}  // namespace retort
