// What tells examples apart, whatever file they lie in and whatever their data set is called: the picture alone.
// A picture with another label is still of the same person, so labels are no part of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "experiments/spec/status.h"

namespace retort::storage {

// BLAKE2b-256. Tells whoever has the picture that it is this one.
using ExampleDigest = std::array<std::uint8_t, 32>;
// BLAKE2b-128 of such a digest under a secret key. Tells nothing without the key.
using ExampleMark = std::array<std::uint8_t, 16>;

// Of planes u8 [channels, height, width] as they are decoded, before anything is done to them. Planes that are all
// equal count as one: a grey picture that a file stores in colour is the same picture.
[[nodiscard]] ExampleDigest DigestOfPicture(std::int64_t channels, std::int64_t height, std::int64_t width,
                                            const std::uint8_t* planes);
// Of a file that is no picture.
[[nodiscard]] ExampleDigest DigestOfBroken(std::string_view bytes);

// The secret of one results root.
class MarkKey {
 public:
  // From the operating system.
  [[nodiscard]] static MarkKey Draw();
  // The bytes of its file, 0600. Error: damage, naming `path`.
  [[nodiscard]] static Result<MarkKey> Parse(std::string_view bytes, const std::string& path);
  [[nodiscard]] std::string Bytes() const;

  [[nodiscard]] ExampleMark MarkOf(const ExampleDigest& digest) const;
  // 32 hex digits that tell one key from another, and nothing else of it.
  [[nodiscard]] std::string Name() const;

 private:
  MarkKey() = default;
  std::array<std::uint8_t, 32> key_{};
};

}  // namespace retort::storage
