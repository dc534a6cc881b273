// Folders of files at paths that the user named, written whole.
#pragma once

#include <string>
#include <string_view>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::orchestrator::cli {

// The file of such a folder that says what is in it, and by which a later command knows that it may replace it.
inline constexpr std::string_view kSampleFile = "sample.json";
inline constexpr std::string_view kSampleMark = "\"sample_version\"";

// Without slashes at its end.
[[nodiscard]] std::string TrimFolderPath(std::string path);

// Before there is anything to write. With `force` a folder may be there that is empty or was written by the same
// command; nothing else is ever replaced. Error: usage, with what is at `path` and what to do.
[[nodiscard]] Status CheckOutputFolder(storage::Env& env, const std::string& path, bool force);

}  // namespace retort::orchestrator::cli
