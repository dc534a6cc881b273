// `retort export --format onnx`: what a trial's network or generator computes, as a graph of ONNX without its state.
#pragma once

#include <string>

#include "cluster/socket_link.h"
#include "experiments/base/status.h"

namespace retort::worker {

// Answers with the network that a trial trains; `spec`: EncodeTrialSpec's text. Error: that of the link.
[[nodiscard]] Status ServeNetworkGraph(cluster::SocketLink& link, const std::string& spec);
// Answers with the generator that it trains beside the network. Error: that of the link.
[[nodiscard]] Status ServeGeneratorGraph(cluster::SocketLink& link, const std::string& spec);

}  // namespace retort::worker
