#include "cluster/envelope.h"

#include <concepts>
#include <cstring>
#include <string>

#include "experiments/base/digests.h"

namespace retort::cluster {
namespace {

// length u32 (of the whole frame), version u16, type u16, trial u64, attempt u32, generation u64,
// sequence u64
constexpr std::size_t kHeaderBytes = 4 + 2 + 2 + 8 + 4 + 8 + 8;
constexpr std::size_t kCrcBytes = 4;

template <std::unsigned_integral T>
void Put(std::string& bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
}

// Reads at the front of `bytes`, which is long enough, and drops what it read.
template <std::unsigned_integral T>
T Take(std::string_view& bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(T{static_cast<unsigned char>(bytes[i])} << (8 * i)));
  }
  bytes.remove_prefix(sizeof(T));
  return value;
}

Status FieldError(std::string_view field, const std::string& what) {
  return Refused("Malformed envelope, field " + std::string(field) + ": " + what + ".");
}

}  // namespace

std::string Encode(const Envelope& envelope) {
  const std::string payload = EncodePayload(envelope.message);
  const std::size_t total = kHeaderBytes + payload.size() + kCrcBytes;
  std::string bytes;
  bytes.reserve(total);
  Put(bytes, static_cast<std::uint32_t>(total));
  Put(bytes, kEnvelopeVersion);
  Put(bytes, static_cast<std::uint16_t>(FindMessageType(envelope.message)));
  Put(bytes, envelope.attempt.trial.bits());
  Put(bytes, envelope.attempt.number);
  Put(bytes, envelope.generation.value);
  Put(bytes, envelope.sequence);
  bytes += payload;
  Put(bytes, Crc32c(bytes));
  return bytes;
}

Result<std::size_t> EnvelopeLength(std::string_view first_bytes) {
  if (first_bytes.size() < sizeof(std::uint32_t)) {
    return FieldError("length", "only " + std::to_string(first_bytes.size()) + " bytes of it arrived");
  }
  const std::size_t length = Take<std::uint32_t>(first_bytes);
  if (length < kHeaderBytes + kCrcBytes || length > kMaxEnvelopeBytes) {
    return FieldError("length", std::to_string(length) + " is outside " + std::to_string(kHeaderBytes + kCrcBytes) +
                                    " to " + std::to_string(kMaxEnvelopeBytes) + " bytes");
  }
  return length;
}

Result<Envelope> Decode(std::string_view bytes) {
  RETORT_ASSIGN_OR_RETURN(const std::size_t length, EnvelopeLength(bytes));
  if (length != bytes.size()) {
    return FieldError("length",
                      "it says " + std::to_string(length) + " bytes, the frame has " + std::to_string(bytes.size()));
  }
  std::string_view rest = bytes.substr(sizeof(std::uint32_t));
  const auto version = Take<std::uint16_t>(rest);
  if (version != kEnvelopeVersion) {
    return FieldError("version", std::to_string(version) + " instead of " + std::to_string(kEnvelopeVersion) +
                                     "; both programs must come from one build");
  }
  std::string_view tail = bytes.substr(length - kCrcBytes);
  if (Take<std::uint32_t>(tail) != Crc32c(bytes.substr(0, length - kCrcBytes))) {
    return FieldError("crc", "the bytes are not those that were sent");
  }
  const auto type = static_cast<MessageType>(Take<std::uint16_t>(rest));
  Envelope envelope;
  envelope.attempt.trial = TrialId(Take<std::uint64_t>(rest));
  envelope.attempt.number = Take<std::uint32_t>(rest);
  envelope.generation.value = Take<std::uint64_t>(rest);
  envelope.sequence = Take<std::uint64_t>(rest);
  rest.remove_suffix(kCrcBytes);
  RETORT_ASSIGN_OR_RETURN(envelope.message, DecodePayload(type, rest));
  return envelope;
}

}  // namespace retort::cluster
