#include "monitoring/connections.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace retort::monitoring {

OpenConnections::OpenConnections(const ConnectionLimits& limits)
    : connections_(static_cast<std::size_t>(limits.connections)),
      of_one_peer_(static_cast<std::size_t>(limits.max_per_peer)),
      whole_(limits.whole) {}

void OpenConnections::EraseAt(std::size_t index, std::vector<int>& closed) {
  closed.push_back(open_[index].socket);
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
}

// One place is left free, so that the server never has to leave who comes next in the kernel's queue.
std::vector<int> OpenConnections::Began(int socket, const Peer& peer, Time now) {
  open_.push_back({socket, peer, now + whole_});
  const auto is_of_peer = [&peer](const Connection& one) { return one.peer == peer; };
  std::vector<int> closed;
  if (static_cast<std::size_t>(std::ranges::count_if(open_, is_of_peer)) > of_one_peer_)
    EraseAt(static_cast<std::size_t>(std::ranges::find_if(open_, is_of_peer) - open_.begin()), closed);
  if (open_.size() >= connections_) EraseAt(0, closed);
  return closed;
}

void OpenConnections::Ended(int socket) {
  std::erase_if(open_, [socket](const Connection& one) { return one.socket == socket; });
}

std::vector<int> OpenConnections::Overdue(Time now) {
  std::vector<int> closed;
  while (!open_.empty() && open_.front().due <= now) EraseAt(0, closed);
  return closed;
}

std::optional<OpenConnections::Time> OpenConnections::NextDue() const {
  return open_.empty() ? std::nullopt : std::optional(open_.front().due);
}

namespace {

using Clock = std::chrono::steady_clock;

void ShutDown(const std::vector<int>& sockets) {
  for (const int socket : sockets) ::shutdown(socket, SHUT_RDWR);
}

// Of IPv6 the network, since one host may use as many addresses of it as it likes.
std::uint32_t HashNetwork(const in6_addr& address) {
  std::uint32_t words[4] = {};
  std::memcpy(words, &address, sizeof(words));
  return IN6_IS_ADDR_V4MAPPED(&address) ? words[3] : (words[0] * 0x9E3779B1U) ^ words[1];
}

// In network order; 0 where it is not known.
std::uint32_t ReadPeerAddress(int socket) {
  sockaddr_storage far{};
  socklen_t size = sizeof(far);
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&far), &size) != 0) return 0;
  if (far.ss_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(far).sin_addr.s_addr;
  return far.ss_family == AF_INET6 ? HashNetwork(reinterpret_cast<const sockaddr_in6&>(far).sin6_addr) : 0;
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
  const Peer peer{ReadPeerAddress(socket), user_of_ ? user_of_(socket) : std::nullopt};
  const std::lock_guard lock(mutex_);
  --coming_;
  held_.insert(socket);
  if (none_more_) ShutDown({socket});
  const bool first = !open_.NextDue();
  ShutDown(open_.Began(socket, peer, Clock::now()));
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
  ShutDown({held_.begin(), held_.end()});
  closed_.wait_for(lock, patience, [this] { return held_.empty() && coming_ == 0; });
}

void ConnectionGuard::Watch() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    ShutDown(open_.Overdue(Clock::now()));
    if (const auto due = open_.NextDue())
      changed_.wait_until(lock, *due);
    else
      changed_.wait(lock);
  }
}

}  // namespace retort::monitoring
