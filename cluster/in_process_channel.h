// Channel without MPI: ranks are queues in one process. What `retort run` uses when it is alone, and
// the twin of the MPI channel in tests.
#pragma once

#include <memory>

#include "cluster/channel.h"

namespace retort::cluster {

// The meeting point of `size` ranks. Envelopes cross it encoded, so what works here works over MPI.
// The hub is thread-safe; each channel belongs to one thread.
class InProcessHub {
 public:
  explicit InProcessHub(int size);  // size >= 1
  ~InProcessHub();
  InProcessHub(const InProcessHub&) = delete;
  InProcessHub& operator=(const InProcessHub&) = delete;

  // The end that belongs to `rank` in [0, size). It may outlive the hub.
  [[nodiscard]] std::unique_ptr<Channel> Open(WorldRank rank);
  // Puts raw bytes into the queue of `to` as if `from` had sent them. For tests of malformed frames.
  void Inject(WorldRank from, WorldRank to, std::string bytes);

 private:
  struct Queues;
  std::shared_ptr<Queues> queues_;
};

}  // namespace retort::cluster
