// Reads a few images of every split of a data set, as trials see them before anything is drawn at random.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

struct SplitImages {
  std::string split;                 // "train", whose examples are private, "public" or "test"
  std::int64_t count = 0;            // above 0
  std::vector<std::uint8_t> pixels;  // [count, channels, height, width]
};

struct DataImages {
  std::int64_t channels = 0, height = 0, width = 0;
  std::vector<SplitImages> splits;  // those that hold examples, in the order above
};

using SplitImageSource = std::function<Result<DataImages>(const DataSpec&)>;

// Of each split at most `most` (at least 1), evenly spread over its examples, which may stand class by class.
// Images in files are decoded and prepared as `data` says; one that is broken is left out where trials,
// too, leave it out. Errors: those of storage::OpenExamples, storage::LocateSplits and storage::PrepareImage;
// damage, when an image has another size than the first.
[[nodiscard]] Result<DataImages> ReadSplitImages(storage::Env& env, const DataSpec& data, std::int64_t most);

}  // namespace retort::orchestrator
