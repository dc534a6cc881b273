// A data set in memory, with what its splits have to do with each other.
#pragma once

#include "worker/data/dataset.h"

namespace retort::worker {

struct CheckedDataset {
  Dataset data;
  bool shared = false;  // a picture of the private split is in the public or the test split, too
};

// As LoadDataset.
[[nodiscard]] Result<CheckedDataset> LoadChecked(storage::Env& env, const DataSpec& spec, int threads = 2,
                                                 const LoadProgress& progress = {});

}  // namespace retort::worker
