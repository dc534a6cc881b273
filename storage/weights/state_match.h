// Matches the names of saved tensors with those of a network: which are missing, left over, or only named differently.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"

namespace retort::storage {

// One tensor that a network needs.
struct WantedTensor {
  std::string name;                 // torchvision's
  std::vector<std::int64_t> shape;  // empty: a scalar
  DType dtype = DType::f32;
  bool required = true;  // false: of a part that never runs, as GoogLeNet's auxiliary heads
};

struct KeyReport {
  std::vector<std::string> missing;                          // names of the network
  std::vector<std::string> unexpected;                       // names of the file
  std::vector<std::string> misshaped;                        // "fc.weight is [10, 512], not [1000, 512]"
  std::vector<std::pair<std::string, std::string>> renamed;  // file, network: beyond the prefix
  std::string prefix;                                        // that every name of the file had: "module.", "model."
  std::string hint;                                          // what to save instead: a sentence, with a blank before it
  std::vector<std::string> dropped;                          // names of the file that are known to be of no use
  std::vector<std::string> absent;                           // of the network, not required and not there
  std::vector<std::string> zeroed;                           // num_batches_tracked that old files lack: 0
  std::int64_t matched = 0;

  [[nodiscard]] bool complete() const { return missing.empty() && unexpected.empty() && misshaped.empty(); }
};

struct StateMatch {
  KeyReport report;
  std::vector<TensorBlob> tensors;  // under the network's names, in its order; whole when report.complete()
};

// Known by other names: a prefix "module." or "_orig_mod." of every name, in any order and as often as it stands there,
// also within the names; a path as "model." that all have, where the network then is whole; DenseNet's "norm.1" for
// "norm1" (files of before torch 0.4); ViT's "mlp.linear_1" and "mlp.linear_2" for "mlp.0" and "mlp.3". Dropped:
// auxiliary heads that the network lacks, and counters of averages ("n_averaged"). `saved` is consumed.
[[nodiscard]] StateMatch MatchState(const std::vector<WantedTensor>& wanted, std::vector<TensorBlob> saved);

// Ok for a complete report. Error: refused, naming `file` and `network`, with the first ten names of each
// kind and their number.
[[nodiscard]] Status RequireComplete(const KeyReport& report, const std::string& file, const std::string& network);

// "3 missing, 1 unexpected, ..." in one line; "all 102 match" for none.
[[nodiscard]] std::string FormatKeyReport(const KeyReport& report);

}  // namespace retort::storage
