// A data set in memory, split by index.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/files/env.h"
#include "worker/data/examples.h"
#include "worker/models/network.h"

namespace retort::worker {

struct Dataset {
  ImageShape shape;
  std::int64_t classes = 0;
  Examples train;         // the private examples
  Examples public_split;  // may be empty
  Examples test;
  Examples validation = {};                 // private examples that no training sees; may be empty
  bool validation_apart = false;            // none of `validation` is in `train`, by its index in the set
  PixelScale scale = {{0.1307}, {0.3081}};  // one value a channel; unless a set says otherwise, MNIST's
  at::Device device = at::kCPU;             // where all of them lie, and with them everything that a trial computes
  std::int64_t skipped = 0;                 // broken images of the splits, which none of them holds
};

// Called on the calling thread, several times a second, while images are read ("checking") or decoded ("decoding"):
// `done` of `of`; 0 while another process decodes them.
using LoadProgress = std::function<Status(const std::string& doing, std::int64_t done, std::int64_t of)>;

// Examples in memory are copied to `device`, stored ones are served there; on the CPU nothing is copied.
void MoveTo(const at::Device& device, Dataset& data);

// Reads spec.path by spec.reader; files that changed since the set was inspected are refused (spec.digest). Of encoded
// sets only time and size are compared where the cache of digests has them. Errors: those of the reader and of
// storage::LocateSplits; environment when there are fewer examples than the split names.
// `threads` decode images, at least 1. `progress` is called for encoded sets alone; an error that it
// returns ends the work.
[[nodiscard]] Result<Dataset> LoadDataset(storage::Env& env, const DataSpec& spec, int threads = 2,
                                          const LoadProgress& progress = {});

// Images with normalisation undone: u8 [n, channels, height, width]. `scale` has a value a channel.
[[nodiscard]] at::Tensor ConvertToBytes(const at::Tensor& images, const PixelScale& scale);
// What a black (level 0) or white (level 1) pixel is once it is normalised: f32 [channels] on the CPU.
[[nodiscard]] at::Tensor NormaliseLevel(double level, const PixelScale& scale);

// Each image moved by its own whole number of pixels, at most `reach` along each axis; what moves in is
// black. Row i uses stream.Lane(i). The same bits on every device. reach 0 returns the images themselves.
[[nodiscard]] at::Tensor ShiftImages(const at::Tensor& images, int reach, const PixelScale& scale,
                                     const RowStream& stream);

// A data set in memory, with what its splits have to do with each other.
struct CheckedDataset {
  Dataset data;
  bool shared = false;  // a private image is in the public or the test split, too
};

// As LoadDataset.
[[nodiscard]] Result<CheckedDataset> LoadCheckedDataset(storage::Env& env, const DataSpec& spec, int threads = 2,
                                                        const LoadProgress& progress = {});

}  // namespace retort::worker
