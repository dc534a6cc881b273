// The only place of `retort` that reads the process environment.
#pragma once

#include <string>
#include <vector>

namespace retort::orchestrator {

// Every "NAME=value" this process was started with.
[[nodiscard]] std::vector<std::string> ProcessEnvironment();
// Whether this process is world rank 0: what the launcher says before MPI is up, or true when none
// launched it.
[[nodiscard]] bool IsWorldRankZero(const std::vector<std::string>& environment);
// Folder of the running program.
[[nodiscard]] std::string ProgramDirectory();
[[nodiscard]] std::string HostName();
// What decides how fast trials are on this host: processor model, processors, usable CUDA devices. Equal on equal
// machines.
[[nodiscard]] std::string MachineKind(const std::vector<std::string>& environment);
// Where Retort may keep what it can do without: XDG_CACHE_HOME/retort, else HOME/.cache/retort; empty when
// neither is an absolute path.
[[nodiscard]] std::string CacheDirectory(const std::vector<std::string>& environment);

}  // namespace retort::orchestrator
