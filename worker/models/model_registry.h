// Network names of the sweep file -> networks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/models/network.h"

namespace retort::worker {

[[nodiscard]] const std::vector<std::string>& ListNetworkNames();
// Returns what a network of that name is made of. Error: usage for an unknown name (lists the names).
[[nodiscard]] Result<std::vector<Layer>> MakeLayers(const std::string& name, std::int64_t classes);
// Returns the layers of the network that a trial trains: spec.network with spec.activation. Error: usage for an unknown
// name (lists the names) and for images that the network cannot take.
[[nodiscard]] Result<std::vector<Layer>> MakeLayers(const TrialSpec& spec, ImageShape input, std::int64_t classes);
// `stream`: as Network's; with one, layers that are frozen are fitted to public pictures (fit_features.h), which takes
// seconds. Error: usage for an unknown name (lists the names) and for images that the network cannot take.
[[nodiscard]] Result<std::unique_ptr<Network>> MakeNetwork(const std::string& name, ImageShape input,
                                                           std::int64_t classes, const std::optional<RngStream>& stream,
                                                           at::Device device = at::kCPU);
// Returns the network that a trial trains: spec.network with spec.activation. Errors: as above.
[[nodiscard]] Result<std::unique_ptr<Network>> MakeNetwork(const TrialSpec& spec, ImageShape input,
                                                           std::int64_t classes, const std::optional<RngStream>& stream,
                                                           at::Device device = at::kCPU);
// Returns the tensors of a network's state, none of which is made. Errors: as above.
[[nodiscard]] Result<std::vector<StateEntry>> PlanState(const std::string& name, ImageShape input,
                                                        std::int64_t classes);
// Trainable values of that network, those of layers that never run included. Errors: as above.
[[nodiscard]] Result<std::int64_t> CountParameters(const TrialSpec& spec, ImageShape input, std::int64_t classes);

}  // namespace retort::worker
