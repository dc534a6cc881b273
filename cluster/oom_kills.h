// Whether the kernel has been killing processes for memory.
#pragma once

#include <cstdint>
#include <string>

namespace retort::cluster {

// How many processes the kernel has killed on this machine because memory, its own or a control group's, had
// run out; 0 where `vmstat` does not say. Linux counts them in the line "oom_kill" (since 4.13).
[[nodiscard]] std::uint64_t CountOomKills(const std::string& vmstat = "/proc/vmstat");

}  // namespace retort::cluster
