// Digests of bytes, SHA-256 for identities and CRC-32C for records, and bytes as text.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace retort {

// Returns two lower-case hex digits for each byte.
[[nodiscard]] std::string FormatHex(std::string_view bytes);
// Returns the bytes that FormatHex made the digits of; nothing for any other text.
[[nodiscard]] std::optional<std::string> ParseHex(std::string_view digits);
// Returns the bytes in Base64 (RFC 4648, section 4), padded.
[[nodiscard]] std::string FormatBase64(std::string_view bytes);

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::string_view bytes);
  // Adds 8 bytes, little endian, which frame what follows.
  void UpdateLength(std::uint64_t length);
  // Returns 64 hex digits. REQUIRES: no Update after it.
  [[nodiscard]] std::string FinishHex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::array<std::uint8_t, 32> ComputeSha256(std::string_view bytes);
// The same as 64 hex digits.
[[nodiscard]] std::string ComputeSha256Hex(std::string_view bytes);

// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, RFC 3720): the checksum of records and envelopes.

// Returns the checksum of `bytes`, 0 for none. Uses the SSE4.2 instruction where the processor has it.
[[nodiscard]] std::uint32_t ComputeCrc32c(std::string_view bytes);
// Returns the checksum of A followed by B, where `crc` is the checksum of A and `bytes` is B.
[[nodiscard]] std::uint32_t ExtendCrc32c(std::uint32_t crc, std::string_view bytes);
// The same by tables, on every processor.
[[nodiscard]] std::uint32_t ExtendCrc32cPortable(std::uint32_t crc, std::string_view bytes);

}  // namespace retort
