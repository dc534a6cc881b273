// Typed, ordered, addressed messages between ranks. Implementations: in process, MPI.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/envelope.h"
#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"

namespace retort::cluster {

// One end of the conversation between world rank 0 (orchestrator) and the agents. Messages from one
// sender to one receiver arrive in order. Not thread-safe: one thread owns a channel.
class Channel {
 public:
  virtual ~Channel() = default;
  [[nodiscard]] virtual WorldRank rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  // Queues the message; never blocks on the receiver. Error: refused for a rank that does not exist or a
  // frame larger than kMaxEnvelopeBytes; environment when the transport fails.
  [[nodiscard]] virtual Status Send(WorldRank to, const Envelope& envelope) = 0;
  // The next message that has arrived, or nothing. Does not block. A frame that does not decode is an
  // error once, and is dropped.
  [[nodiscard]] virtual Result<std::optional<std::pair<WorldRank, Envelope>>> Receive() = 0;
};

// What every implementation does alike. Error: refused, naming the rank, the size or the field.
[[nodiscard]] Status CheckReceiver(const Channel& channel, WorldRank to);
[[nodiscard]] Result<std::string> EncodeChecked(const Envelope& envelope);
[[nodiscard]] Result<Envelope> DecodeFrom(WorldRank from, std::string_view bytes);

}  // namespace retort::cluster
