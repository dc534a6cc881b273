// Digests that identify examples by their image alone, whatever file and data set they are in, and the marks that are
// made of them. An image with another label is still of the same person, so labels are not part of a digest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/datasets/data_inspection.h"
#include "storage/files/env.h"

namespace retort::storage {

// BLAKE2b-256. Identifies the image to anybody who has it.
using ExampleDigest = std::array<std::uint8_t, 32>;
// BLAKE2b-128 of such a digest under a secret key. Reveals nothing without the key.
using ExampleMark = std::array<std::uint8_t, 16>;

// Digest of planes u8 [channels, height, width] as they are decoded, before any processing. Planes that are all equal
// count as one: a grey image that a file stores in colour is the same image.
[[nodiscard]] ExampleDigest ComputeImageDigest(std::int64_t channels, std::int64_t height, std::int64_t width,
                                               const std::uint8_t* planes);
// Digest of a file that cannot be decoded.
[[nodiscard]] ExampleDigest ComputeUndecodableDigest(std::string_view bytes);

// The secret key of one results root.
class MarkKey {
 public:
  // From the operating system.
  [[nodiscard]] static MarkKey Draw();
  // The bytes of its file, 0600. Error: damage, naming `path`.
  [[nodiscard]] static Result<MarkKey> Parse(std::string_view bytes, const std::string& path);
  [[nodiscard]] std::string Bytes() const;

  [[nodiscard]] ExampleMark ComputeMark(const ExampleDigest& digest) const;
  // 32 hex digits that identify the key and reveal nothing else of it.
  [[nodiscard]] std::string Name() const;

 private:
  MarkKey() = default;
  std::array<std::uint8_t, 32> key_{};
};

// In no order that means anything.
struct SplitDigests {
  std::vector<ExampleDigest> hidden;  // of the private examples
  std::vector<ExampleDigest> shown;   // of the public and the test ones
};

struct DigestOptions {
  DigestCache cache;        // keeps those of encoded sets, whose images are decoded for them
  int threads = 1;          // at least 1
  bool may_decode = true;   // false: encoded sets that the cache does not know are an error: cancelled
  DigestProgress progress;  // of encoded sets that are decoded
};

// Of a set that was inspected. Whole images are taken as they are stored: no orientation, cut or size of the data
// table changes them. A file that is no image counts by its bytes. Errors: of OpenExamples, LocateSplits and
// CheckUnchanged; what `progress` says.
[[nodiscard]] Result<SplitDigests> ComputeSplitDigests(Env& env, const DataSpec& data, const DigestOptions& options);

}  // namespace retort::storage
