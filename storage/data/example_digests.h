// What tells the examples of a data set apart, whatever files they lie in.
#pragma once

#include <functional>
#include <vector>

#include "experiments/spec/trial_spec.h"
#include "storage/data/example_store.h"
#include "storage/env.h"
#include "storage/example_mark.h"

namespace retort::storage {

// In no order that means anything.
struct SplitDigests {
  std::vector<ExampleDigest> hidden;  // of the private examples
  std::vector<ExampleDigest> shown;   // of the public and the test ones
};

struct DigestOptions {
  DigestCache cache;         // keeps those of encoded sets, whose pictures are decoded for them
  int threads = 1;           // at least 1
  bool may_decode = true;    // false: encoded sets that the cache does not know are an error: cancelled
  DigestProgress progress;   // of encoded sets that are decoded
};

// Of a set that was inspected. Whole pictures are taken as they are stored: no orientation, cut or size of the data
// table changes them. A file that is no picture counts by its bytes. Errors: of OpenExamples, PlacesOf and
// CheckUnchanged; what `progress` says.
[[nodiscard]] Result<SplitDigests> DigestsOfSplits(Env& env, const DataSpec& data, const DigestOptions& options);

}  // namespace retort::storage
