// What the kernel says about memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace retort::cluster {

// Bytes that new processes can have without swapping (Linux: MemAvailable); 0 where `meminfo` does not say. A
// control group may allow less.
[[nodiscard]] std::int64_t AvailableMemory(const std::string& meminfo = "/proc/meminfo");
// The most bytes that the process has had resident (Linux: VmHWM); 0 when it is gone or nobody says.
[[nodiscard]] std::int64_t PeakResident(pid_t process, const std::string& proc = "/proc");

}  // namespace retort::cluster
