// Which host this is, beyond its name: containers and network namespaces may share one.
#pragma once

#include <string>

namespace retort::cluster {

// "NAME/BOOT/NETWORK": host name, the kernel's boot id and the process's network namespace, from `proc`.
// Equal for two processes when they share loopback and processors. A part that cannot be read is empty.
[[nodiscard]] std::string HostIdentity(const std::string& proc = "/proc");

}  // namespace retort::cluster
