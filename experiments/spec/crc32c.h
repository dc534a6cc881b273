// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, RFC 3720): the checksum of records and envelopes.
#pragma once

#include <cstdint>
#include <string_view>

namespace retort {

// Checksum of `bytes`; of nothing it is 0. The SSE4.2 instruction is used where the processor has it.
[[nodiscard]] std::uint32_t Crc32c(std::string_view bytes);
// Checksum of A followed by B, where `crc` is that of A and `bytes` is B.
[[nodiscard]] std::uint32_t ExtendCrc32c(std::uint32_t crc, std::string_view bytes);
// The same by tables alone, for every processor.
[[nodiscard]] std::uint32_t ExtendCrc32cPortable(std::uint32_t crc, std::string_view bytes);

}  // namespace retort
