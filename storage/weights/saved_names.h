// What the names in a file of weights owe to the wrappers that a network was trained in.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/tensor_blob.h"

namespace retort::storage {

// How the names of a file become those of a network.
struct Naming {
  std::string prefix;  // taken off every name: "module._orig_mod."
  bool inner = false;  // then "_orig_mod.", "module." and the like also from within: "backbone._orig_mod.conv1.weight"
  std::string path;    // then this: "model."
  [[nodiscard]] std::string Of(const std::string& saved) const;
};

// Counters that averages and wrappers keep beside the parameters: "n_averaged" of torch's AveragedModel, whatever that is
// wrapped in.
[[nodiscard]] bool IsBookkeeping(const TensorBlob& blob);
// "module." and "_orig_mod.", as often as every name has them.
[[nodiscard]] std::string WrapperPrefix(const std::vector<std::string>& names);
// How many tensors of the network would be missing under these names.
using CountMissing = std::function<std::size_t(const std::vector<std::string>& names)>;
// The naming under which nothing is missing, the simplest first; else the prefix alone. `own`: the network has names that
// begin as wrappers do, and keeps them.
[[nodiscard]] Naming FindNaming(const std::vector<std::string>& saved, bool own, const CountMissing& missing);
// Leading paths ("ema_model.") below which each a whole network lies, beside other names.
[[nodiscard]] std::vector<std::string> WholeParts(const std::vector<std::string>& saved, const CountMissing& missing);

}  // namespace retort::storage
