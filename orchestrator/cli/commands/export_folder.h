// `retort export … curves` in the formats of trackers of experiments, which are folders of files.
#pragma once

#include <string>
#include <string_view>

#include "orchestrator/cli/commands/commands.h"

namespace retort::orchestrator::cli {

// In place of a trial: every trial that succeeded.
inline constexpr std::string_view kEveryTrial = "all";

[[nodiscard]] bool IsFolderFormat(std::string_view format);  // "tensorboard", "mlflow"

// Writes the folder --out whole, with export.json, which says what is in it. Returns the exit code.
[[nodiscard]] int ExportFolderCommand(const Invocation& call);

}  // namespace retort::orchestrator::cli
