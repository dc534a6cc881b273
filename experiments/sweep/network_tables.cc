#include "experiments/sweep/network_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/networks.h"
#include "experiments/sweep/diagnostic_collector.h"
#include "experiments/sweep/sweep_document.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

using Kind = NetworkLayerKind;

constexpr int kMaxDepth = 8;  // of blocks in blocks
constexpr std::int64_t kMaxTimes = kMaxNetworkLayers;
constexpr std::array<std::string_view, 3> kShortcuts = {"identity", "A", "B"};
constexpr std::array<std::string_view, 2> kBlockNorms = {"batch", "group"};

const BlockTraits* FindBlock(std::string_view word) {
  for (const BlockTraits& block : ListLayerBlocks())
    if (block.word == word) return &block;
  return nullptr;
}

std::vector<std::string> AllWords() {
  std::vector<std::string> words;
  for (const LayerKindTraits& kind : ListLayerKinds())
    if (kind.written) words.emplace_back(kind.word);
  for (const BlockTraits& block : ListLayerBlocks()) words.emplace_back(block.word);
  return words;
}

std::vector<std::string> ParameterNames(std::string_view word) {
  std::vector<std::string> names = {"kind"};
  if (const BlockTraits* block = FindBlock(word)) {
    names.emplace_back("name");
    for (const BlockParameter& parameter : block->parameters) names.emplace_back(parameter.name);
  } else if (const LayerKindTraits* kind = FindLayerKind(word)) {
    if (kind->weighted) names.emplace_back("name");
    for (const LayerParameter& parameter : kind->parameters) names.emplace_back(parameter.name);
  }
  return names;
}

// Reads one list of layers; what is wrong goes to the context's diagnostics, after which nothing of it is used.
class LayerReader {
 public:
  LayerReader(NetworkDefinition& network, std::string path, ReadContext& context)
      : network_(network), path_(std::move(path)), diagnostics_(context.diagnostics) {}

  void ReadList(const TomlNode& list) { Read(list, "", 0); }

 private:
  // Where names are told apart, and what a block of layers has done so far.
  struct Scope {
    std::string prefix;
    std::map<std::string, int, std::less<>> counts;  // of names that were made up
    int depth = 0;
  };

  void Refuse(const TomlNode& node, std::string message, std::vector<std::string> choices = {}) {
    diagnostics_.AddError(node.where, path_, std::move(message), std::move(choices));
    network_.valid = false;
  }

  void Read(const TomlNode& list, std::string prefix, int depth) {
    Scope scope{std::move(prefix), {}, depth};
    for (const TomlNode& item : list.items) {
      if (full_) return;
      ReadItem(item, scope);
    }
  }

  void ReadItem(const TomlNode& item, Scope& scope) {
    const TomlEntry* kind = item.kind == TomlKind::table ? item.Find("kind") : nullptr;
    const TomlNode& word = kind != nullptr ? kind->value : item;
    if (word.kind != TomlKind::text)
      return Refuse(word,
                    "a layer is a word, as \"relu\", or a table with a kind, as { kind = \"conv\", out = 16, "
                    "kernel = 3 }; this is " +
                        word.Describe() + (item.kind == TomlKind::table && kind == nullptr ? " without kind" : ""));
    const BlockTraits* block = FindBlock(word.text);
    const LayerKindTraits* layer = FindLayerKind(word.text);
    if (block == nullptr && (layer == nullptr || !layer->written)) {
      diagnostics_.AddUnknown(word.where, path_, "kind of layer", word.text, AllWords(), true);
      network_.valid = false;
      return;
    }
    if (!CheckParameters(item, word.text)) return;
    if (block == nullptr) return ReadLayer(item, *layer, scope);
    if (scope.depth == kMaxDepth)
      return Refuse(item, "blocks stand in blocks " + std::to_string(kMaxDepth) + " deep at most");
    if (word.text == "repeat") return ReadRepeat(item, scope);
    if (word.text == "residual") return ReadResidual(item, scope);
    ReadBasicBlocks(item, scope);
  }

  bool CheckParameters(const TomlNode& item, const std::string& word) {
    bool good = true;
    const std::vector<std::string> names = ParameterNames(word);
    for (const TomlEntry& entry : item.entries) {
      if (std::find(names.begin(), names.end(), entry.key) != names.end()) continue;
      good = network_.valid = false;
      if (entry.key == "name")
        diagnostics_.AddError(entry.where, path_, word + " has no parameters, and so no name: leave it out");
      else
        diagnostics_.AddUnknown(entry.where, path_, "parameter", entry.key, names, true, "of " + word);
    }
    return good;
  }

  // Values

  std::int64_t Count(const TomlNode& item, std::string_view key, std::int64_t absent, std::int64_t least,
                     std::int64_t most) {
    const TomlEntry* entry = item.Find(key);
    if (entry == nullptr) {
      if (absent < least) Refuse(item, Needs(item, key));
      return absent;
    }
    if (entry->value.kind == TomlKind::integer && entry->value.integer >= least && entry->value.integer <= most)
      return entry->value.integer;
    Refuse(entry->value, std::string(key) + " takes an integer " +
                             FormatLimits({static_cast<double>(least), static_cast<double>(most)}) + ", not " +
                             entry->value.Describe());
    return least;
  }

  std::string Word(const TomlNode& item, std::string_view key, std::span<const std::string_view> choices) {
    const TomlEntry* entry = item.Find(key);
    if (entry == nullptr) return std::string(choices.front());
    for (const std::string_view choice : choices)
      if (entry->value.kind == TomlKind::text && entry->value.text == choice) return std::string(choice);
    const std::vector<std::string> words(choices.begin(), choices.end());
    diagnostics_.AddUnknown(entry->value.where, path_, std::string(key),
                            entry->value.kind == TomlKind::text ? entry->value.text : entry->value.Describe(), words,
                            true);
    network_.valid = false;
    return words.front();
  }

  static std::string Needs(const TomlNode& item, std::string_view key) {
    const TomlEntry* kind = item.kind == TomlKind::table ? item.Find("kind") : nullptr;
    const std::string word = kind != nullptr ? kind->value.text : item.text;
    return word + " needs " + std::string(key) + ", as in { kind = \"" + word + "\", " + std::string(key) + " = ... }";
  }

  // The name under which the layer's parameters or a block's names stand, with the scope's prefix.
  std::string Name(const TomlNode& item, std::string_view made_up, std::string_view key, Scope& scope) {
    const TomlEntry* entry = item.Find(key);
    if (entry == nullptr) {
      if (key != "name") return scope.prefix + std::string(made_up);
      const int number = ++scope.counts[std::string(made_up)];
      return scope.prefix + std::string(made_up) + std::to_string(number);
    }
    if (entry->value.kind != TomlKind::text || !IsLayerName(entry->value.text)) {
      Refuse(entry->value, std::string(key) +
                               " takes letters, digits, '_', '-' and '.' between them, as \"layer1.0.conv1\", not " +
                               entry->value.Describe());
      return scope.prefix + std::string(made_up);
    }
    return scope.prefix + entry->value.text;
  }

  // Layers

  void Push(NetworkLayer layer, const TomlNode& item) {
    if (full_) return;
    if (network_.layers.size() == kMaxNetworkLayers) {
      full_ = true;
      return Refuse(item, "with this layer the network has more than " + std::to_string(kMaxNetworkLayers) + " layers");
    }
    network_.layers.push_back(std::move(layer));
    network_.places.push_back(item.where);
  }

  // Of the path that is no shortcut.
  void PushMain(NetworkLayer layer, const TomlNode& item) {
    const bool widens = layer.kind == Kind::conv_transpose || layer.kind == Kind::reshape;
    if (layer.kind == Kind::conv || widens) channels_ = layer.out;
    if (!widens) stride_ *= layer.stride;
    stride_ = std::min<std::int64_t>(stride_, 1 << 20);
    Push(std::move(layer), item);
  }

  [[nodiscard]] std::int32_t last() const { return static_cast<std::int32_t>(network_.layers.size()) - 1; }

  void ReadLayer(const TomlNode& item, const LayerKindTraits& traits, Scope& scope) {
    NetworkLayer layer;
    layer.kind = traits.kind;
    if (traits.weighted) layer.name = Name(item, traits.word, "name", scope);
    for (const LayerParameter& parameter : traits.parameters) ReadParameter(item, parameter, layer);
    const bool pool = layer.kind == Kind::max_pool || layer.kind == Kind::avg_pool;
    if (pool && item.Find("stride") == nullptr) layer.stride = std::max<std::int64_t>(layer.kernel, 1);
    PushMain(std::move(layer), item);
  }

  void ReadParameter(const TomlNode& item, const LayerParameter& parameter, NetworkLayer& layer) {
    const TomlEntry* entry = item.Find(parameter.name);
    if (entry == nullptr) {
      if (parameter.required) Refuse(item, Needs(item, parameter.name));
      return;
    }
    const TomlNode& node = entry->value;
    const Limits limits{parameter.least, parameter.most};
    const bool whole = node.kind == TomlKind::integer, number = whole || node.kind == TomlKind::real;
    const std::string name(parameter.name);
    if (parameter.flag != nullptr) {
      if (node.kind != TomlKind::flag) return Refuse(node, name + " takes true or false, not " + node.Describe());
      layer.*parameter.flag = node.flag;
    } else if (parameter.number != nullptr) {
      if (!number || !IsWithin(limits, node.Number()))
        return Refuse(node, name + " takes a number " + FormatLimits(limits) + ", not " + node.Describe());
      layer.*parameter.number = node.Number();
    } else if (parameter.classes && node.kind == TomlKind::text && node.text == "classes") {
      layer.*parameter.count = kAsManyAsClasses;
    } else {
      if (!whole || !IsWithin(limits, node.Number()))
        return Refuse(node, name + " takes an integer " + FormatLimits(limits) +
                                (parameter.classes ? ", or \"classes\", the number of the data set" : "") + ", not " +
                                node.Describe());
      layer.*parameter.count = node.integer;
    }
  }

  // Blocks

  const TomlNode* LayersIn(const TomlNode& item) {
    const TomlEntry* entry = item.Find("layers");
    if (entry != nullptr && entry->value.kind == TomlKind::array && !entry->value.items.empty()) return &entry->value;
    Refuse(entry == nullptr ? item : entry->value, Needs(item, "layers") + ": an array of layers that is not empty");
    return nullptr;
  }

  void ReadRepeat(const TomlNode& item, Scope& scope) {
    const std::int64_t times = Count(item, "times", 0, 1, kMaxTimes), first = Count(item, "first", 0, 0, kMaxTimes);
    const std::string name = Name(item, "block", "name", scope);
    const TomlNode* layers = LayersIn(item);
    if (layers == nullptr) return;
    const bool before = network_.valid;
    for (std::int64_t i = 0; i < times && !full_; ++i) {
      Read(*layers, name + "." + std::to_string(first + i) + ".", scope.depth + 1);
      if (before && !network_.valid) return;  // reported once
    }
  }

  void ReadResidual(const TomlNode& item, Scope& scope) {
    const std::string shortcut = Word(item, "shortcut", kShortcuts);
    Scope inside{Name(item, "block", "name", scope) + ".", {}, scope.depth + 1};
    const std::string name = Name(item, "shortcut", "shortcut_name", inside);
    const TomlNode* layers = LayersIn(item);
    if (layers == nullptr) return;
    const std::int64_t outer = std::exchange(stride_, 1);
    const std::int32_t start = last();
    Read(*layers, inside.prefix, inside.depth);
    if (shortcut != "identity" && channels_ < 0)
      return Refuse(item, "shortcut = \"" + shortcut +
                              "\" makes as many channels as the last conv of its layers, and there is none: set "
                              "shortcut = \"identity\"");
    NetworkLayer norm;
    for (std::size_t i = static_cast<std::size_t>(start + 1); i < network_.layers.size(); ++i)
      if (network_.layers[i].kind == Kind::batch_norm || network_.layers[i].kind == Kind::group_norm)
        norm = network_.layers[i];
    Join(item, start, shortcut, name, norm);
    stride_ = std::min<std::int64_t>(stride_ * outer, 1 << 20);
  }

  // Adds what `start` gives by the shortcut to what the list ends with; `norm` is like those of the block, or no norm.
  void Join(const TomlNode& item, std::int32_t start, const std::string& shortcut, const std::string& name,
            NetworkLayer norm) {
    const std::int32_t end = last();
    std::int32_t other = start;
    if (shortcut == "A") {
      Push({.kind = Kind::pad_shortcut, .out = channels_, .stride = stride_, .inputs = {start}}, item);
      other = last();
    } else if (shortcut == "B") {
      const bool normed = norm.kind == Kind::batch_norm || norm.kind == Kind::group_norm;
      Push({.kind = Kind::conv,
            .name = name + ".0",
            .out = channels_,
            .kernel = 1,
            .stride = stride_,
            .bias = !normed,
            .inputs = {start}},
           item);
      norm.name = name + ".1";
      norm.inputs.clear();
      if (normed) Push(std::move(norm), item);
      other = last();
    }
    Push({.kind = Kind::add, .inputs = {end, other}}, item);
  }

  void ReadBasicBlocks(const TomlNode& item, Scope& scope) {
    const std::int64_t out = Count(item, "out", 0, 1, 65536), stride = Count(item, "stride", 1, 1, 4096);
    const std::int64_t times = Count(item, "times", 1, 1, kMaxTimes), first = Count(item, "first", 0, 0, kMaxTimes);
    const bool group = Word(item, "norm", kBlockNorms) == "group";
    const std::int64_t groups = Count(item, "groups", std::min<std::int64_t>(out, 32), 1, 65536);
    const std::string shortcut = Word(item, "shortcut", kShortcuts);
    if (!group && item.Find("groups") != nullptr)
      Refuse(item, "groups is of norm = \"group\": set it, or leave groups out");
    const std::string name = Name(item, "block", "name", scope);
    NetworkLayer norm{.kind = group ? Kind::group_norm : Kind::batch_norm, .groups = group ? groups : 1};
    for (std::int64_t i = 0; i < times && !full_; ++i) {
      Scope inside{name + "." + std::to_string(first + i) + ".", {}, scope.depth + 1};
      const std::string other = Name(item, "shortcut", "shortcut_name", inside);
      const std::int64_t step = i == 0 ? stride : 1, outer = std::exchange(stride_, 1);
      const bool plain = step == 1 && channels_ == out;
      const std::int32_t start = last();
      for (const char* which : {"1", "2"}) {
        PushMain({.kind = Kind::conv,
                  .name = inside.prefix + "conv" + which,
                  .out = out,
                  .kernel = 3,
                  .stride = *which == '1' ? step : 1,
                  .padding = 1,
                  .bias = false},
                 item);
        norm.name = inside.prefix + "bn" + which;
        Push(norm, item);
        if (*which == '1') Push({.kind = Kind::relu}, item);
      }
      Join(item, start, plain ? "identity" : shortcut, other, norm);
      Push({.kind = Kind::relu}, item);
      stride_ = std::min<std::int64_t>(stride_ * outer, 1 << 20);
    }
  }

  NetworkDefinition& network_;
  std::string path_;
  DiagnosticCollector& diagnostics_;
  std::int64_t channels_ = -1, stride_ = 1;  // of what the list ends with: channels, -1: those of the image; pixels
  bool full_ = false;
};

bool IsNetworkName(std::string_view name) { return IsLayerName(name) && name.size() <= 64; }

// Says why the network cannot be called so; empty where it can.
std::string RefuseName(const std::string& name) {
  if (FindNetwork(name) != nullptr)
    return "\"" + name + "\" is a network of the zoo, and keeps its name: call this one otherwise, as [network.my-" +
           name + "]";
  if (name == kTorchScript)
    return "\"" + name + "\" is what a teacher's module is called: call this network otherwise, as [network.my-net]";
  if (!IsNetworkName(name))
    return "a network's name has letters, digits, '_', '-' and '.' between them, 64 at most, as [network.my-net]";
  return "";
}

void ReadNetwork(const TomlEntry& entry, ReadContext& context) {
  const std::string path = context.prefix + "network." + entry.key;
  NetworkDefinition network;
  network.name = entry.key;
  network.where = entry.where;
  if (entry.value.kind != TomlKind::table) {
    context.diagnostics.AddError(entry.value.where, path,
                                 path + " takes a table with layers = [...], not " + entry.value.Describe());
    network.valid = false;
  } else if (const std::string why = RefuseName(entry.key); !why.empty()) {
    const bool zoo = FindNetwork(entry.key) != nullptr;
    context.diagnostics.AddError(entry.where, path, why,
                                 zoo ? std::vector<std::string>{"my-" + entry.key} : std::vector<std::string>());
    network.valid = false;
  } else {
    network.valid = CheckSection(entry.value, "network.*", path, context.partial, context.diagnostics);
  }
  const TomlEntry* layers = network.valid ? entry.value.Find("layers") : nullptr;
  if (layers != nullptr) {
    LayerReader(network, path + ".layers", context).ReadList(layers->value);
    if (network.valid) {
      if (const std::optional<LayerMisfit> misfit = FindMisfit(network.layers)) {
        const Position where =
            misfit->place < network.places.size() ? network.places[misfit->place] : layers->value.where;
        context.diagnostics.AddError(where, path + ".layers", misfit->message);
        network.valid = false;
      }
    }
  }
  network.makes_pictures = MakesImages(network.layers);
  if (network.valid && network.makes_pictures && IsNamedGenerator(network.name)) {
    context.diagnostics.AddError(
        entry.where, path,
        "\"" + network.name +
            "\" is a generator of the zoo, and keeps its name: call this one otherwise, as [network.my-" +
            network.name + "]",
        {"my-" + network.name});
    network.valid = false;
  }
  if (network.valid) network.text = std::make_shared<const std::string>(FormatNetworkLayers(network.layers));
  context.document.networks.push_back(std::move(network));
}

}  // namespace

const std::vector<BlockTraits>& ListLayerBlocks() {
  static const BlockParameter kShortcut{"shortcut", "`\"identity\"`, `\"A\"`, `\"B\"`",
                                        "identity; A: every stride-th pixel and channels of zeros; B: a convolution of "
                                        "one pixel, and a norm as the block "
                                        "has"};
  static const BlockParameter kShortcutName{"shortcut_name", "name",
                                            "of B's layers, NAME.0 and NAME.1; `\"shortcut\"`"};
  static const BlockParameter kFirst{"first", "integer [0, 2000]", "number of the first in the names; 0"};
  static const std::vector<BlockTraits> kBlocks = {
      {"residual",
       {{"layers", "array of layers", "required"}, kShortcut, kShortcutName},
       "its layers, and the shortcut added to what they give; names: NAME.…"},
      {"repeat",
       {{"layers", "array of layers", "required"}, {"times", "integer [1, 2000]", "required"}, kFirst},
       "its layers as often; names: NAME.0.…, NAME.1.…"},
      {"basic_block",
       {{"out", "integer [1, 65536]", "channels; required"},
        {"stride", "integer [1, 4096]", "of the first; 1"},
        {"times", "integer [1, 2000]", "blocks, one after the other; 1"},
        kFirst,
        kShortcut,
        kShortcutName,
        {"norm", "`\"batch\"`, `\"group\"`", "batch"},
        {"groups", "integer [1, 65536]", "of group norms; 32, or as many as channels where these are fewer"}},
       "He et al.'s: conv 3 x 3, norm, relu, conv 3 x 3, norm, the shortcut added, relu; names: NAME.0.conv1, .bn1, "
       ".conv2, .bn2"},
  };
  return kBlocks;
}

void ReadNetworks(const TomlNode& networks, ReadContext& context) {
  for (const TomlEntry& entry : networks.entries) ReadNetwork(entry, context);
}

namespace {

// Reports a network of the other use than the key's; `generator`: the key's.
void RefuseUse(const TomlNode& node, bool generator, const std::string& path, std::vector<std::string> names,
               ReadContext& context) {
  const std::string network = "[network." + node.text + "]";
  context.diagnostics.AddError(
      node.where, path,
      generator ? path + " makes pictures from latents, and " + network +
                      " classifies pictures: name a network with a reshape, or one of the zoo's generators"
                : path + " classifies pictures, and " + network +
                      " makes them from latents: it can be a generator, and no student or teacher",
      std::move(names));
}

}  // namespace

std::optional<KeyValue> ReadNetworkName(const TomlNode& node, const SpecKey& key, const std::string& path,
                                        ReadContext& context) {
  const SweepDocument& document = context.document;
  const bool generator = key.name == "generator";
  const std::vector<std::string>& elsewhere = document.other_networks;
  std::vector<std::string> names = elsewhere;
  for (const NetworkDefinition& network : document.networks)
    if (network.makes_pictures == generator) names.push_back(network.name);
  if (const NetworkDefinition* described = document.FindNetwork(node.text)) {
    if (!described->valid) return std::nullopt;
    if (described->makes_pictures == generator) return node.text;
    for (const std::string_view choice : key.choices) names.emplace_back(choice);
    RefuseUse(node, generator, path, std::move(names), context);
    return std::nullopt;
  }
  if (std::find(elsewhere.begin(), elsewhere.end(), node.text) != elsewhere.end()) return node.text;
  if (std::find(key.choices.begin(), key.choices.end(), node.text) != key.choices.end()) return node.text;
  for (const std::string_view choice : key.choices) names.emplace_back(choice);
  context.diagnostics.AddUnknown(node.where, path, std::string(key.TrialName()), node.text, names, true);
  return std::nullopt;
}

LatentShape FindLatentShape(const TrialSpec& spec) {
  const bool of_class = ReleasesEmbedding(FindKind(spec));
  return {spec.generator.latent, of_class && spec.data ? spec.data->classes : 0};
}

bool CheckDescribedGenerator(const TrialSpec& spec, const SweepDocument& document, DiagnosticCollector& diagnostics) {
  const NetworkDefinition* network = spec.generator.layers ? document.FindNetwork(spec.generator.network) : nullptr;
  if (network == nullptr || !network->valid || !spec.data || spec.data->examples == 0 || spec.data->height == 0)
    return true;
  const DataSpec& data = *spec.data;
  const LatentShape latents = FindLatentShape(spec);
  const PlannedShapes planned = PlanGeneratorShapes(network->layers, latents, {data.channels, data.height, data.width});
  if (!planned.misfit) return true;
  const std::string classes =
      latents.classes == 0 ? "" : ", and the " + std::to_string(latents.classes) + " classes of data." + data.name;
  diagnostics.AddError(network->places[planned.misfit->place], "network." + network->name + ".layers",
                       planned.misfit->message + " (latent = " + std::to_string(latents.latent) + classes +
                           "; the pictures of data." + data.name + " are " +
                           FormatShape({data.channels, data.height, data.width}) + ")");
  return false;
}

bool CheckDescribedNetwork(const TrialSpec& spec, const SweepDocument& document, DiagnosticCollector& diagnostics) {
  const NetworkDefinition* network = spec.layers ? document.FindNetwork(spec.network) : nullptr;
  if (network == nullptr || !network->valid || !spec.data || spec.data->examples == 0 || spec.data->height == 0)
    return true;
  const DataSpec& data = *spec.data;
  const PlannedShapes planned = PlanShapes(network->layers, {data.channels, data.height, data.width}, data.classes);
  if (!planned.misfit) return true;
  diagnostics.AddError(network->places[planned.misfit->place], "network." + network->name + ".layers",
                       planned.misfit->message + " (the pictures of data." + data.name + " are " +
                           FormatShape({data.channels, data.height, data.width}) + ")");
  return false;
}

}  // namespace retort
