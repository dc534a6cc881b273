// This host: its identity, addresses and memory, what it has to compute on and which part of that falls to one agent,
// and whose processes are at the other ends of its connections.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
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

// Processors and devices.

struct HostTopology {
  std::string host;
  int cpus = 1;          // that this process may run on
  int cuda_devices = 0;  // visible to this process
};

// Counts DEVICE_DIRECTORY/nvidia<number> and applies CUDA_VISIBLE_DEVICES from `environment`
// ("NAME=value" entries). No CUDA library is touched.
[[nodiscard]] HostTopology DiscoverHost(const std::vector<std::string>& environment,
                                        const std::string& device_directory = "/dev");

// Returns the devices of the agent `local_rank` of `local_size` on this host: a contiguous share of the CUDA
// devices ("cuda:0", ...; ordinals as the worker sees them), or `slots` times "cpu" when the host has
// none. An agent beyond the number of devices has none. Each CUDA device stands there `per_gpu` times. slots >= 1,
// per_gpu >= 1, 0 <= local_rank < local_size.
[[nodiscard]] std::vector<std::string> AssignDevices(const HostTopology& host, int local_rank, int local_size,
                                                     int slots, int per_gpu = 1);

// Returns the UUIDs of GPUs ("GPU-..."), by which other tools name them too, by CUDA ordinal: as the driver's files
// below `driver_directory` tell (DIRECTORY/<bus>/information) and CUDA_VISIBLE_DEVICES of `environment` ("NAME=value"
// entries) selects. Empty when they cannot be told apart: no such files, or GPUs of different models without
// CUDA_DEVICE_ORDER=PCI_BUS_ID, which CUDA orders by speed.
[[nodiscard]] std::vector<std::string> FindGpuUuids(const std::vector<std::string>& environment,
                                                    const std::string& driver_directory = "/proc/driver/nvidia/gpus");

// Which user's process is at the other end of a TCP connection. All users of a host share its addresses, 127.0.0.1
// among them, so an address tells hosts apart and the user id tells the users of one host apart.

// Returns the user whose process holds the other end of `socket` (IPv4 or IPv6) on this host. Nothing where the other
// end is on another host, is closed already, or the kernel does not tell.
[[nodiscard]] std::optional<uid_t> FindPeerUser(int socket);

// Whether a connection that was just accepted may go on: not when its other end belongs to another user of this host,
// and not when it is closed already, or half of it (shutdown(2), also with bytes that this end has not taken yet),
// since then nobody can tell whose it was; nor where no descriptor is left to ask with. Other hosts' connections may,
// and sockets of another kind.
[[nodiscard]] bool IsOwnPeer(int socket);

}  // namespace retort::cluster
