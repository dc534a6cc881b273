// One ChaCha20 block (RFC 8439, section 2.3) in plain integer arithmetic, for device code; the CPU
// takes the same keystream from libsodium.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define RETORT_HOST_DEVICE __host__ __device__
#else
#define RETORT_HOST_DEVICE
#endif

namespace retort::worker::noise {

RETORT_HOST_DEVICE inline void QuarterRound(std::uint32_t* x, int a, int b, int c, int d) {
  x[a] += x[b];
  x[d] ^= x[a];
  x[d] = (x[d] << 16) | (x[d] >> 16);
  x[c] += x[d];
  x[b] ^= x[c];
  x[b] = (x[b] << 12) | (x[b] >> 20);
  x[a] += x[b];
  x[d] ^= x[a];
  x[d] = (x[d] << 8) | (x[d] >> 24);
  x[c] += x[d];
  x[b] ^= x[c];
  x[b] = (x[b] << 7) | (x[b] >> 25);
}

// key: 8 words, nonce: 3 words, both little endian as loaded from bytes. out: 16 words of keystream.
RETORT_HOST_DEVICE inline void ChaChaBlock(const std::uint32_t* key, std::uint32_t counter, const std::uint32_t* nonce,
                                           std::uint32_t* out) {
  std::uint32_t start[16] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u};
  for (int i = 0; i < 8; ++i) start[4 + i] = key[i];
  start[12] = counter;
  for (int i = 0; i < 3; ++i) start[13 + i] = nonce[i];
  for (int i = 0; i < 16; ++i) out[i] = start[i];
  for (int round = 0; round < 10; ++round) {
    QuarterRound(out, 0, 4, 8, 12);
    QuarterRound(out, 1, 5, 9, 13);
    QuarterRound(out, 2, 6, 10, 14);
    QuarterRound(out, 3, 7, 11, 15);
    QuarterRound(out, 0, 5, 10, 15);
    QuarterRound(out, 1, 6, 11, 12);
    QuarterRound(out, 2, 7, 8, 13);
    QuarterRound(out, 3, 4, 9, 14);
  }
  for (int i = 0; i < 16; ++i) out[i] += start[i];
}

}  // namespace retort::worker::noise
