// One end of the SOCK_SEQPACKET socketpair between an agent and its worker. Agent and worker use the
// same class.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "cluster/messages.h"
#include "experiments/base/status.h"

namespace retort::cluster {

// The descriptor on which a worker finds its agent.
inline constexpr int kWorkerSocket = 3;

enum class SendMode {
  blocking,  // Send returns once the kernel holds the frame: for the worker
  queued,    // Send never waits for the peer; what does not fit is kept and flushed by later calls: for the
             // agent
};

// Owns the descriptor. Frames keep their order. A frame larger than one packet is split over several
// and put together again here. Not thread-safe.
class SocketLink {
 public:
  // Bytes kept for a peer that does not read before Send refuses.
  static constexpr std::size_t kMaxQueuedBytes = 4 * kMaxEnvelopeBytes;

  SocketLink() = default;                                           // closed
  explicit SocketLink(int fd, SendMode mode = SendMode::blocking);  // takes over `fd`; negative = closed
  SocketLink(SocketLink&& other) noexcept;
  SocketLink& operator=(SocketLink&& other) noexcept;
  ~SocketLink();

  // Error: cancelled when the peer is gone; refused when the encoded frame exceeds kMaxEnvelopeBytes or
  // the queue is full; environment for any other failure of the socket.
  [[nodiscard]] Status Send(const Envelope& envelope);
  // Waits until everything queued has left, at most `wait`. Error: cancelled when the peer is gone or
  // `wait` has passed.
  [[nodiscard]] Status Flush(std::chrono::milliseconds wait);
  // Returns the next whole frame, or nothing when none came within `wait` (0: only what is there). Also flushes
  // the queue. Error: cancelled when the peer closed; refused, naming the field, for a frame that does
  // not decode (the frame is dropped; what follows it can be received).
  [[nodiscard]] Result<std::optional<Envelope>> Receive(std::chrono::milliseconds wait);

  [[nodiscard]] bool open() const { return fd_ >= 0; }
  [[nodiscard]] bool has_queued() const { return !queue_.empty(); }
  [[nodiscard]] int fd() const { return fd_; }  // for poll; -1 when closed
  void Close();

 private:
  enum class Read { packet, nothing, closed, failed };
  [[nodiscard]] Status WriteQueue();
  [[nodiscard]] Read ReadPacket(std::string& packet, int& error);
  [[nodiscard]] Result<std::optional<Envelope>> Assemble(std::string packet);

  int fd_ = -1;
  SendMode mode_ = SendMode::blocking;
  std::deque<std::string> queue_;  // packets not yet written
  std::size_t queued_bytes_ = 0;
  std::string partial_;  // packets of the frame being received
};

// A connected pair, both ends close-on-exec; `first` is for the agent (queued), `second` for the worker.
struct SocketPair {
  int first = -1;
  int second = -1;
};
[[nodiscard]] Result<SocketPair> MakeSocketPair();

}  // namespace retort::cluster
