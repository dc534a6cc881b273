// What this host is: identity, address, memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/base/status.h"

namespace retort::cluster {

// Returns "NAME/BOOT/NETWORK": host name, the kernel's boot id and the process's network namespace, from `proc`. Names
// alone do not tell hosts apart, since containers and network namespaces may share one. Equal for two processes when
// they share loopback and processors. A part that cannot be read is empty.
[[nodiscard]] std::string ReadHostIdentity(const std::string& proc = "/proc");

// Returns the address by which other hosts reach this one: the numeric address of the network interface that
// RETORT_GANG_INTERFACE in `environment` ("NAME=value" entries) names; without it of the one with the default route,
// else of the first that is up and not loopback (IPv4 before IPv6), else "127.0.0.1". Error: usage, when the named
// interface has no address, listing those that have.
[[nodiscard]] Result<std::string> FindHostAddress(const std::vector<std::string>& environment);

// Returns the bytes that new processes can have without swapping (Linux: MemAvailable); 0 where `meminfo` does not say.
// A control group may allow less.
[[nodiscard]] std::int64_t ReadAvailableMemory(const std::string& meminfo = "/proc/meminfo");
// Returns the most bytes that the process has had resident (Linux: VmHWM); 0 when it is gone or the kernel does not
// tell.
[[nodiscard]] std::int64_t ReadPeakResident(pid_t process, const std::string& proc = "/proc");

// Counts the processes that the kernel has killed on this machine because memory, its own or a control group's, had
// run out; 0 where `vmstat` does not say. Linux counts them in the line "oom_kill" (since 4.13).
[[nodiscard]] std::uint64_t CountOomKills(const std::string& vmstat = "/proc/vmstat");

}  // namespace retort::cluster
