// How many connections the metrics port holds and for how long, and the guard that enforces it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
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
  int max_per_peer = 4;                     // at once, >= 1
  std::chrono::seconds idle{5};             // without a byte
  std::chrono::milliseconds whole{15'000};  // from the connection to the last byte of the answer
  // Tells the user of this host at the other end of a connected socket. Empty: all users of an address are one peer.
  std::function<std::optional<uid_t>(int socket)> user_of{};
};

// Decides which connections to close. A new connection is always accepted, and the oldest is closed for it: the oldest
// of the same peer if that peer has too many, else the oldest of all. So connections that are held open keep nobody
// out, and a flood ends only the connections of its own user. Not thread-safe.
class OpenConnections {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit OpenConnections(const ConnectionLimits& limits);

  // Adds `socket`, open from `now` on. Returns the sockets that have to be closed for it; they count no more.
  [[nodiscard]] std::vector<int> Began(int socket, const Peer& peer, Time now);
  void Ended(int socket);
  // Returns the sockets whose time is over; they count no more.
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

// Ends connections that exceed the limits by shutdown(2); the server, which owns the sockets, sees their end and closes
// them. A thread of its own waits for those whose time is over. Thread-safe.
class ConnectionGuard {
 public:
  explicit ConnectionGuard(const ConnectionLimits& limits);
  ~ConnectionGuard();
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

  // Whether the server may accept a new connection. If so, the server must call Began for it next.
  [[nodiscard]] bool MayBegin();
  void Began(int socket);
  // REQUIRES: called before the server closes the socket, since its number may be reused at once.
  void Ended(int socket);
  // Refuses new connections, ends all open ones, and waits until the server has closed them, for `patience` at most.
  void EndAll(std::chrono::milliseconds patience);

 private:
  void Watch();

  std::function<std::optional<uid_t>(int)> user_of_;
  std::mutex mutex_;
  std::condition_variable changed_, closed_;
  OpenConnections open_;
  std::set<int> held_;  // by the server, broken off or not
  int coming_ = 0;      // which may begin, and have not
  bool none_more_ = false, over_ = false;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace retort::monitoring
