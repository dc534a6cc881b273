#include "orchestrator/cli/commands/shipped_sweeps.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace retort::orchestrator::cli {
namespace {

constexpr std::string_view kSweepFolder = "/experiments/configs", kSuffix = ".toml";

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error);
}

// Whether the word can only be a path: it begins at a folder, or leaves one.
bool IsPlainPath(const std::string& word) {
  return word.empty() || word.front() == '/' || word.front() == '.' || word.find("../") != std::string::npos;
}

}  // namespace

std::vector<std::string> ListShippedSweeps(const std::string& shared) {
  std::vector<std::string> names;
  if (shared.empty()) return names;
  const std::filesystem::path folder = shared + std::string(kSweepFolder);
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().lexically_relative(folder).string();
    if (name.ends_with(kSuffix)) names.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string FindSweepFile(const std::string& word, const std::string& shared) {
  if (IsFile(word)) return word;
  const std::string file = word.ends_with(kSuffix) ? word : word + std::string(kSuffix);
  if (IsFile(file)) return file;
  if (shared.empty() || IsPlainPath(word)) return word;
  for (const std::string& shipped : {shared + std::string(kSweepFolder) + "/" + file, shared + "/" + file})
    if (IsFile(shipped)) return std::filesystem::canonical(shipped).string();  // of a build: the file of the sources
  return word;
}

std::optional<Diagnostic> DescribeUnknownSweep(const std::string& word, const std::string& shared) {
  std::error_code error;
  if (IsPlainPath(word) || word.ends_with(kSuffix) || std::filesystem::exists(word, error)) return std::nullopt;
  const std::vector<std::string> names = ListShippedSweeps(shared);
  if (names.empty()) return std::nullopt;
  Diagnostic unknown;
  unknown.key = word;
  unknown.choices = FindNearest(word, names);
  unknown.message = "there is no sweep file `" + word + "` or `" + word +
                    ".toml` in this folder, and no shipped sweep has that name; shipped are";
  for (const std::string& name : names) unknown.message += (name == names.front() ? " " : ", ") + name;
  unknown.message += ".";
  return unknown;
}

}  // namespace retort::orchestrator::cli
