// Paths of a sweep file: ${VAR}, then relative to the folder of the file.
#include <filesystem>
#include <utility>

#include "experiments/spec/sweep_document.h"

namespace retort {
namespace {

std::optional<std::string> Expand(const std::string& text, Position where, const std::string& key,
                                  ReadContext& context) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "${") != 0) {
      out += text[i++];
      continue;
    }
    const std::size_t end = text.find('}', i);
    const std::string name = end == std::string::npos ? "" : text.substr(i + 2, end - i - 2);
    const auto value = name.empty() ? std::nullopt : context.lookup(name);
    if (!value) {
      context.complaints.Error(
          where, key,
          name.empty() ? "${ has no variable name and } behind it"
                       : "the environment variable " + name + " is not set; set it, or write the path");
      return std::nullopt;
    }
    out += *value;
    i = end + 1;
  }
  return out;
}

}  // namespace

std::optional<std::string> AbsolutePath(const std::string& text, Position where, const std::string& key,
                                        ReadContext& context) {
  const std::optional<std::string> expanded = Expand(text, where, key, context);
  if (!expanded) return std::nullopt;
  return (std::filesystem::path(context.directory) / *expanded).lexically_normal().string();
}

}  // namespace retort
