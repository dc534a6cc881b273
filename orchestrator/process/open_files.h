// How many files a run may have open, and how many of them connections may use.
#pragma once

#include <cstdint>
#include <optional>

namespace retort::orchestrator {

// What the agent and orchestrator of a run take for themselves (logs, archives, the launcher's sockets) at the most,
// and for each worker.
inline constexpr std::uint64_t kFilesPerRun = 64, kFilesPerWorker = 1;

// Returns the hard limit of open files; nothing = unlimited.
[[nodiscard]] std::optional<std::uint64_t> GetHardOpenFileLimit();

// Raises the soft limit of this process, and so of the workers that it starts, to the hard limit. Where that is
// refused, the limit stays. Returns the limit that holds now.
std::optional<std::uint64_t> RaiseOpenFileLimit();

// Returns how many connections the metrics port may hold where `open_files` are allowed, leaving the files that the run
// and its `workers` may need; at least 2, at most `most`.
[[nodiscard]] int ComputeMaxConnections(std::optional<std::uint64_t> open_files, std::uint64_t workers, int most);

}  // namespace retort::orchestrator
