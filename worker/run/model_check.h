// `retort model check`: a network, saved weights loaded into it, and its logits for given images.
#pragma once

#include <string>

#include "cluster/socket_link.h"
#include "cluster/worker_questions.h"
#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::worker {

// The report, one JSON object (orchestrator/cli/JSON.md, `model check`, without schema_version). Weights that
// do not fit are reported, and no logits are computed then. Errors: usage, for an unknown network, images
// that it cannot take, or an input of another shape; those of ReadWeights and of writing the logits.
[[nodiscard]] Result<std::string> CheckModel(const cluster::ModelOrder& order, storage::Env& env);

// The order as text, the answer over the socket (cluster/worker_questions.h). Error: that of the link.
[[nodiscard]] Status ServeModelCheck(cluster::SocketLink& link, const std::string& order, storage::Env& env);

// The layers of the network that a trial trains, its spec as text; the answer over the socket. Error: that of the link.
[[nodiscard]] Status ServeLayers(cluster::SocketLink& link, const std::string& spec);

}  // namespace retort::worker
