// Documents that are made from the key table: KEYS.md and the JSON schema of a sweep file.
#pragma once

#include <string>

namespace retort {

[[nodiscard]] std::string FormatKeysMarkdown();
// JSON Schema of the sweep file, generated from the key table.
[[nodiscard]] std::string FormatSweepJsonSchema();

}  // namespace retort
