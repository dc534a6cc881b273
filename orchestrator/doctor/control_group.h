// What the control group of this process allows it (Linux, versions 1 and 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace retort::orchestrator::doctor {

struct ControlGroup {
  std::optional<double> processors;    // quota, in processors
  std::optional<std::int64_t> memory;  // limit, bytes
  std::int64_t memory_used = 0;  // bytes in the group that has this limit, without what the kernel can drop
};

// The least that the group of this process or one above it allows. `group_file`: as /proc/self/cgroup;
// `mount`: where the groups are. What cannot be read counts as no limit.
[[nodiscard]] ControlGroup ReadControlGroup(const std::string& group_file = "/proc/self/cgroup",
                                            const std::string& mount = "/sys/fs/cgroup");

}  // namespace retort::orchestrator::doctor
