// Networks and generators as TorchScript modules, which LibTorch records while they compute.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/base/status.h"
#include "worker/models/generators.h"
#include "worker/models/network.h"

namespace retort::worker {

// The file of a TorchScript archive that holds `description`, as torch.jit.load's _extra_files names it.
inline constexpr const char* kScriptDescription = "retort.json";

// Each returns the bytes of an archive for torch.jit.load, on the CPU. Parameters and buffers have the names of the
// state. Method `forward` answers any number of rows, in whatever mode the module is; it was loaded again and compared
// with the network before it is returned. Error: environment, where the module answers otherwise. What LibTorch throws
// passes through.

// forward(image f32 [rows, channels, height, width]) -> logits f32 [rows, classes], as Network::Forward in evaluation.
[[nodiscard]] Result<std::string> RecordNetwork(const Network& network, const std::string& description);
// forward(latent f32 [rows, latent]) -> pictures f32 [rows, channels, height, width], as Generator::Forward.
[[nodiscard]] Result<std::string> RecordGenerator(const Generator& generator, std::int64_t latent,
                                                  const std::string& description);
// forward(latent f32 [rows, code], label i64 [rows]) -> pictures, as ConditionalGenerator::Forward.
[[nodiscard]] Result<std::string> RecordGenerator(const ConditionalGenerator& generator, std::int64_t classes,
                                                  const std::string& description);

}  // namespace retort::worker
