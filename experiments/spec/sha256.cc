#include "experiments/spec/sha256.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <span>

#include "experiments/spec/spec_codec.h"
#include "experiments/spec/status.h"

namespace retort {
namespace {

std::string HexOf(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15U];
  }
  return hex;
}

const unsigned char* Raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

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

// Page by page, the next one on its way from memory meanwhile: the compression loop reads too little at once
// for the processor to run ahead, which costs a third of the speed where the bytes are in no cache.
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
  return HexOf(digest);
}

std::array<std::uint8_t, 32> Sha256Of(std::string_view bytes) {
  std::array<std::uint8_t, 32> digest{};
  RETORT_CHECK(SHA256(Raw(bytes), bytes.size(), digest.data()) != nullptr);
  return digest;
}

std::string Sha256Hex(std::string_view bytes) { return HexOf(Sha256Of(bytes)); }

}  // namespace retort
