// Data sets of encoded images as examples: decoded once a host, and then mapped.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "storage/datasets/data_inspection.h"
#include "storage/files/env.h"
#include "storage/images/image_cache.h"
#include "worker/data/examples.h"
#include "worker/data/split_overlap.h"

namespace retort::worker {

struct EncodedSplits {
  ImageShape shape;
  Examples train, public_split, test, validation;  // on the CPU
  // Broken images of the splits, which with on_error "skip-and-count" are in none of them. The
  // numbers of the others do not move: which place of the split an example has follows from its number in the
  // set. So the neighbours that a claim compares are sets of readable images, and which images are broken
  // is not hidden.
  std::vector<storage::SkippedImage> skipped;
  std::int64_t skipped_train = 0, skipped_public = 0, skipped_test = 0, skipped_validation = 0;
  bool shared = false;  // an image of the private split, as prepared, is in another one, too
};

// The images of `rows` of `store`, an encoded set, prepared as `data` says, normalised by
// FindPixelScale(data). `threads` decode, at least 1. Errors: of storage::OpenDecoded; usage for a
// preprocessing that does not hold together or a number of channels other than 1 and 3.
[[nodiscard]] Result<EncodedSplits> LoadEncodedSplits(storage::Env& env, const DataSpec& data,
                                                      std::shared_ptr<const storage::ExampleStore> store,
                                                      const SplitRows& rows, const storage::ImageCache& cache,
                                                      int threads, const storage::DecodingProgress& progress);

}  // namespace retort::worker
