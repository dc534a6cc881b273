// The worker's life: greet the agent, run what it asks for, one attempt at a time, until it hangs up.
#pragma once

#include <optional>
#include <string>

#include "cluster/envelope.h"
#include "cluster/socket_link.h"
#include "experiments/spec/status.h"
#include "storage/env.h"
#include "worker/devices.h"

namespace retort::worker {

// Returns when the agent closed the link (ok) or cannot be spoken to (its error). `build` identifies this
// program in Hello and in provenance. Trials run on the devices of `devices`. `first` is a Start that the agent sent before this program took the
// process over (sleep_service.h); it is run first.
[[nodiscard]] Status ServeAgent(cluster::SocketLink& link, storage::Env& env, const std::string& build,
                                Devices& devices,
                                const std::optional<cluster::Envelope>& first = std::nullopt);

// Process-wide settings of LibTorch; once, before the first tensor.
void PrepareTorch();

}  // namespace retort::worker
