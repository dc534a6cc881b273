// How many connections the metrics port holds, and for how long.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace retort::monitoring {

// Who is at the other end. All users of a host share its addresses, so there the user counts as well.
struct Peer {
  std::uint32_t address = 0;  // IPv4 in network order, or what stands for a network of IPv6
  std::optional<uid_t> user;  // nothing where it is not known
  auto operator<=>(const Peer&) const = default;
};

struct ConnectionLimits {
  int connections = 64;                     // at once, >= 2
  int of_one_peer = 4;                      // at once, >= 1
  std::chrono::seconds idle{5};             // without a byte
  std::chrono::milliseconds whole{15'000};  // from the connection to the last byte of the answer
  // Tells the user of this host at the other end of a connected socket. Empty: all users of an address are one peer.
  std::function<std::optional<uid_t>(int socket)> user_of{};
};

// Which connections have to go. Whoever comes is let in, and the oldest goes: of the same peer where that has too many, else
// of all. So a stranger who holds connections open keeps nobody out, and one that floods ends those of its own user alone.
// Not thread-safe.
class OpenConnections {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit OpenConnections(const ConnectionLimits& limits);

  // `socket` is open from `now` on. The sockets that have to be closed for it; they count no more.
  [[nodiscard]] std::vector<int> Began(int socket, const Peer& peer, Time now);
  void Ended(int socket);
  // The sockets whose time is over; they count no more.
  [[nodiscard]] std::vector<int> Overdue(Time now);
  // When the next one's time is over.
  [[nodiscard]] std::optional<Time> NextDue() const;

 private:
  struct Connection {
    int socket;
    Peer peer;
    Time due;
  };
  void EraseAt(std::size_t index, std::vector<int>& closed);

  std::size_t connections_, of_one_peer_;
  std::chrono::milliseconds whole_;
  std::vector<Connection> open_;  // oldest first
};

}  // namespace retort::monitoring
