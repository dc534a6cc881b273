// The environment that a worker process receives.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retort::cluster {

// True for a variable by which a process takes itself for an MPI rank or a Slurm task.
[[nodiscard]] bool BelongsToLauncher(std::string_view name);

// `inherited` ("NAME=value" entries) without launcher variables, with `overrides` (name, value) put in
// place of equal names or appended: thread counts, device masks.
[[nodiscard]] std::vector<std::string> WorkerEnvironment(
    const std::vector<std::string>& inherited,
    const std::vector<std::pair<std::string, std::string>>& overrides);

}  // namespace retort::cluster
