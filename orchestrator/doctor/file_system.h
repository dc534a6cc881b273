// Which file system a path lies on.
#pragma once

#include <string>

namespace retort::orchestrator::doctor {

struct FileSystem {
  std::string type;  // as the kernel mounts it: "ext4", "nfs4", "lustre", "overlay"; empty when not known
  std::string mounted_at;
  std::string options;  // of the mount and of the file system, with commas at both ends: ",rw,noatime,"
  [[nodiscard]] bool Has(const std::string& option) const {
    return options.find("," + option + ",") != std::string::npos;
  }
};

// `path`: absolute, without links. `mounts`: as /proc/self/mountinfo.
[[nodiscard]] FileSystem FileSystemOf(const std::string& path,
                                      const std::string& mounts = "/proc/self/mountinfo");

}  // namespace retort::orchestrator::doctor
