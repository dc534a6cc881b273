// What a worker is asked about a network: its state, saved weights, and the logits of a few images.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/spec/status.h"

namespace retort::cluster {

// The argument with which the worker program, in place of its work, takes the order that follows it.
inline constexpr const char* kModelArgument = "--model-check";

struct ModelOrder {
  std::string network;       // of a sweep file; ignored for a TorchScript module
  std::string weights;       // absolute path, or empty: initial parameters of seed 0
  std::string input;         // absolute path of a .npy, f32 [rows, channels, height, width], or empty
  std::string logits_out;    // absolute path, or empty
  std::int64_t classes = 0;  // 0: as the weights have it, else the network's usual number
  std::int64_t channels = 0, height = 0,
               width = 0;    // 0: as the input has it, else the network's usual images
  bool torchscript = false;  // `weights` is a module, whose code is run
  bool non_finite = false;   // NaN and infinity in the weights are let through
};

// One JSON object; round-trips exactly.
[[nodiscard]] std::string EncodeModelOrder(const ModelOrder& order);
// Error: damage, naming the field.
[[nodiscard]] Result<ModelOrder> DecodeModelOrder(const std::string& json);

}  // namespace retort::cluster
