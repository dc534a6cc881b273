// How large packed bytes may become. Real pictures, labels and weights unpack to ten times their size at
// most; bytes that claim hundreds of times are made to fill the memory.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/spec/status.h"

namespace retort::storage {

// The most that `stored` packed bytes are unpacked to: 200 times as many, and 64 MiB.
[[nodiscard]] std::uint64_t MostUnpacked(std::uint64_t stored);

// Whether deflated bytes may be taken for as many as they say. `where` names the file and its part. Error:
// damage, when no deflated bytes of that number hold so many (1032 for each); refused, beyond MostUnpacked.
// Both name the sizes.
[[nodiscard]] Status CheckUnpackedSize(const std::string& where, std::uint64_t declared,
                                       std::uint64_t stored);

}  // namespace retort::storage
