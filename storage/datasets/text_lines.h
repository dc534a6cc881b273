// Text files in a tree, by lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/datasets/file_tree.h"

namespace retort::storage {

// Reads a file with SplitLines. Errors: of SplitLines; refused for more than 512 MiB; those of FileTree::Read.
[[nodiscard]] Result<std::vector<std::string>> ReadLines(const FileTree& tree, const TreeFile& file);
// Splits a text that anybody may have written into lines, without line ends ("\n", "\r\n", or "\r" alone) and without
// the byte order mark that some editors put before UTF-8. Error: refused for UTF-16, naming `where`.
[[nodiscard]] Result<std::vector<std::string>> SplitLines(const std::string& where, std::string_view text);
// Parts between blanks and tabs.
[[nodiscard]] std::vector<std::string_view> Words(std::string_view line);
// Without blanks, tabs and "\r" at either end.
[[nodiscard]] std::string_view Trimmed(std::string_view text);
// damage: "WHERE: line N: what".
[[nodiscard]] Status LineError(const std::string& where, std::size_t line, const std::string& what);
// 0 or above; nothing for anything else.
[[nodiscard]] std::optional<std::int64_t> ParseWholeNumber(std::string_view text);

}  // namespace retort::storage
