// Serves an agent as worker_service.h does, until an attempt comes that retort-sleeper cannot run. Then retort-worker
// takes the process over.
#pragma once

#include <optional>
#include <string>

#include "cluster/messages.h"
#include "cluster/socket_link.h"
#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::worker {

// The argument that makes a process read what HandOverProcess left for it.
inline constexpr const char* kHandOverFlag = "--taken-over";

// Returns nothing when the agent closed the link, and the Start that is not for a sleeping trial when one
// came. Error: the agent cannot be spoken to.
[[nodiscard]] Result<std::optional<cluster::Envelope>> ServeSleep(cluster::SocketLink& link, storage::Env& env,
                                                                  const std::string& build);

// Replaces this process by `program`, which finds its agent on the same descriptor and `start` on
// a descriptor that ReadHandedOverStart knows; `arguments` as of main. Returns only with an error: environment.
[[nodiscard]] Status HandOverProcess(const std::string& program, char** arguments, const cluster::Envelope& start);

// What HandOverProcess left for this process, or nothing. Error: environment or refused, when it cannot be read.
[[nodiscard]] Result<std::optional<cluster::Envelope>> ReadHandedOverStart(int argument_count, char** arguments);

}  // namespace retort::worker
