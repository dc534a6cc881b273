#include "orchestrator/cli/commands/output_folder.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

namespace retort::orchestrator::cli {
namespace {

constexpr std::uint64_t kMaxKindFile = std::uint64_t{4} << 20;

bool IsOfKind(storage::Env& env, const std::string& path, const FolderKind& kind) {
  const Result<std::vector<std::string>> names = env.List(path);
  if (!names.ok()) return false;
  if (names->empty()) return true;
  const Result<std::string> text = env.ReadSmallFile(path + "/" + std::string(kind.file), kMaxKindFile);
  return text.ok() && text->find(kind.mark) != std::string::npos;
}

}  // namespace

std::string TrimFolderPath(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Status CheckOutputFolder(storage::Env& env, const std::string& path, const FolderKind& kind, bool force) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::symlink_status(path, error).type();
  if (type == std::filesystem::file_type::not_found) return {};
  if (type == std::filesystem::file_type::none)
    return EnvironmentError(path + " cannot be looked at: " + error.message() + ".");
  if (type != std::filesystem::file_type::directory)
    return UsageError(path + " is there and is no folder, and a folder is written: give another name.");
  const std::string holds(kind.holds);
  if (!force) return UsageError(path + " is there already; --force replaces " + holds + " that retort wrote.");
  if (IsOfKind(env, path, kind)) return {};
  return UsageError(path + " holds something else than " + holds +
                    " of retort's: give another name, or remove it yourself.");
}

}  // namespace retort::orchestrator::cli
