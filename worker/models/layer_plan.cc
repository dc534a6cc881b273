#include "worker/models/layer_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "experiments/methods/network_layers.h"
#include "worker/models/features/scattering.h"

namespace retort::worker {
namespace {

using Shape = std::vector<std::int64_t>;
using Kind = LayerKind;

std::int64_t Numel(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

ParameterShape Initial(std::string name, Shape shape, Init init, double spread, std::int64_t fan_in,
                       std::int64_t fan_out) {
  ParameterShape p{.name = std::move(name), .shape = std::move(shape)};
  const auto in = static_cast<double>(fan_in), out = static_cast<double>(fan_out);
  switch (init) {
    case Init::usual:
      p.bound = ComputeFanInBound(fan_in);
      break;
    case Init::xavier:
      p.bound = std::sqrt(6.0 / (in + out));
      break;
    case Init::kaiming_in:
      p.draw = Draw::normal, p.bound = std::sqrt(2.0 / in);
      break;
    case Init::kaiming_out:
      p.draw = Draw::normal, p.bound = std::sqrt(2.0 / out);
      break;
    case Init::normal:
      p.draw = Draw::normal, p.bound = spread;
      break;
    case Init::truncated:
      p.draw = Draw::truncated, p.bound = spread;
      break;
    case Init::zero:
      break;
  }
  return p;
}

class Planner {
 public:
  Planner(const std::vector<Layer>& layers, Shape input) : layers_(layers), images_(std::move(input)) {}

  Result<LayerPlan> Plan() && {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      Place(i);
      const Shape& shape = plan_.nodes[i].shape;
      if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 1; }))
        return UsageError("Images of " + std::to_string(images_.at(1)) + " x " + std::to_string(images_.at(2)) +
                          " pixels leave layer " + std::to_string(i) + " ('" + layers_[i].name + "') none.");
    }
    MarkNeeded();
    MarkInPlace();
    ListDone();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Shape& FindShape(std::int32_t at) const {
    return at == kImages ? images_ : plan_.nodes[static_cast<std::size_t>(at)].shape;
  }

  void Place(std::size_t i) {
    const Layer& layer = layers_[i];
    LayerNode node;
    node.inputs = layer.inputs;
    if (node.inputs.empty() && layer.kind != Kind::class_token) node.inputs = {static_cast<std::int32_t>(i) - 1};
    for (const std::int32_t at : node.inputs) RETORT_CHECK(at >= kImages && at < static_cast<std::int32_t>(i));
    if (layer.kind == Kind::dropout) node.dropout = dropouts_++;
    const Shape in = node.inputs.empty() ? Shape{} : FindShape(node.inputs.front());
    node.shape = in;
    Resolve(layer, in, node);
    plan_.nodes.push_back(std::move(node));
  }

  void Resolve(const Layer& layer, const Shape& in, LayerNode& node) {
    switch (layer.kind) {
      case Kind::conv:
        PlaceConv(layer, in, node);
        break;
      case Kind::linear:
        PlaceLinear(layer, in, node);
        break;
      case Kind::max_pool:
      case Kind::avg_pool:
        node.shape = {in.at(0), Pooled(in.at(1), layer), Pooled(in.at(2), layer)};
        break;
      case Kind::adaptive_avg_pool:
        node.shape = {in.at(0), layer.out, layer.out};
        break;
      case Kind::flatten:
        node.shape = {Numel(in)};
        break;
      case Kind::spatial_mean:
        node.shape = {in.at(0)};
        break;
      case Kind::batch_norm:
        PlaceBatchNorm(layer, in, node);
        break;
      case Kind::group_norm:
        PlaceNorm(layer, in.at(0), node);
        plan_.channels_last = false;  // its kernels take half the time with the channels first
        break;
      case Kind::layer_norm:
        PlaceNorm(layer, in.back(), node);
        break;
      case Kind::class_token:
        PlaceClassToken(layer, node);
        break;
      case Kind::tokens:
        PlaceTokens(layer, in, node);
        break;
      case Kind::first_token:
        node.shape = {in.at(1)};
        break;
      case Kind::attention:
        RETORT_CHECK(in.size() == 2 && in[1] % (3 * layer.groups) == 0);
        node.shape = {in[0], in[1] / 3};
        break;
      case Kind::hog:
        node.shape = {in.at(0) * layer.out * Pooled(in.at(1), layer) * Pooled(in.at(2), layer)};
        break;
      case Kind::patches:
        PlacePatches(layer, in, node);
        break;
      case Kind::scattering:
        node.shape = {in.at(0) * CountScatteringPaths(layer.out) *
                      ((in.at(1) + kScatteringStride - 1) / kScatteringStride) *
                      ((in.at(2) + kScatteringStride - 1) / kScatteringStride)};
        break;
      case Kind::whiten:
        PlaceWhiten(layer, in.at(0), node);
        break;
      case Kind::pad_shortcut:
        RETORT_CHECK(layer.out >= in.at(0) && (layer.out - in[0]) % 2 == 0);
        node.shape = {layer.out, (in.at(1) + layer.stride - 1) / layer.stride,
                      (in.at(2) + layer.stride - 1) / layer.stride};
        break;
      case Kind::concat:
        for (std::size_t k = 1; k < node.inputs.size(); ++k) node.shape[0] += FindShape(node.inputs[k]).at(0);
        break;
      case Kind::channel_slice:
        RETORT_CHECK(layer.first + layer.out <= in.at(0));
        node.shape[0] = layer.out;
        break;
      case Kind::add:
        RETORT_CHECK(node.inputs.size() == 2 && FindShape(node.inputs[1]) == in);
        break;
      case Kind::channel_shuffle:
        RETORT_CHECK(in.at(0) % layer.groups == 0);
        break;
      case Kind::affine:
        RETORT_CHECK(static_cast<std::int64_t>(layer.scale.size()) == in.at(0) &&
                     layer.shift.size() == layer.scale.size());
        break;
      case Kind::reshape:
        RETORT_CHECK(Numel(in) == layer.out * layer.height * layer.width);
        node.shape = {layer.out, layer.height, layer.width};
        break;
      case Kind::upsample:
        RETORT_CHECK(in.size() == 3 && (!layer.bilinear || layer.factor == 2));
        node.shape = {in[0], layer.factor * in[1], layer.factor * in[2]};
        break;
      case Kind::conv_transpose:
        PlaceTransposed(layer, in, node);
        break;
      case Kind::relu:
      case Kind::tanh:
      case Kind::sigmoid:
      case Kind::dropout:
      case Kind::relu6:
      case Kind::gelu:
      case Kind::leaky:
        break;
    }
  }

  static std::int64_t Pooled(std::int64_t extent, const Layer& layer) {
    return CountWindows(extent, {layer.kernel, layer.stride, layer.padding, layer.dilation, layer.ceil});
  }

  void PlaceConv(const Layer& layer, const Shape& in, LayerNode& node) {
    RETORT_CHECK(in.size() == 3 && in[0] % layer.groups == 0 && layer.out % layer.groups == 0);
    const std::int64_t window = layer.kernel * layer.kernel, fan_in = in[0] / layer.groups * window;
    AddWeight(layer, {layer.out, in[0] / layer.groups, layer.kernel, layer.kernel}, fan_in, layer.out * window, node);
    if (layer.bias) AddBias(layer, layer.out, fan_in, node);
    node.shape = {layer.out, Pooled(in[1], layer), Pooled(in[2], layer)};
  }

  // As PyTorch begins them, the bound is that of a window of the result.
  void PlaceTransposed(const Layer& layer, const Shape& in, LayerNode& node) {
    RETORT_CHECK(in.size() == 3 && in[0] % layer.groups == 0 && layer.out % layer.groups == 0);
    const std::int64_t window = layer.kernel * layer.kernel, fan_in = layer.out / layer.groups * window;
    AddWeight(layer, {in[0], layer.out / layer.groups, layer.kernel, layer.kernel}, fan_in, in[0] * window, node);
    if (layer.bias) AddBias(layer, layer.out, fan_in, node);
    const auto grown = [&layer](std::int64_t extent) {
      return (extent - 1) * layer.stride - 2 * layer.padding + layer.kernel + layer.output_padding;
    };
    node.shape = {layer.out, grown(in[1]), grown(in[2])};
  }

  void PlaceLinear(const Layer& layer, const Shape& in, LayerNode& node) {
    AddWeight(layer, {layer.out, in.back()}, in.back(), layer.out, node);
    if (layer.bias) AddBias(layer, layer.out, in.back(), node);
    node.shape.back() = layer.out;
  }

  void AddWeight(const Layer& layer, Shape shape, std::int64_t fan_in, std::int64_t fan_out, LayerNode& node) {
    node.weight =
        Add(Initial(layer.name + layer.joint + "weight", std::move(shape), layer.init, layer.spread, fan_in, fan_out));
    node.traced = static_cast<std::int32_t>(plan_.traced++);
  }

  void AddBias(const Layer& layer, std::int64_t out, std::int64_t fan_in, LayerNode& node) {
    node.bias = Add(Initial(layer.name + layer.joint + "bias", {out}, layer.bias_init, layer.bias_spread, fan_in, out));
  }

  void PlaceNorm(const Layer& layer, std::int64_t channels, LayerNode& node) {
    RETORT_CHECK(channels % layer.groups == 0);
    node.weight = Add({.name = layer.name + ".weight", .shape = {channels}, .offset = 1});
    node.bias = Add({.name = layer.name + ".bias", .shape = {channels}});
    node.traced = static_cast<std::int32_t>(plan_.traced++);
  }

  void PlaceBatchNorm(const Layer& layer, const Shape& in, LayerNode& node) {
    if (layer.affine) PlaceNorm(layer, in.at(0), node);
    if (!layer.tracked) return;
    const std::size_t index = plan_.norm_channels.size();
    node.norm = static_cast<std::int32_t>(index);
    plan_.norm_channels.push_back(in[0]);
    for (const char* name : {".running_mean", ".running_var"})
      AddState({.name = layer.name + name, .shape = {in[0]}, .buffer = true, .index = index});
    AddState(
        {.name = layer.name + ".num_batches_tracked", .buffer = true, .dtype = storage::DType::i64, .index = index});
  }

  void PlaceWhiten(const Layer& layer, std::int64_t values, LayerNode& node) {
    constexpr std::int64_t kMaxDirections = 3072;  // directions that the fitting images tell apart
    const std::int64_t kept = layer.out == 0 ? std::min((values + 1) / 2, kMaxDirections) : std::min(layer.out, values);
    AddConstant(layer.name + ".mean", {values}, node);
    AddConstant(layer.name + ".components", {kept, values}, node);
    node.shape = {kept + 1};
  }

  void PlacePatches(const Layer& layer, const Shape& in, LayerNode& node) {
    AddConstant(layer.name + ".filters", {layer.out, in.at(0), layer.kernel, layer.kernel}, node);
    AddConstant(layer.name + ".offset", {layer.out}, node);
    const bool fits = in.at(1) >= layer.kernel && in.at(2) >= layer.kernel;
    node.shape = {fits ? 2 * layer.out * 4 : 0};
  }

  void AddConstant(std::string name, Shape shape, LayerNode& node) {
    const std::size_t index = plan_.constants.size();
    if (node.constant < 0) node.constant = static_cast<std::int32_t>(index);
    AddState({.name = std::move(name), .shape = shape, .buffer = true, .constant = true, .index = index});
    plan_.constants.push_back(std::move(shape));
  }

  void PlaceClassToken(const Layer& layer, LayerNode& node) {
    node.weight = Add(Initial(layer.name, {1, 1, layer.out}, layer.init, layer.spread, layer.out, layer.out));
    node.traced = static_cast<std::int32_t>(plan_.traced++);
    node.shape = {layer.out};
  }

  void PlaceTokens(const Layer& layer, const Shape& in, LayerNode& node) {
    RETORT_CHECK(in.size() == 3 && node.inputs.size() == 2);
    node.shape = {1 + in[1] * in[2], in[0]};
    node.weight = Add(Initial(layer.name, {1, node.shape[0], in[0]}, layer.init, layer.spread, in[0], in[0]));
    node.traced = static_cast<std::int32_t>(plan_.traced++);
  }

  std::int32_t Add(ParameterShape shape) {
    const std::size_t index = plan_.parameters.size();
    AddState({.name = shape.name, .shape = shape.shape, .index = index});
    plan_.parameters.push_back(std::move(shape));
    return static_cast<std::int32_t>(index);
  }

  void AddState(StateEntry entry) {
    plan_.state.push_back(std::move(entry));
    owners_.push_back(plan_.nodes.size());
  }

  void MarkNeeded() {
    for (LayerNode& node : plan_.nodes) node.runs = false;
    plan_.nodes.back().runs = true;
    for (std::size_t i = plan_.nodes.size(); i-- > 0;) {
      if (!plan_.nodes[i].runs) continue;
      for (const std::int32_t at : plan_.nodes[i].inputs)
        if (at != kImages) plan_.nodes[static_cast<std::size_t>(at)].runs = true;
    }
    for (std::size_t k = 0; k < plan_.state.size(); ++k) plan_.state[k].used = plan_.nodes[owners_[k]].runs;
  }

  // Of a result that has one reader, and that no backward pass looks at.
  static bool MakesDisposable(const Layer& layer) {
    switch (layer.kind) {
      case Kind::conv:
      case Kind::conv_transpose:
      case Kind::upsample:
      case Kind::linear:
      case Kind::max_pool:
      case Kind::avg_pool:
      case Kind::group_norm:
      case Kind::add:
      case Kind::concat:
        return true;
      case Kind::batch_norm:
        return layer.affine;  // a gang's normalised rows are looked at, unless a weight follows
      default:
        return false;
    }
  }

  static bool MayOverwrite(Kind kind) {
    return kind == Kind::relu || kind == Kind::tanh || kind == Kind::sigmoid || kind == Kind::relu6 ||
           kind == Kind::leaky || kind == Kind::dropout || kind == Kind::add;
  }

  void MarkInPlace() {
    std::vector<int> readers(plan_.nodes.size(), 0);
    for (const LayerNode& node : plan_.nodes) {
      if (!node.runs) continue;
      for (const std::int32_t at : node.inputs)
        if (at != kImages) ++readers[static_cast<std::size_t>(at)];
    }
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      if (!plan_.nodes[i].runs || !MayOverwrite(layers_[i].kind)) continue;
      std::int32_t at = plan_.nodes[i].inputs.front();
      while (at != kImages && readers[static_cast<std::size_t>(at)] == 1 &&
             layers_[static_cast<std::size_t>(at)].kind == Kind::dropout)
        at = plan_.nodes[static_cast<std::size_t>(at)].inputs.front();
      plan_.nodes[i].in_place = at != kImages && readers[static_cast<std::size_t>(at)] == 1 &&
                                MakesDisposable(layers_[static_cast<std::size_t>(at)]);
    }
  }

  void ListDone() {
    std::vector<std::int32_t> last(plan_.nodes.size(), -1);
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      if (!plan_.nodes[i].runs) continue;
      for (const std::int32_t at : plan_.nodes[i].inputs)
        if (at != kImages) last[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(i);
    }
    for (std::size_t k = 0; k < last.size(); ++k)
      if (last[k] >= 0) plan_.nodes[static_cast<std::size_t>(last[k])].done.push_back(static_cast<std::int32_t>(k));
  }

  const std::vector<Layer>& layers_;
  Shape images_;
  LayerPlan plan_;
  std::vector<std::size_t> owners_;  // node of each state entry
  std::uint64_t dropouts_ = 0;
};

// Layers, in order, whose result is an image and the only thing that the layers behind them read.
std::vector<MiddleLayer> MiddleLayers(const LayerPlan& plan) {
  std::vector<MiddleLayer> found;
  std::int32_t earliest = static_cast<std::int32_t>(plan.nodes.size());  // input of any layer behind
  for (std::size_t i = plan.nodes.size(); i-- > 0;) {
    const LayerNode& node = plan.nodes[i];
    if (!node.runs) continue;
    const bool behind = i + 1 < plan.nodes.size();
    if (behind && earliest >= static_cast<std::int32_t>(i) && node.shape.size() == 3)
      found.push_back({i, node.shape[0], node.shape[1], node.shape[2]});
    for (const std::int32_t at : node.inputs) earliest = std::min(earliest, at);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::string ExtentText(std::int64_t height, std::int64_t width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

}  // namespace

Result<LayerPlan> PlanLayers(const std::vector<Layer>& layers, ImageShape input) {
  RETORT_CHECK(!layers.empty());
  return Planner(layers, {input.channels, input.height, input.width}).Plan();
}

Result<LayerPlan> PlanLatentLayers(const std::vector<Layer>& layers, std::int64_t values) {
  RETORT_CHECK(!layers.empty());
  return Planner(layers, {values}).Plan();
}

Result<MiddleLayer> FindHintLayer(const std::vector<Layer>& layers, const LayerPlan& plan, ImageShape input) {
  std::optional<MiddleLayer> smaller;
  for (const MiddleLayer& layer : MiddleLayers(plan)) {
    if (layers[layer.place].kind == LayerKind::max_pool) return layer;
    if (!smaller && (layer.height < input.height || layer.width < input.width)) smaller = layer;
  }
  if (smaller) return *smaller;
  return UsageError("it has no layer to take a hint from: none is a max-pool or has fewer pixels than the images");
}

Result<MiddleLayer> FindGuidedLayer(const LayerPlan& plan, const MiddleLayer& hint) {
  const std::vector<MiddleLayer> found = MiddleLayers(plan);
  const auto last = std::find_if(found.rbegin(), found.rend(), [&hint](const MiddleLayer& layer) {
    return layer.height == hint.height && layer.width == hint.width;
  });
  if (last != found.rend()) return *last;
  return UsageError("it has no layer of " + ExtentText(hint.height, hint.width) +
                    " pixels, as the teacher's hint has, for the hint to guide");
}

}  // namespace retort::worker
