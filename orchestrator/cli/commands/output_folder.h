// Folders of files at paths that the user named, written whole.
#pragma once

#include <string>
#include <string_view>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::orchestrator::cli {

// By what a later command knows that it may replace a folder: the file in it that says what it holds.
struct FolderKind {
  std::string_view file, mark;  // its name, and what stands at its beginning
  std::string_view holds;       // "samples": what such a folder holds
};
inline constexpr FolderKind kSampleFolder{"sample.json", "\"sample_version\"", "samples"};
inline constexpr FolderKind kExportFolder{"export.json", "\"export_version\"", "an export"};

// Without slashes at its end.
[[nodiscard]] std::string TrimFolderPath(std::string path);

// Before there is anything to write. With `force` a folder may be there that is empty or of that kind; nothing else is
// ever replaced. Error: usage, with what is at `path` and what to do.
[[nodiscard]] Status CheckOutputFolder(storage::Env& env, const std::string& path, const FolderKind& kind, bool force);

}  // namespace retort::orchestrator::cli
