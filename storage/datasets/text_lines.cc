#include "storage/datasets/text_lines.h"

#include <algorithm>
#include <charconv>

namespace retort::storage {

constexpr std::uint64_t kMaxText = std::uint64_t{512} << 20;
constexpr std::int64_t kMaxLines = 20'000'000;

Result<std::vector<std::string>> ReadLines(const FileTree& tree, const TreeFile& file) {
  if (file.size > kMaxText) return Refused(tree.Where(file) + " is a text of more than 512 MiB");
  RETORT_ASSIGN_OR_RETURN(const std::string text, tree.Read(file));
  if (std::count(text.begin(), text.end(), '\n') > kMaxLines)  // an empty one takes 32 times its byte
    return Refused(tree.Where(file) + " is a text of more than 20 million lines");
  return SplitLines(tree.Where(file), text);
}

Result<std::vector<std::string>> SplitLines(const std::string& where, std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return Refused(where + " is a text in UTF-16; save it as UTF-8");
  if (text.find('\0') != std::string_view::npos)
    return Refused(where + " holds zero bytes, as a text in UTF-16 does; save it as UTF-8");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const char line_end = text.find('\n') == std::string_view::npos ? '\r' : '\n';
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(line_end, begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    while (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r";
  for (std::size_t begin = line.find_first_not_of(kBlank); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlank, end);
  }
  return words;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

Status LineError(const std::string& where, std::size_t line, const std::string& what) {
  return DamageError(where + ": line " + std::to_string(line) + ": " + what);
}

std::optional<std::int64_t> ParseWholeNumber(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace retort::storage
