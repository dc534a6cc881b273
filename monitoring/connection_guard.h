// Holds the connections of a server to their limits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "monitoring/connection_limits.h"

namespace retort::monitoring {

// Breaks off what has to go by shutdown(2): the server, whose sockets they are, sees their end and closes them. A thread of
// its own waits for those whose time is over. Thread-safe.
class ConnectionGuard {
 public:
  explicit ConnectionGuard(const ConnectionLimits& limits);
  ~ConnectionGuard();
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

  // Whether the server may take a connection that has come. One that may has to have Begun next.
  [[nodiscard]] bool MayBegin();
  void Began(int socket);
  // Before the server closes it: the number may be another file's a moment later.
  void Ended(int socket);
  // Lets none begin any more, breaks off all, and waits until the server has closed them, for `patience` at most.
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
