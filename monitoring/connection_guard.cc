#include "monitoring/connection_guard.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace retort::monitoring {
namespace {

using Clock = std::chrono::steady_clock;

void BreakOff(const std::vector<int>& sockets) {
  for (const int socket : sockets) ::shutdown(socket, SHUT_RDWR);
}

// Of IPv6 the network, a host of which has as many addresses as it likes.
std::uint32_t NetworkOf(const in6_addr& address) {
  std::uint32_t words[4] = {};
  std::memcpy(words, &address, sizeof(words));
  return IN6_IS_ADDR_V4MAPPED(&address) ? words[3] : (words[0] * 0x9E3779B1U) ^ words[1];
}

// In network order; 0 where it is not known.
std::uint32_t AddressOf(int socket) {
  sockaddr_storage far{};
  socklen_t size = sizeof(far);
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&far), &size) != 0) return 0;
  if (far.ss_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(far).sin_addr.s_addr;
  return far.ss_family == AF_INET6 ? NetworkOf(reinterpret_cast<const sockaddr_in6&>(far).sin6_addr) : 0;
}

}  // namespace

ConnectionGuard::ConnectionGuard(const ConnectionLimits& limits)
    : user_of_(limits.user_of), open_(limits), thread_([this] { Watch(); }) {}

ConnectionGuard::~ConnectionGuard() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

bool ConnectionGuard::MayBegin() {
  const std::lock_guard lock(mutex_);
  if (!none_more_) ++coming_;
  return !none_more_;
}

void ConnectionGuard::Began(int socket) {
  const Peer peer{AddressOf(socket), user_of_ ? user_of_(socket) : std::nullopt};
  const std::lock_guard lock(mutex_);
  --coming_;
  held_.insert(socket);
  if (none_more_) BreakOff({socket});
  const bool first = !open_.NextDue();
  BreakOff(open_.Began(socket, peer, Clock::now()));
  if (first) changed_.notify_one();
}

void ConnectionGuard::Ended(int socket) {
  const std::lock_guard lock(mutex_);
  open_.Ended(socket);
  held_.erase(socket);
  closed_.notify_all();
}

void ConnectionGuard::EndAll(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  none_more_ = true;
  BreakOff({held_.begin(), held_.end()});
  closed_.wait_for(lock, patience, [this] { return held_.empty() && coming_ == 0; });
}

void ConnectionGuard::Watch() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    BreakOff(open_.Overdue(Clock::now()));
    if (const auto due = open_.NextDue())
      changed_.wait_until(lock, *due);
    else
      changed_.wait(lock);
  }
}

}  // namespace retort::monitoring
