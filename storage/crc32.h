// CRC-32 of ISO 3309 (reflected polynomial 0xEDB88320), as zip and PNG files have it.
#pragma once

#include <cstdint>
#include <string_view>

namespace retort::storage {

// Checksum of A followed by B, where `crc` is that of A (0 = nothing) and `bytes` is B. Carry-less
// multiplication is used where the processor has it: then it costs less than reading the bytes.
[[nodiscard]] std::uint32_t ExtendCrc32(std::uint32_t crc, std::string_view bytes);
// The same by zlib, for every processor.
[[nodiscard]] std::uint32_t ExtendCrc32Portable(std::uint32_t crc, std::string_view bytes);

}  // namespace retort::storage
