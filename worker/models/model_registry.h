// Network names of the sweep file -> networks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/models/network.h"

namespace retort::worker {

// Which network: one of the zoo by its name, or one that a sweep file describes.
struct NetworkChoice {
  // NOLINTBEGIN(google-explicit-constructor): a name says all of a network of the zoo
  NetworkChoice(std::string of_zoo) : name(std::move(of_zoo)) {}
  NetworkChoice(const char* of_zoo) : name(of_zoo) {}
  // NOLINTEND(google-explicit-constructor)
  NetworkChoice(std::string described, std::shared_ptr<const std::string> text)
      : name(std::move(described)), layers(std::move(text)) {}

  std::string name;
  std::shared_ptr<const std::string> layers;  // TrialSpec::layers; null: of the zoo
};
[[nodiscard]] inline NetworkChoice ChooseNetwork(const TrialSpec& spec) { return {spec.network, spec.layers}; }

// Of the zoo.
[[nodiscard]] const std::vector<std::string>& ListNetworkNames();
// Returns what a network of the zoo is made of. Error: usage for an unknown name (lists the names).
[[nodiscard]] Result<std::vector<Layer>> MakeLayers(const std::string& name, std::int64_t classes);
// Returns the layers of the network that a trial trains: spec.network, or spec.layers, with spec.activation. Error:
// usage for an unknown name (lists the names) and for images that the network cannot take.
[[nodiscard]] Result<std::vector<Layer>> MakeLayers(const TrialSpec& spec, ImageShape input, std::int64_t classes);
// `stream`: as Network's; with one, layers that are frozen are fitted to public images (fit_features.h), which takes
// seconds. Error: usage for an unknown name (lists the names) and for images that the network cannot take.
[[nodiscard]] Result<std::unique_ptr<Network>> MakeNetwork(const NetworkChoice& choice, ImageShape input,
                                                           std::int64_t classes, const std::optional<RngStream>& stream,
                                                           at::Device device = at::kCPU);
// Returns the network that a trial trains: spec.network with spec.activation. Errors: as above.
[[nodiscard]] Result<std::unique_ptr<Network>> MakeNetwork(const TrialSpec& spec, ImageShape input,
                                                           std::int64_t classes, const std::optional<RngStream>& stream,
                                                           at::Device device = at::kCPU);
// Returns the tensors of a network's state, none of which is made. Errors: as above.
[[nodiscard]] Result<std::vector<StateEntry>> PlanState(const NetworkChoice& choice, ImageShape input,
                                                        std::int64_t classes);
// Trainable values of that network, those of layers that never run included. Errors: as above.
[[nodiscard]] Result<std::int64_t> CountParameters(const TrialSpec& spec, ImageShape input, std::int64_t classes);

}  // namespace retort::worker
