#include "experiments/spec/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace retort {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
    tables[0][i] = crc;
  }
  for (std::size_t i = 0; i < 256; ++i) {
    for (std::size_t t = 1; t < 8; ++t) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 255U];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

std::uint32_t ByteStep(std::uint32_t crc, char byte) {
  return (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(byte)) & 255U];
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t ExtendBySse42(std::uint32_t crc, std::string_view bytes) {
  std::uint64_t state = ~crc;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    state = _mm_crc32_u64(state, word);
    bytes.remove_prefix(8);
  }
  auto narrow = static_cast<std::uint32_t>(state);
  for (const char byte : bytes) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(byte));
  return ~narrow;
}
#endif

}  // namespace

std::uint32_t ExtendCrc32cPortable(std::uint32_t crc, std::string_view bytes) {
  std::uint32_t state = ~crc;
  while (bytes.size() >= 8) {
    std::array<unsigned char, 8> b{};
    std::memcpy(b.data(), bytes.data(), 8);
    const std::uint32_t low =
        state ^ (static_cast<std::uint32_t>(b[0]) | static_cast<std::uint32_t>(b[1]) << 8 |
                 static_cast<std::uint32_t>(b[2]) << 16 | static_cast<std::uint32_t>(b[3]) << 24);
    state = kTables[7][low & 255U] ^ kTables[6][(low >> 8) & 255U] ^ kTables[5][(low >> 16) & 255U] ^
            kTables[4][low >> 24] ^ kTables[3][b[4]] ^ kTables[2][b[5]] ^ kTables[1][b[6]] ^ kTables[0][b[7]];
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes) state = ByteStep(state, byte);
  return ~state;
}

std::uint32_t ExtendCrc32c(std::uint32_t crc, std::string_view bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) return ExtendBySse42(crc, bytes);
#endif
  return ExtendCrc32cPortable(crc, bytes);
}

std::uint32_t Crc32c(std::string_view bytes) { return ExtendCrc32c(0, bytes); }

}  // namespace retort
