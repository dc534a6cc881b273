// What tells hosts apart. Their names are for people.
#pragma once

#include <string>

#include "cluster/messages.h"

namespace retort::orchestrator {

[[nodiscard]] inline const std::string& HostKey(const cluster::Register& registration) {
  return registration.identity.empty() ? registration.host : registration.identity;
}

}  // namespace retort::orchestrator
