// Networks and images that are filled by one formula, on both sides of a comparison (fixtures/zoo_reference.py).
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "worker/models/network.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {

inline float Formula(std::int64_t i, std::int64_t entry) {
  return static_cast<float>((40503 * i + 30011 * entry) & 65535) / 32768.0F - 1.0F;
}

inline at::Tensor Filled(const std::vector<std::int64_t>& shape, std::int64_t entry, double scale, double offset) {
  at::Tensor out = at::empty(shape, at::kFloat);
  float* data = out.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < out.numel(); ++i)
    data[i] = static_cast<float>(offset + scale * static_cast<double>(Formula(i, entry)));
  return out;
}

// The state by the formula of zoo_reference.py.
inline std::vector<storage::TensorBlob> FormulaState(const Network& network) {
  std::vector<storage::TensorBlob> blobs;
  for (std::size_t k = 0; k < network.state().size(); ++k) {
    const StateEntry& entry = network.state()[k];
    if (entry.dtype != storage::DType::f32) continue;
    const auto at = static_cast<std::int64_t>(k);
    at::Tensor value;
    if (entry.name.ends_with("running_var")) {
      value = Filled(entry.shape, at, 0.5, 1);
    } else if (entry.shape.size() >= 2) {
      std::int64_t fan_in = entry.shape.size() == 3 ? entry.shape[2] : 1;
      if (entry.shape.size() != 3)
        for (std::size_t d = 1; d < entry.shape.size(); ++d) fan_in *= entry.shape[d];
      value = Filled(entry.shape, at, std::sqrt(3.0 / static_cast<double>(fan_in)), 0);
    } else {
      value = entry.name.ends_with("weight") ? Filled(entry.shape, at, 0.25, 1) : Filled(entry.shape, at, 0.1, 0);
    }
    blobs.push_back(MakeTensorBlob("x/" + entry.name, value));
  }
  return blobs;
}

inline void ExpectNear(const at::Tensor& got, const std::vector<float>& want, double relative,
                       const std::string& what) {
  const at::Tensor flat = got.detach().flatten().contiguous(), wanted = at::tensor(want);
  ASSERT_EQ(flat.numel(), wanted.numel()) << what;
  const double scale = wanted.abs().max().item<double>();
  EXPECT_LE((flat - wanted).abs().max().item<double>(), relative * scale) << what << "\n" << got;
}

}  // namespace retort::worker
