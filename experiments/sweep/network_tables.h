// The [network.NAME] tables of a sweep file: networks as lists of layers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/methods/network_layers.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/sweep/toml_tree.h"

namespace retort {

class DiagnosticCollector;
struct ReadContext;
struct SweepDocument;

struct NetworkDefinition {
  std::string name;
  Position where;
  std::vector<NetworkLayer> layers;         // blocks and repetitions written out
  std::vector<Position> places;             // of each of them in the file
  std::shared_ptr<const std::string> text;  // FormatNetworkLayers(layers)
  bool makes_pictures = false;              // a generator; false: it classifies images
  bool valid = true;                        // false: already reported
};

// Reads [network.NAME] into the document of `context`.
void ReadNetworks(const TomlNode& networks, ReadContext& context);

// Reads the value of a key that names a network of the trial: `generator`, or one that classifies images. Nothing,
// after an error with the nearest of all names, for one that neither the zoo nor the file has, for one of the other
// use, and for one whose description was reported.
[[nodiscard]] std::optional<KeyValue> ReadNetworkName(const TomlNode& node, const SpecKey& key, const std::string& path,
                                                      ReadContext& context);

// Reports, at the layer, where the network that the trial names does not fit the images and classes of its data.
// Returns whether it fits, or nothing is known of them.
[[nodiscard]] bool CheckDescribedNetwork(const TrialSpec& spec, const SweepDocument& document,
                                         DiagnosticCollector& diagnostics);
// The same of the trial's generator, its latents and the images that it makes.
[[nodiscard]] bool CheckDescribedGenerator(const TrialSpec& spec, const SweepDocument& document,
                                           DiagnosticCollector& diagnostics);

// The values that the trial's generator begins with.
[[nodiscard]] LatentShape FindLatentShape(const TrialSpec& spec);

// A layer that is written as several: its word, and what it takes besides `name`.
struct BlockParameter {
  std::string_view name, value, doc;
};
struct BlockTraits {
  std::string_view word;
  std::vector<BlockParameter> parameters;
  std::string_view doc;
};
[[nodiscard]] const std::vector<BlockTraits>& ListLayerBlocks();

}  // namespace retort
