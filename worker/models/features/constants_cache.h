// Fitted constants of frozen layers, kept between processes. Bytes: storage/FORMAT.md.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/files/env.h"
#include "worker/models/layer.h"

namespace retort::worker {

// A cache: it may be deleted at any time, and where it cannot be read or written constants are fitted anew.
class ConstantsCache {
 public:
  // `env` outlives it. `folder`: empty, nothing is kept. `limit`: how many networks' constants.
  ConstantsCache(storage::Env& env, std::string folder, std::size_t limit = 24);

  // What the constants are a function of: the layers up to the last that has some, the shape of the images, the program
  // (its bytes), LibTorch, and the instruction set and the number of threads that it uses, on which last bits depend.
  // Empty where the program cannot be read.
  [[nodiscard]] std::string FindKey(const std::vector<Layer>& layers, const ImageShape& images) const;
  // f32 [values] on the CPU, as Keep was given them; nothing where they are not there whole. A damaged file is removed.
  [[nodiscard]] std::optional<at::Tensor> Read(const std::string& key, std::int64_t values) const;
  // Keeps `constants`, f32 [values] on the CPU, durable, by rename. Those that were written first leave above the
  // limit.
  void Keep(const std::string& key, const at::Tensor& constants) const;

 private:
  [[nodiscard]] std::string FindPath(const std::string& key) const;
  void RemoveOldest() const;
  storage::Env& env_;
  std::string folder_;
  std::size_t limit_;
};

// $XDG_CACHE_HOME/retort/features, else $HOME/.cache/retort/features.
[[nodiscard]] ConstantsCache FindConstantsCache();

}  // namespace retort::worker
