#include "worker/models/model_registry.h"

#include <functional>
#include <utility>

#include "experiments/spec/networks.h"

namespace retort::worker {
namespace {

using Kind = LayerKind;

// DataLens evaluation net: conv 32, max-pool, dropout .2, conv 64, dropout .25, FC 64, FC c. Pooling and dropout
// before the rectifier give the same values and gradients as after it; the pooled ones on a quarter of the elements.
std::vector<Layer> DatalensOfWidth(std::int64_t width, std::int64_t classes) {
  return {{.kind = Kind::conv, .name = "conv1", .out = width, .kernel = 3},
          {.kind = Kind::max_pool, .name = "", .kernel = 2, .stride = 2},
          {.kind = Kind::dropout, .name = "", .rate = 0.2},
          {.kind = Kind::relu, .name = ""},
          {.kind = Kind::conv, .name = "conv2", .out = 2 * width, .kernel = 3},
          {.kind = Kind::dropout, .name = "", .rate = 0.25},
          {.kind = Kind::relu, .name = ""},
          {.kind = Kind::flatten, .name = ""},
          {.kind = Kind::linear, .name = "fc1", .out = 2 * width},
          {.kind = Kind::relu, .name = ""},
          {.kind = Kind::linear, .name = "fc2", .out = classes}};
}

std::vector<Layer> Datalens(std::int64_t classes) { return DatalensOfWidth(32, classes); }

// An eighth of its channels: small devices, and steps whose cost is overhead.
std::vector<Layer> DatalensEighth(std::int64_t classes) { return DatalensOfWidth(4, classes); }

// The tanh CNN of the DP-SGD literature (Papernot et al. 2021, Tramer and Boneh 2021).
std::vector<Layer> TanhCnn(std::int64_t classes) {
  return {{.kind = Kind::conv, .name = "conv1", .out = 16, .kernel = 8, .stride = 2, .padding = 3},
          {.kind = Kind::tanh, .name = ""},
          {.kind = Kind::max_pool, .name = "", .kernel = 2, .stride = 1},
          {.kind = Kind::conv, .name = "conv2", .out = 32, .kernel = 4, .stride = 2},
          {.kind = Kind::tanh, .name = ""},
          {.kind = Kind::max_pool, .name = "", .kernel = 2, .stride = 1},
          {.kind = Kind::flatten, .name = ""},
          {.kind = Kind::linear, .name = "fc1", .out = 32},
          {.kind = Kind::tanh, .name = ""},
          {.kind = Kind::linear, .name = "fc2", .out = classes}};
}

std::vector<Layer> Logistic(std::int64_t classes) {
  return {{.kind = Kind::flatten, .name = ""}, {.kind = Kind::linear, .name = "fc", .out = classes}};
}

struct Entry {
  std::string name;
  std::vector<Layer> (*layers)(std::int64_t classes);
};

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> entries = {
      {"datalens", &Datalens}, {"datalens-x0.125", &DatalensEighth}, {"tanh-cnn", &TanhCnn}, {"logistic", &Logistic}};
  return entries;
}

}  // namespace

const std::vector<std::string>& NetworkNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Entry& entry : Entries()) all.push_back(entry.name);
    return all;
  }();
  return names;
}

Result<std::unique_ptr<Network>> MakeNetwork(const std::string& name, ImageShape input, std::int64_t classes,
                                             const RngStream& stream, at::Device device) {
  for (const Entry& entry : Entries()) {
    if (entry.name != name) continue;
    const std::int64_t least = LeastExtent(name);
    if (input.height < least || input.width < least) {
      return UsageError("The network '" + name + "' needs images of at least " + std::to_string(least) + " pixels a side; these are " +
                        std::to_string(input.height) + " x " + std::to_string(input.width) + ".");
    }
    return std::make_unique<Network>(entry.layers(classes), input, stream, device);
  }
  std::string known;
  for (const std::string& candidate : NetworkNames()) known += (known.empty() ? "" : ", ") + candidate;
  return UsageError("There is no network '" + name + "'. Known: " + known + ".");
}

}  // namespace retort::worker
