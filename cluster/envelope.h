// The one frame that everything travels in: over the worker's socketpair, over MPI, in process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/messages.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"

namespace retort::cluster {

inline constexpr std::uint16_t kEnvelopeVersion = 1;
inline constexpr std::size_t kMaxEnvelopeBytes = std::size_t{4} << 20;

// `attempt` and `generation` are zero in messages that belong to no attempt (Hello, Register, ...).
struct Envelope {
  AttemptId attempt;
  Generation generation;
  std::uint64_t sequence = 0;
  Message message;
};

// length, version, type, attempt, generation, sequence, payload, CRC-32C; little endian.
[[nodiscard]] std::string Encode(const Envelope& envelope);
// Error: refused, naming the field that is wrong (length, version, type, crc, or a payload field).
[[nodiscard]] Result<Envelope> Decode(std::string_view bytes);
// Returns the length of the whole frame that begins with `first_bytes` (at least four), for a reader that gets
// it in pieces. Error: refused, field length, when no frame is that short or that long.
[[nodiscard]] Result<std::size_t> EnvelopeLength(std::string_view first_bytes);

}  // namespace retort::cluster
