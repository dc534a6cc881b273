// `retort model check`: a network, saved weights in it, and what it says of given images.
#pragma once

#include <string>

#include "cluster/model_order.h"
#include "cluster/socket_link.h"
#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::worker {

// The report, one JSON object (orchestrator/cli/JSON.md, `model check`, without schema_version). Weights that
// do not fit are reported, and no logits are computed then. Errors: usage, for an unknown network, images
// that it cannot take, or an input of another shape; those of ReadWeights and of writing the logits.
[[nodiscard]] Result<std::string> CheckModel(const cluster::ModelOrder& order, storage::Env& env);

// The order as text, the answer over the socket (cluster/answer.h). Error: that of the link.
[[nodiscard]] Status ServeModelCheck(cluster::SocketLink& link, const std::string& order, storage::Env& env);

}  // namespace retort::worker
