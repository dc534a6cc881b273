// By which address other hosts reach this one.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::cluster {

// The numeric address of the network interface that RETORT_GANG_INTERFACE in `environment` ("NAME=value"
// entries) names; without it of the one with the default route, else of the first that is up and not
// loopback (IPv4 before IPv6), else "127.0.0.1". Error: usage, when the named interface has no address,
// listing those that have.
[[nodiscard]] Result<std::string> HostAddress(const std::vector<std::string>& environment);

}  // namespace retort::cluster
