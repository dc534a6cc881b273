#include "storage/crc32.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace retort::storage {

std::uint32_t ExtendCrc32Portable(std::uint32_t crc, std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

#if defined(__x86_64__)
namespace {

#define RETORT_CLMUL __attribute__((target("pclmul,sse4.1")))

RETORT_CLMUL __m128i Load(const char* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }

// x, moved on by the distance that `k` stands for, and `next` added.
RETORT_CLMUL __m128i Fold(__m128i x, __m128i k, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, k, 0x00), high = _mm_clmulepi64_si128(x, k, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// 128 bits to the 32 of their checksum: two folds, then Barrett reduction.
RETORT_CLMUL std::uint32_t Reduce(__m128i x) {
  const __m128i mask = _mm_setr_epi32(-1, 0, -1, 0);
  const __m128i k34 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0), k5 = _mm_set_epi64x(0, 0x0163cd6124);
  const __m128i poly = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, k34, 0x10));
  const __m128i low = _mm_and_si128(x, mask);
  x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(low, k5, 0x00));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(x, mask), poly, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, mask), poly, 0x00);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, quotient), 1));
}

// Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ" (Intel, 2009), reflected form.
// `size` is a multiple of 16 and at least 64; `crc` is the inverted register.
RETORT_CLMUL std::uint32_t Clmul(std::uint32_t crc, const char* data, std::size_t size) {
  const __m128i k12 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4),
                k34 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  __m128i lane[4];
  for (int i = 0; i < 4; ++i) lane[i] = Load(data + 16 * i);
  lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi32_si128(static_cast<int>(crc)));
  for (data += 64, size -= 64; size >= 64; data += 64, size -= 64)
    for (int i = 0; i < 4; ++i) lane[i] = Fold(lane[i], k12, Load(data + 16 * i));
  __m128i x = lane[0];
  for (int i = 1; i < 4; ++i) x = Fold(x, k34, lane[i]);
  for (; size >= 16; data += 16, size -= 16) x = Fold(x, k34, Load(data));
  return Reduce(x);
}

}  // namespace

std::uint32_t ExtendCrc32(std::uint32_t crc, std::string_view bytes) {
  const bool fast = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  if (!fast || bytes.size() < 64) return ExtendCrc32Portable(crc, bytes);
  const std::size_t whole = bytes.size() & ~std::size_t{15};
  return ExtendCrc32Portable(~Clmul(~crc, bytes.data(), whole), bytes.substr(whole));
}
#else
std::uint32_t ExtendCrc32(std::uint32_t crc, std::string_view bytes) {
  return ExtendCrc32Portable(crc, bytes);
}
#endif

}  // namespace retort::storage
