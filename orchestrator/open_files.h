// How many files a run may have open, and who gets them.
#pragma once

#include <cstdint>
#include <optional>

namespace retort::orchestrator {

// What the agent and orchestrator of a run take for themselves (logs, archives, the launcher's sockets) at the most, and for
// each worker.
inline constexpr std::uint64_t kFilesOfRun = 64, kFilesOfWorker = 1;

// The most that this user may open, whatever the soft limit is now; nothing = as many as there are.
[[nodiscard]] std::optional<std::uint64_t> HardOpenFiles();

// Raises the limit of this process, and so of the workers that it starts, to the hard one. Where that is refused, what was
// allowed before is allowed still. Returns what holds now.
std::optional<std::uint64_t> RaiseOpenFiles();

// How many connections the metrics port may hold where `open_files` are allowed: never a file that the run or one of its
// `workers` may need, but 2 at the least. `most`: where there are enough.
[[nodiscard]] int ConnectionsWithin(std::optional<std::uint64_t> open_files, std::uint64_t workers, int most);

}  // namespace retort::orchestrator
