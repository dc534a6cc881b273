#include "experiments/base/digests.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "experiments/base/status.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace retort {
namespace {

const unsigned char* Raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

template <std::size_t kSize>
std::string FormatDigest(const std::array<std::uint8_t, kSize>& digest) {
  return FormatHex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace

std::string FormatHex(std::string_view bytes) {
  std::string digits(2 * bytes.size() + 1, '\0');  // libsodium writes a terminator
  sodium_bin2hex(digits.data(), digits.size(), Raw(bytes), bytes.size());
  digits.pop_back();
  return digits;
}

std::optional<std::string> ParseHex(std::string_view digits) {
  std::string bytes(digits.size() / 2, '\0');
  std::size_t size = 0;
  const int outcome = sodium_hex2bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), digits.data(),
                                     digits.size(), nullptr, &size, nullptr);
  // libsodium takes capital letters, too.
  if (outcome != 0 || FormatHex(bytes) != digits) return std::nullopt;
  return bytes;
}

std::string FormatBase64(std::string_view bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), Raw(bytes), bytes.size(), kVariant);
  text.pop_back();
  return text;
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  RETORT_CHECK(state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

// Hashes page by page and prefetches the next page meanwhile: the compression loop reads too little at once for the
// processor to run ahead, which costs a third of the speed where the bytes are in no cache.
void Sha256::Update(std::string_view bytes) {
  constexpr std::size_t kPage = 4096, kLine = 64;
  while (!bytes.empty()) {
    const std::string_view page = bytes.substr(0, kPage);
    bytes.remove_prefix(page.size());
    for (std::size_t at = 0; at < std::min(bytes.size(), kPage); at += kLine) __builtin_prefetch(&bytes[at]);
    RETORT_CHECK(EVP_DigestUpdate(state_->context, page.data(), page.size()) == 1);
  }
}

void Sha256::UpdateLength(std::uint64_t length) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((length >> (8 * i)) & 255U);
  Update(bytes);
}

std::string Sha256::FinishHex() {
  std::array<std::uint8_t, 32> digest{};
  RETORT_CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1);
  return FormatDigest(digest);
}

std::array<std::uint8_t, 32> ComputeSha256(std::string_view bytes) {
  std::array<std::uint8_t, 32> digest{};
  RETORT_CHECK(SHA256(Raw(bytes), bytes.size(), digest.data()) != nullptr);
  return digest;
}

std::string ComputeSha256Hex(std::string_view bytes) { return FormatDigest(ComputeSha256(bytes)); }

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
    const std::uint32_t low = state ^ (static_cast<std::uint32_t>(b[0]) | static_cast<std::uint32_t>(b[1]) << 8 |
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

std::uint32_t ComputeCrc32c(std::string_view bytes) { return ExtendCrc32c(0, bytes); }

}  // namespace retort
