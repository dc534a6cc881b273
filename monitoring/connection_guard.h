// Holds the connections of a server to their limits.
#pragma once

#include <condition_variable>
#include <mutex>
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

  void Began(int socket);
  // Before the server closes it: the number may be another file's a moment later.
  void Ended(int socket);

 private:
  void Watch();

  std::function<std::optional<uid_t>(int)> user_of_;
  std::mutex mutex_;
  std::condition_variable changed_;
  OpenConnections open_;
  bool over_ = false;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace retort::monitoring
