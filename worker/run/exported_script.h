// `retort export --format torchscript`: a trial's network or generator as an archive of TorchScript.
#pragma once

#include <string>

#include "cluster/socket_link.h"
#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::worker {

// The order as text (cluster::ScriptOrder); writes the archive and answers with nothing. Error: that of the link.
[[nodiscard]] Status ServeScript(cluster::SocketLink& link, const std::string& order, storage::Env& env);

}  // namespace retort::worker
