// The worker's side of "no worker outlives its agent".
#pragma once

#include "experiments/spec/status.h"

namespace retort::cluster {

// Asks the kernel to SIGKILL this process when the thread that spawned it ends, and checks that the
// agent (who made the socketpair of `socket_fd`) is still the parent. Call first thing in main.
// Error: cancelled when the agent is already gone; environment when this is no socket of an agent.
[[nodiscard]] Status DieWithParent(int socket_fd);

}  // namespace retort::cluster
