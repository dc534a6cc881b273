#include "experiments/methods/network_layers.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "experiments/base/number_text.h"

namespace retort {
namespace {

using enum NetworkLayerKind;
using L = NetworkLayer;

constexpr double kMaxWidth = 65536, kMaxPixels = 4096;

constexpr LayerParameter Count(std::string_view name, std::int64_t L::*field, double least, double most,
                               std::string_view doc) {
  return {.name = name, .count = field, .least = least, .most = most, .doc = doc};
}
constexpr LayerParameter Number(std::string_view name, double L::*field, double least, double most,
                                std::string_view doc) {
  return {.name = name, .number = field, .least = least, .most = most, .doc = doc};
}
constexpr LayerParameter Flag(std::string_view name, bool L::*field, std::string_view doc) {
  return {.name = name, .flag = field, .doc = doc};
}
constexpr LayerParameter Required(LayerParameter parameter) {
  parameter.required = true;
  return parameter;
}
constexpr LayerParameter OrClasses(LayerParameter parameter) {
  parameter.classes = true;
  return parameter;
}

constexpr LayerParameter kKernel = Count("kernel", &L::kernel, 1, kMaxPixels, "side of the square window, in pixels");
constexpr LayerParameter kStride = Count("stride", &L::stride, 1, kMaxPixels, "pixels from one window to the next");
constexpr LayerParameter kPoolStride = [] {
  LayerParameter stride = kStride;
  stride.usual = "kernel";
  return stride;
}();
constexpr LayerParameter kPadding = Count("padding", &L::padding, 0, kMaxPixels, "pixels of border on each side");
constexpr LayerParameter kBias = Flag("bias", &L::bias, "whether a bias is added");
constexpr LayerParameter kEpsilon = Number("epsilon", &L::epsilon, 0, 1, "added to the variance");

constexpr std::array kConv = {Required(Count("out", &L::out, 1, kMaxWidth, "channels of the result")),
                              Required(kKernel),
                              kStride,
                              kPadding,
                              Count("groups", &L::groups, 1, kMaxWidth, "groups of channels that do not mix"),
                              Count("dilation", &L::dilation, 1, kMaxPixels, "pixels between those of a window"),
                              kBias};
constexpr std::array kLinear = {
    Required(
        OrClasses(Count("out", &L::out, 1, 1e6, "values of the result; \"classes\": as many as the data set has"))),
    kBias};
constexpr std::array kBatchNorm = {
    kEpsilon, Number("momentum", &L::momentum, 0, 1, "of the running statistics; not of generators"),
    Flag("affine", &L::affine, "whether a weight and a bias a channel follow; false: of generators alone")};
constexpr std::array kGroupNorm = {
    Required(Count("groups", &L::groups, 1, kMaxWidth, "of channels that are normalised together")), kEpsilon};
constexpr std::array kLayerNorm = {kEpsilon};
constexpr std::array kLeaky = {Required(Number("slope", &L::rate, 0, 1, "below zero"))};
constexpr std::array kMaxPool = {Required(kKernel), kPoolStride, kPadding,
                                 Flag("ceil", &L::ceil, "whether extents are rounded up")};
constexpr std::array kAvgPool = {Required(kKernel), kPoolStride};
constexpr std::array kAdaptive = {Required(Count("out", &L::out, 1, kMaxPixels, "height and width of the result"))};
constexpr std::array kDropout = {Required(Number("rate", &L::rate, 0, 0.999, "share of values that are dropped"))};
constexpr std::array kPad = {Required(Count("out", &L::out, 1, kMaxWidth, "channels of the result")), kStride};

constexpr std::array kReshape = {Required(Count("channels", &L::out, 1, kMaxWidth, "of the result")),
                                 Required(Count("height", &L::height, 1, kMaxPixels, "of the result, in pixels")),
                                 Required(Count("width", &L::width, 1, kMaxPixels, "of the result, in pixels"))};
constexpr std::array kUpsample = {
    Count("factor", &L::factor, 2, 64, "by which height and width grow"),
    Flag("bilinear", &L::bilinear,
         "between pixels, the corners where they were, of factor 2; false: the nearest pixel")};
constexpr std::array kConvTranspose = {
    Required(Count("out", &L::out, 1, kMaxWidth, "channels of the result")),
    Required(kKernel),
    Count("stride", &L::stride, 1, kMaxPixels, "pixels of the result from one window to the next"),
    Count("padding", &L::padding, 0, kMaxPixels, "pixels of the result that are cut off on each side"),
    Count("output_padding", &L::output_padding, 0, kMaxPixels, "rows and columns added below and to the right"),
    Count("groups", &L::groups, 1, kMaxWidth, "groups of channels that do not mix"),
    kBias};

constexpr std::array kKinds = {
    LayerKindTraits{conv, "conv", kConv, true, true, "convolution of [channels, height, width]"},
    LayerKindTraits{linear, "linear", kLinear, true, true, "of [values]"},
    LayerKindTraits{batch_norm, "batch_norm", kBatchNorm, true, true,
                    "of [channels, height, width], of generators also of [values]; not for DP-SGD"},
    LayerKindTraits{group_norm, "group_norm", kGroupNorm, true, true, "of [channels, height, width]"},
    LayerKindTraits{layer_norm, "layer_norm", kLayerNorm, true, true, "of [values]"},
    LayerKindTraits{relu, "relu", {}, false, true, "max(x, 0)"},
    LayerKindTraits{relu6, "relu6", {}, false, true, "min(max(x, 0), 6)"},
    LayerKindTraits{leaky, "leaky", kLeaky, false, true, "x, or slope x below zero"},
    LayerKindTraits{gelu, "gelu", {}, false, true, "x times the normal distribution's value at x"},
    LayerKindTraits{tanh, "tanh", {}, false, true, "hyperbolic tangent"},
    LayerKindTraits{max_pool, "max_pool", kMaxPool, false, true, "largest of each window"},
    LayerKindTraits{avg_pool, "avg_pool", kAvgPool, false, true, "mean of each window"},
    LayerKindTraits{adaptive_avg_pool, "adaptive_avg_pool", kAdaptive, false, true,
                    "means over out x out parts of the picture"},
    LayerKindTraits{spatial_mean, "spatial_mean", {}, false, true, "[channels, height, width] to [channels]"},
    LayerKindTraits{dropout, "dropout", kDropout, false, true, "in training"},
    LayerKindTraits{flatten, "flatten", {}, false, true, "[channels, height, width] to [values]"},
    LayerKindTraits{add, "add", {}, false, false, "sum of two layers"},
    LayerKindTraits{pad_shortcut, "pad_shortcut", kPad, false, false,
                    "every stride-th pixel, and as many channels of zeros before as behind (option A of He et al.)"},
    LayerKindTraits{sigmoid, "sigmoid", {}, false, true, "1 / (1 + exp(-x))"},
    LayerKindTraits{reshape, "reshape", kReshape, false, true,
                    "[values] to [channels, height, width], in that order; of generators, which it makes of a network",
                    true},
    LayerKindTraits{upsample, "upsample", kUpsample, false, true,
                    "[channels, height, width] made larger; of generators", true},
    LayerKindTraits{
        conv_transpose, "conv_transpose", kConvTranspose, true, true,
        "transposed convolution of [channels, height, width], to (side - 1) x stride - 2 x padding + kernel "
        "+ output_padding pixels a side; of generators",
        true},
};
static_assert(kKinds.size() == static_cast<std::size_t>(conv_transpose) + 1);
static_assert([] {
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
  return true;
}());

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::span<const LayerKindTraits> ListLayerKinds() { return kKinds; }
const LayerKindTraits& FindTraits(NetworkLayerKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }
const LayerKindTraits* FindLayerKind(std::string_view word) {
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [word](const LayerKindTraits& kind) { return kind.word == word; });
  return found == kKinds.end() ? nullptr : found;
}

bool IsLayerName(std::string_view name) {
  if (name.empty() || name.size() > 200 || name.front() == '.' || name.back() == '.') return false;
  char before = 0;
  for (const char c : name) {
    if (!IsNameByte(c) && (c != '.' || before == '.')) return false;
    before = c;
  }
  return true;
}

// Text

namespace {

std::string FormatLayer(const NetworkLayer& layer) {
  static const NetworkLayer kPlain;
  const LayerKindTraits& traits = FindTraits(layer.kind);
  std::string text(traits.word);
  const auto put = [&text](std::string_view key, const std::string& value) {
    text += " ";
    text += key;
    text += "=" + value;
  };
  if (!layer.name.empty()) put("name", layer.name);
  for (const LayerParameter& parameter : traits.parameters) {
    if (parameter.count != nullptr && layer.*parameter.count != kPlain.*parameter.count) {
      const std::int64_t value = layer.*parameter.count;
      put(parameter.name, value == kAsManyAsClasses ? "classes" : std::to_string(value));
    }
    if (parameter.number != nullptr && layer.*parameter.number != kPlain.*parameter.number)
      put(parameter.name, FormatReal(layer.*parameter.number));
    if (parameter.flag != nullptr && layer.*parameter.flag != kPlain.*parameter.flag)
      put(parameter.name, layer.*parameter.flag ? "true" : "false");
  }
  std::string inputs;
  for (const std::int32_t input : layer.inputs) inputs += (inputs.empty() ? "" : ",") + std::to_string(input);
  if (!inputs.empty()) put("inputs", inputs);
  return text;
}

// Takes the text up to `end`, and `end` with it.
std::string_view TakeUntil(std::string_view& rest, std::string_view end) {
  const std::size_t at = rest.find(end);
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + end.size());
  return taken;
}

template <typename T>
bool ReadNumber(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool ReadParameter(std::string_view text, const LayerParameter& parameter, NetworkLayer& layer) {
  double value = 0;
  if (parameter.count != nullptr) {
    std::int64_t& count = layer.*parameter.count;
    if (parameter.classes && text == "classes") {
      count = kAsManyAsClasses;
      return true;
    }
    if (!ReadNumber(text, count)) return false;
    value = static_cast<double>(count);
  } else if (parameter.number != nullptr) {
    if (!ReadNumber(text, layer.*parameter.number)) return false;
    value = layer.*parameter.number;
  } else {
    layer.*parameter.flag = text == "true";
    return text == "true" || text == "false";
  }
  return value >= parameter.least && value <= parameter.most;
}

bool ReadInputs(std::string_view text, std::size_t place, NetworkLayer& layer) {
  while (!text.empty()) {
    std::int32_t input = 0;
    if (!ReadNumber(TakeUntil(text, ","), input) || input < kNetworkInput || input >= static_cast<std::int32_t>(place))
      return false;
    layer.inputs.push_back(input);
  }
  return !layer.inputs.empty();
}

bool ReadLayer(std::string_view text, std::size_t place, NetworkLayer& layer) {
  const LayerKindTraits* traits = FindLayerKind(TakeUntil(text, " "));
  if (traits == nullptr) return false;
  layer.kind = traits->kind;
  while (!text.empty()) {
    std::string_view value = TakeUntil(text, " ");
    const std::string_view key = TakeUntil(value, "=");
    if (key == "name") {
      layer.name = value;
    } else if (key == "inputs") {
      if (!ReadInputs(value, place, layer)) return false;
    } else {
      const auto found = std::find_if(traits->parameters.begin(), traits->parameters.end(),
                                      [key](const LayerParameter& parameter) { return parameter.name == key; });
      if (found == traits->parameters.end() || !ReadParameter(value, *found, layer)) return false;
    }
  }
  return traits->weighted == !layer.name.empty() && (layer.name.empty() || IsLayerName(layer.name)) &&
         (layer.inputs.size() == 2) == (layer.kind == add);
}

}  // namespace

std::string FormatNetworkLayers(const std::vector<NetworkLayer>& layers) {
  std::string text;
  for (const NetworkLayer& layer : layers) text += (text.empty() ? "" : "; ") + FormatLayer(layer);
  return text;
}

Result<std::vector<NetworkLayer>> ParseNetworkLayers(std::string_view text) {
  std::vector<NetworkLayer> layers;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view one = TakeUntil(rest, "; ");
    NetworkLayer layer;
    if (layers.size() == kMaxNetworkLayers || !ReadLayer(one, layers.size(), layer))
      return DamageError("layer " + std::to_string(layers.size()) + " of a described network is no layer: \"" +
                         std::string(one.substr(0, 80)) + "\"");
    layers.push_back(std::move(layer));
  }
  if (const std::optional<LayerMisfit> misfit = FindMisfit(layers)) return DamageError(misfit->message);
  if (FormatNetworkLayers(layers) != text)
    return DamageError("the layers of a described network are written otherwise");
  return layers;
}

// Shapes

std::int64_t CountWindows(std::int64_t extent, const WindowForm& form) {
  const std::int64_t room = extent + 2 * form.padding - form.dilation * (form.kernel - 1) - 1;
  if (!form.ceil) return room < 0 ? 0 : room / form.stride + 1;
  if (room < 0 && -room >= form.stride) return 0;
  std::int64_t out = (room + form.stride - 1) / form.stride + 1;
  if ((out - 1) * form.stride >= extent + form.padding) --out;
  return out;
}

std::string FormatShape(const LayerShape& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(extent);
  return text + "]";
}

std::string FormatLayerAt(const std::vector<NetworkLayer>& layers, std::size_t place) {
  const NetworkLayer& layer = layers.at(place);
  const std::string word(FindTraits(layer.kind).word);
  return layer.name.empty() ? word + " (layer " + std::to_string(place + 1) + ")" : word + " \"" + layer.name + "\"";
}

namespace {

std::int64_t CountValues(const LayerShape& shape) {
  std::int64_t values = 1;
  for (const std::int64_t extent : shape) values *= extent;
  return values;
}

class ShapePlanner {
 public:
  // Of a network that classifies images.
  ShapePlanner(const std::vector<NetworkLayer>& layers, InputShape image, std::int64_t classes)
      : layers_(layers), input_{image.channels, image.height, image.width}, classes_(classes) {}
  // Of a generator.
  ShapePlanner(const std::vector<NetworkLayer>& layers, LatentShape latents, InputShape image)
      : layers_(layers),
        input_{latents.values()},
        made_{image.channels, image.height, image.width},
        latent_classes_(latents.classes) {}

  PlannedShapes Run() && {
    for (std::size_t i = 0; i < layers_.size() && !planned_.misfit; ++i) {
      LayerShape shape = Place(i);
      if (!planned_.misfit) CheckExtents(i, shape);
      if (!planned_.misfit) planned_.shapes.push_back(std::move(shape));
    }
    if (Makes() && !planned_.misfit && planned_.shapes.back() != made_)
      Say(layers_.size() - 1, "the network makes " + FormatShape(planned_.shapes.back()) + ", and the pictures are " +
                                  FormatShape(made_) +
                                  ": change channels, kernels, strides or factors until it makes " + "those");
    return std::move(planned_);
  }

 private:
  [[nodiscard]] bool Makes() const { return !made_.empty(); }
  [[nodiscard]] const LayerShape& At(std::int32_t place) const {
    return place == kNetworkInput ? input_ : planned_.shapes[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] std::int32_t InputPlace(std::size_t i) const {
    return layers_[i].inputs.empty() ? static_cast<std::int32_t>(i) - 1 : layers_[i].inputs.front();
  }
  [[nodiscard]] const LayerShape& Input(std::size_t i) const { return At(InputPlace(i)); }
  [[nodiscard]] std::string Giver(std::int32_t place) const {
    if (place != kNetworkInput) return FormatLayerAt(layers_, static_cast<std::size_t>(place));
    if (!Makes()) return "the picture";
    return latent_classes_ == 0 ? "the latent vector" : "the latent vector with its class";
  }

  void Say(std::size_t i, const std::string& what) {
    if (!planned_.misfit) planned_.misfit = LayerMisfit{i, FormatLayerAt(layers_, i) + ": " + what};
  }
  void CheckExtents(std::size_t i, const LayerShape& shape) {
    constexpr std::int64_t kMaxExtent = 1'000'000;  // that of a linear layer
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 1; }))
      Say(i, "its input is " + FormatShape(Input(i)) + ", which leaves it no pixel, " + FormatShape(shape) +
                 (layers_[i].kind == conv_transpose ? ": make kernel or stride larger, or padding smaller"
                                                    : ": make kernel or stride smaller, or padding larger"));
    else if (Makes() && *std::max_element(shape.begin(), shape.end()) > kMaxExtent)
      Say(i, "its input is " + FormatShape(Input(i)) + ", and its result, " + FormatShape(shape) + ", too large");
  }
  // Whether the input is an image, or, where `flat`, a row of values.
  bool Takes(std::size_t i, bool flat) {
    const LayerShape& in = Input(i);
    if ((in.size() == 1) == flat) return true;
    Say(i, flat ? "it takes [values], and " + Giver(InputPlace(i)) + " gives " + FormatShape(in) +
                      ": put \"flatten\" or \"spatial_mean\" between them"
                : "it takes [channels, height, width], and " + Giver(InputPlace(i)) + " gives " + FormatShape(in) +
                      (Makes() ? ": put a reshape between them" : ": put it before what makes a row of values"));
    return false;
  }
  void RequireMultiple(std::size_t i, std::int64_t channels, const std::string& whose) {
    const std::int64_t groups = layers_[i].groups;
    if (channels % groups != 0)
      Say(i, "groups = " + std::to_string(groups) + " does not divide the " + std::to_string(channels) +
                 " channels of " + whose);
  }

  LayerShape Place(std::size_t i) {
    const NetworkLayer& layer = layers_[i];
    const LayerShape& in = Input(i);
    switch (layer.kind) {
      case conv:
      case max_pool:
      case avg_pool:
        return PlaceWindows(i);
      case linear:
        return PlaceLinear(i);
      case batch_norm:
        if (!Makes()) Takes(i, false);
        return in;
      case group_norm:
        if (Takes(i, false)) RequireMultiple(i, in[0], "its input, " + FormatShape(in));
        return in;
      case layer_norm:
        Takes(i, true);
        return in;
      case adaptive_avg_pool:
        if (!Takes(i, false)) return {};
        return {in[0], layer.out, layer.out};
      case spatial_mean:
        if (!Takes(i, false)) return {};
        return {in[0]};
      case flatten:
        return {CountValues(in)};
      case add:
        return PlaceSum(i);
      case pad_shortcut:
        return PlacePadded(i);
      case reshape:
        return PlaceReshaped(i);
      case upsample:
        return PlaceUpsampled(i);
      case conv_transpose:
        return PlaceTransposed(i);
      case relu:
      case relu6:
      case leaky:
      case gelu:
      case tanh:
      case sigmoid:
      case dropout:
        return in;
    }
    return in;
  }

  LayerShape PlaceSum(std::size_t i) {
    const LayerShape &in = Input(i), &shortcut = At(layers_[i].inputs[1]);
    const bool larger = in.size() == 3 && shortcut.size() == 3 && (in[1] > shortcut[1] || in[2] > shortcut[2]);
    if (in != shortcut)
      Say(i, "its layers give " + FormatShape(in) + ", and its shortcut " + FormatShape(shortcut) +
                 (larger ? ": a shortcut cannot follow layers that enlarge: put these before or behind the block"
                         : ": both have to be alike (shortcut = \"A\" or \"B\" fits stride and channels)"));
    return in;
  }

  void RequireSize(std::size_t i, std::int64_t weights) {
    constexpr std::int64_t kMaxWeights = std::int64_t{1} << 31;
    if (weights > kMaxWeights)
      Say(i, "it has " + std::to_string(weights) + " weights of its input, " + FormatShape(Input(i)) +
                 ", and a layer at most 2^31");
  }

  LayerShape PlaceLinear(std::size_t i) {
    if (!Takes(i, true)) return {};
    const std::int64_t out = layers_[i].out == kAsManyAsClasses ? classes_ : layers_[i].out;
    RequireSize(i, Input(i)[0] * out);
    return {out};
  }

  LayerShape PlaceWindows(std::size_t i) {
    const NetworkLayer& layer = layers_[i];
    if (!Takes(i, false)) return {};
    const LayerShape& in = Input(i);
    if (layer.kind == conv) {
      RequireMultiple(i, in[0], "its input, " + FormatShape(in));
      RequireMultiple(i, layer.out, "its result");
      RequireSize(i, in[0] / layer.groups * layer.out * layer.kernel * layer.kernel);
    }
    if (layer.kind == max_pool && 2 * layer.padding > layer.kernel)
      Say(i, "padding = " + std::to_string(layer.padding) +
                 " is more than half of kernel = " + std::to_string(layer.kernel));
    const WindowForm form{layer.kernel, layer.stride, layer.padding, layer.dilation, layer.ceil};
    return {layer.kind == conv ? layer.out : in[0], CountWindows(in[1], form), CountWindows(in[2], form)};
  }

  LayerShape PlacePadded(std::size_t i) {
    const NetworkLayer& layer = layers_[i];
    if (!Takes(i, false)) return {};
    const LayerShape& in = Input(i);
    if (layer.out < in[0] || (layer.out - in[0]) % 2 != 0)
      Say(i, "shortcut = \"A\" adds as many channels of zeros before as behind, which does not make the " +
                 std::to_string(layer.out) + " channels of its block from its input, " + FormatShape(in) +
                 ": set shortcut = \"B\"");
    const auto kept = [&layer](std::int64_t extent) { return (extent + layer.stride - 1) / layer.stride; };
    return {layer.out, kept(in[1]), kept(in[2])};
  }

  // What makes a reshape fit that needs `values`.
  [[nodiscard]] std::string FitReshape(std::size_t i, std::int64_t values) const {
    const std::int32_t from = InputPlace(i);
    if (from == kNetworkInput && values > latent_classes_)
      return "set latent = " + std::to_string(values - latent_classes_);
    if (from != kNetworkInput && layers_[static_cast<std::size_t>(from)].kind == linear)
      return "set out = " + std::to_string(values) + " of " + Giver(from);
    return "make both equal";
  }

  LayerShape PlaceReshaped(std::size_t i) {
    const NetworkLayer& layer = layers_[i];
    const LayerShape& in = Input(i);
    LayerShape out = {layer.out, layer.height, layer.width};
    const std::int64_t values = CountValues(out);
    if (CountValues(in) != values)
      Say(i, Giver(InputPlace(i)) + " gives " + FormatShape(in) + ", which has " + std::to_string(CountValues(in)) +
                 " values, and its result, " + FormatShape(out) + ", has " + std::to_string(values) + ": " +
                 FitReshape(i, values));
    return out;
  }

  LayerShape PlaceUpsampled(std::size_t i) {
    const NetworkLayer& layer = layers_[i];
    if (!Takes(i, false)) return {};
    const LayerShape& in = Input(i);
    if (layer.bilinear && layer.factor != 2) Say(i, "bilinear doubles the sides: leave factor out, or bilinear");
    return {in[0], in[1] * layer.factor, in[2] * layer.factor};
  }

  LayerShape PlaceTransposed(std::size_t i) {
    const NetworkLayer& layer = layers_[i];
    if (!Takes(i, false)) return {};
    const LayerShape& in = Input(i);
    RequireMultiple(i, in[0], "its input, " + FormatShape(in));
    RequireMultiple(i, layer.out, "its result");
    RequireSize(i, in[0] * (layer.out / layer.groups) * layer.kernel * layer.kernel);
    if (layer.output_padding >= layer.stride)
      Say(i, "output_padding = " + std::to_string(layer.output_padding) +
                 " is to be less than stride = " + std::to_string(layer.stride));
    const auto grown = [&layer](std::int64_t extent) {
      return (extent - 1) * layer.stride - 2 * layer.padding + layer.kernel + layer.output_padding;
    };
    return {layer.out, grown(in[1]), grown(in[2])};
  }

  const std::vector<NetworkLayer>& layers_;
  LayerShape input_;
  LayerShape made_ = {};  // what a generator is to make; empty for other networks
  std::int64_t classes_ = 0, latent_classes_ = 0;
  PlannedShapes planned_;
};

// `width`: the values or channels of the network's input.
std::int64_t CountFrom(std::int64_t width, const std::vector<NetworkLayer>& layers,
                       const std::vector<LayerShape>& shapes) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const NetworkLayer& layer = layers[i];
    const std::int32_t from = layer.inputs.empty() ? static_cast<std::int32_t>(i) - 1 : layer.inputs.front();
    const std::int64_t in = from == kNetworkInput ? width : shapes[static_cast<std::size_t>(from)].front();
    const std::int64_t out = shapes[i].front();
    if (layer.kind == conv) count += in / layer.groups * out * layer.kernel * layer.kernel + (layer.bias ? out : 0);
    if (layer.kind == conv_transpose)
      count += in * (out / layer.groups) * layer.kernel * layer.kernel + (layer.bias ? out : 0);
    if (layer.kind == linear) count += in * out + (layer.bias ? out : 0);
    if (layer.kind == batch_norm || layer.kind == group_norm || layer.kind == layer_norm)
      count += layer.affine ? 2 * out : 0;
  }
  return count;
}

bool HasKnownRange(const NetworkLayer& last) {
  return last.kind == sigmoid || last.kind == tanh || (last.kind == batch_norm && !last.affine);
}

bool HasParameters(const NetworkLayer& layer) { return FindTraits(layer.kind).weighted && layer.affine; }

std::optional<LayerMisfit> FindGeneratorMisfit(const std::vector<NetworkLayer>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const NetworkLayer& layer = layers[i];
    const auto say = [&](const std::string& what) { return LayerMisfit{i, FormatLayerAt(layers, i) + ": " + what}; };
    if (layer.out == kAsManyAsClasses)
      return say("out = \"classes\" ends a network that classifies pictures, and with its reshape this one makes them");
    if (layer.kind == dropout) return say("a generator's pictures follow from its latents alone: leave dropout out");
    if (layer.momentum != NetworkLayer().momentum)
      return say("the batch norms of a generator use the statistics of the batch at hand: leave momentum out");
    if (i + 1 == layers.size() && !HasKnownRange(layer))
      return say(
          "a generator ends in \"sigmoid\" (pixels between 0 and 1), \"tanh\" (between -1 and 1, which are black and "
          "white) or { kind = \"batch_norm\", affine = false } (normalised by their batch)");
  }
  if (std::none_of(layers.begin(), layers.end(), HasParameters))
    return LayerMisfit{0, FormatLayerAt(layers, 0) +
                              ": no layer of this generator has parameters, so that it could learn " +
                              "nothing: put a linear before its reshape, or a conv after it"};
  return std::nullopt;
}

std::optional<LayerMisfit> FindClassifierMisfit(const std::vector<NetworkLayer>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const NetworkLayer& layer = layers[i];
    const auto say = [&](const std::string& what) { return LayerMisfit{i, FormatLayerAt(layers, i) + ": " + what}; };
    const bool last = i + 1 == layers.size();
    if (FindTraits(layer.kind).of_generators || !layer.affine)
      return say((layer.affine ? "it" : "affine = false") +
                 std::string(" is of generators, which a reshape makes of a network; this one has none"));
    if (!last && layer.out == kAsManyAsClasses) return say("out = \"classes\" is of the last layer");
    if (last && (layer.kind != linear || layer.out != kAsManyAsClasses))
      return say(
          "a network ends with { kind = \"linear\", out = \"classes\" }, one value a class; a generator has a reshape");
  }
  return std::nullopt;
}

}  // namespace

PlannedShapes PlanShapes(const std::vector<NetworkLayer>& layers, InputShape image, std::int64_t classes) {
  return ShapePlanner(layers, image, classes).Run();
}

PlannedShapes PlanGeneratorShapes(const std::vector<NetworkLayer>& layers, LatentShape latents, InputShape image) {
  return ShapePlanner(layers, latents, image).Run();
}

std::int64_t CountParameters(const std::vector<NetworkLayer>& layers, const std::vector<LayerShape>& shapes,
                             InputShape image) {
  return CountFrom(image.channels, layers, shapes);
}

std::int64_t CountParameters(const std::vector<NetworkLayer>& layers, const std::vector<LayerShape>& shapes,
                             LatentShape latents) {
  return CountFrom(latents.values(), layers, shapes);
}

bool MakesImages(const std::vector<NetworkLayer>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const L& layer) { return layer.kind == reshape; });
}

std::optional<LayerMisfit> FindMisfit(const std::vector<NetworkLayer>& layers) {
  if (layers.empty())
    return LayerMisfit{0, "a network has at least one layer: { kind = \"linear\", out = \"classes\" }"};
  if (layers.size() > kMaxNetworkLayers)
    return LayerMisfit{kMaxNetworkLayers,
                       "a network has at most " + std::to_string(kMaxNetworkLayers) + " layers, and this one more"};
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const NetworkLayer& layer = layers[i];
    if (!layer.name.empty() && !names.insert(layer.name).second)
      return LayerMisfit{i, FormatLayerAt(layers, i) + ": another layer has this name: give one of them another name"};
  }
  return MakesImages(layers) ? FindGeneratorMisfit(layers) : FindClassifierMisfit(layers);
}

bool HasBatchNorm(const std::vector<NetworkLayer>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const L& layer) { return layer.kind == batch_norm; });
}

bool EndsInBatchNorm(const std::vector<NetworkLayer>& layers) { return layers.back().kind == batch_norm; }

bool HasActivation(const std::vector<NetworkLayer>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const L& layer) {
    return (layer.kind >= relu && layer.kind <= tanh) || layer.kind == sigmoid;
  });
}

}  // namespace retort
