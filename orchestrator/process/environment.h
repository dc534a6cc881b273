// The only place of `retort` that reads the process environment.
#pragma once

#include <string>
#include <vector>

namespace retort::orchestrator {

// Returns every "NAME=value" that this process was started with.
[[nodiscard]] std::vector<std::string> ReadProcessEnvironment();
// Whether this process is world rank 0, by the variables of the launcher; true without a launcher.
[[nodiscard]] bool IsWorldRankZero(const std::vector<std::string>& environment);
// Returns the folder of the running program.
[[nodiscard]] std::string ProgramDirectory();
[[nodiscard]] std::string HostName();
// Returns what decides how fast trials are on this host: processor model, processors, usable CUDA devices. Equal on
// equal machines.
[[nodiscard]] std::string FindMachineKind(const std::vector<std::string>& environment);
// Returns the folder for caches: XDG_CACHE_HOME/retort, else HOME/.cache/retort; empty where neither is an absolute
// path.
[[nodiscard]] std::string FindCacheDirectory(const std::vector<std::string>& environment);

}  // namespace retort::orchestrator
