// What a worker says that was started for one question, as an audit.
#pragma once

#include <string>

#include "cluster/socket_link.h"
#include "experiments/spec/status.h"

namespace retort::cluster {

// Sends the whole answer (an envelope holds 4 MiB), then Ended; or Ended alone, with the error's text: its
// failure is `configuration` for usage and refused, `disk` for damage, else `internal`. Error: that of the
// link.
[[nodiscard]] Status SendAnswer(SocketLink& link, const Result<std::string>& answer);

}  // namespace retort::cluster
