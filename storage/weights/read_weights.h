// Weights that somebody saved: PyTorch's .pth in its three containers, safetensors and .npz. No Python, no
// LibTorch, and nothing in a file is ever executed.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/formats/tensor_blob.h"

namespace retort::storage {

struct StateDict {
  // In the order of the file, under the names of the file, row-major: f32 for every floating type, i64 for
  // integers and bool.
  std::vector<TensorBlob> tensors;
  std::string container;              // "torch-zip", "torch-legacy", "torch-tar", "safetensors" or "npz"
  std::string digest;                 // SHA-256 of the whole file, 64 hex; empty when not asked for
  std::vector<std::string> path;      // keys that led to the state dict in the file, e.g. {"state_dict"}
  std::vector<std::string> left_out;  // entries beside the tensors that are none, e.g. "epoch"
};

struct WeightsOptions {
  bool digest = true;       // costs one pass of SHA-256, beside the reading
  bool non_finite = false;  // NaN and infinity are let through
};

// The format is told by content, not by name. Time and memory are bounded by the file's size: tensors take at
// most 16 times as many bytes as the file, or as what it is unpacked to
// (storage/files/read_limits.h). Errors, each naming the file, and the offset where one is meant:
//   environment  the file cannot be read
//   damage       it is cut short, or contradicts itself (zip checksums are compared)
//   refused      it is sound, but would run code (a global that no state dict needs, named), is a TorchScript
//   module,
//                big endian, no state dict, has an element type that cannot be read, or holds NaN or infinity
[[nodiscard]] Result<StateDict> ReadWeights(Env& env, const std::string& path, const WeightsOptions& options = {});

// Checks everything in the file but the values of its tensors. Errors: as ReadWeights.
[[nodiscard]] Status CheckWeightsFile(Env& env, const std::string& path);
// Checks that the file may be a TorchScript module, which is a zip archive. Errors: as ReadWeights.
[[nodiscard]] Status CheckScriptFile(Env& env, const std::string& path);

// SHA-256 of a file, 64 hex, read in pieces. Error: environment.
[[nodiscard]] Result<std::string> ComputeFileDigest(Env& env, const std::string& path);

}  // namespace retort::storage
