#include "orchestrator/cli/commands/output_folder.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

namespace retort::orchestrator::cli {
namespace {

constexpr std::uint64_t kMaxSampleFile = std::uint64_t{4} << 20;

bool IsSampleFolder(storage::Env& env, const std::string& path) {
  const Result<std::vector<std::string>> names = env.List(path);
  if (!names.ok()) return false;
  if (names->empty()) return true;
  const Result<std::string> text = env.ReadSmallFile(path + "/" + std::string(kSampleFile), kMaxSampleFile);
  return text.ok() && text->find(kSampleMark) != std::string::npos;
}

}  // namespace

std::string TrimFolderPath(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Status CheckOutputFolder(storage::Env& env, const std::string& path, bool force) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::symlink_status(path, error).type();
  if (type == std::filesystem::file_type::not_found) return {};
  if (type == std::filesystem::file_type::none)
    return EnvironmentError(path + " cannot be looked at: " + error.message() + ".");
  if (type != std::filesystem::file_type::directory)
    return UsageError(path + " is there and is no folder, and a folder is written: give another name.");
  if (!force) return UsageError(path + " is there already; --force replaces samples that retort wrote.");
  if (IsSampleFolder(env, path)) return {};
  return UsageError(path + " holds something else than samples of retort's: give another name, or remove it yourself.");
}

}  // namespace retort::orchestrator::cli
