// The life of retort-sleeper: as that of a worker (worker_service.h) until an attempt comes that it cannot
// run. Then retort-worker takes the process over.
#pragma once

#include <optional>
#include <string>

#include "cluster/envelope.h"
#include "cluster/socket_link.h"
#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::worker {

// The argument with which a process finds what TakeOver left for it.
inline constexpr const char* kTakenOverFlag = "--taken-over";

// Returns nothing when the agent closed the link, and the Start that is not for a sleeping trial when one
// came. Error: the agent cannot be spoken to.
[[nodiscard]] Result<std::optional<cluster::Envelope>> ServeSleep(cluster::SocketLink& link,
                                                                  storage::Env& env,
                                                                  const std::string& build);

// Replaces this process by `program`, which finds its agent on the same descriptor and `start` on
// a descriptor that TakenOver knows; `arguments` as of main. Returns only with an error: environment.
[[nodiscard]] Status TakeOver(const std::string& program, char** arguments, const cluster::Envelope& start);

// What TakeOver left for this process, or nothing. Error: environment or refused, when it cannot be read.
[[nodiscard]] Result<std::optional<cluster::Envelope>> TakenOver(int argument_count, char** arguments);

}  // namespace retort::worker
