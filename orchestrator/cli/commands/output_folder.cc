#include "orchestrator/cli/commands/output_folder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

namespace retort::orchestrator::cli {
namespace {

constexpr std::uint64_t kHeadBytes = std::uint64_t{64} << 10;  // the mark is among the first members

// The first bytes of a plain file; nothing where there is none, or a link.
std::string ReadHead(storage::Env& env, const std::string& path) {
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::regular) return "";
  const Result<std::unique_ptr<storage::InputFile>> file = env.OpenInput(path);
  if (!file.ok()) return "";
  std::string head(static_cast<std::size_t>(std::min((*file)->size(), kHeadBytes)), '\0');
  return (*file)->ReadAt(0, head.size(), head.data()).ok() ? head : "";
}

bool IsOfKind(storage::Env& env, const std::string& path, const FolderKind& kind) {
  const Result<std::vector<std::string>> names = env.List(path);
  if (!names.ok()) return false;
  if (names->empty()) return true;
  return ReadHead(env, path + "/" + std::string(kind.file)).find(kind.mark) != std::string::npos;
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
