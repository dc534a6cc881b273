// Deflated zeros of any number, made in no time: what a file that is meant to fill the memory holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace retort::testing {

enum class Packing { gzip, zlib, raw };

// A stream of `head` and `mebibytes` MiB of zeros, about 1 KB for each of them. `checksum` becomes that of
// all of it: CRC-32, for zlib Adler-32.
[[nodiscard]] std::string PackedZeros(Packing packing, std::string_view head, std::uint64_t mebibytes,
                                      std::uint32_t& checksum);

// A .npz with an array "a" of u8 [mebibytes, 2^20], deflated; at most 4095 MiB.
[[nodiscard]] std::string NpzOfZeros(std::uint64_t mebibytes);
// A train-images-idx3-ubyte.gz of [mebibytes, 1024, 1024] zeros.
[[nodiscard]] std::string IdxOfZeros(std::uint32_t mebibytes);

}  // namespace retort::testing
