// Typed, ordered, addressed messages between ranks, and the channel inside one process. mpi_world.h has the one over
// MPI.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/messages.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"

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
  // Returns the next message that has arrived, or nothing. Does not block. A frame that does not decode is an
  // error once, and is dropped.
  [[nodiscard]] virtual Result<std::optional<std::pair<WorldRank, Envelope>>> Receive() = 0;
};

// Steps that all implementations share. Error: refused, naming the rank, the size or the field.
[[nodiscard]] Status CheckReceiver(const Channel& channel, WorldRank to);
[[nodiscard]] Result<std::string> EncodeChecked(const Envelope& envelope);
[[nodiscard]] Result<Envelope> DecodeFrom(WorldRank from, std::string_view bytes);

// A channel without MPI, whose ranks are queues in one process: what `retort run` uses when it is alone, and the twin
// of the MPI channel in tests. The hub is the meeting point of `size` ranks. Envelopes cross it encoded, so what works
// here works over MPI. The hub is thread-safe; each channel belongs to one thread.
class InProcessHub {
 public:
  explicit InProcessHub(int size);  // size >= 1
  ~InProcessHub();
  InProcessHub(const InProcessHub&) = delete;
  InProcessHub& operator=(const InProcessHub&) = delete;

  // Returns the end that belongs to `rank` in [0, size). It may outlive the hub.
  [[nodiscard]] std::unique_ptr<Channel> Open(WorldRank rank);
  // Puts raw bytes into the queue of `to` as if `from` had sent them. For tests of malformed frames.
  void Inject(WorldRank from, WorldRank to, std::string bytes);

 private:
  struct Queues;
  std::shared_ptr<Queues> queues_;
};

}  // namespace retort::cluster
