#include "monitoring/connection_limits.h"

#include <algorithm>

namespace retort::monitoring {

OpenConnections::OpenConnections(const ConnectionLimits& limits)
    : connections_(static_cast<std::size_t>(limits.connections)),
      of_one_peer_(static_cast<std::size_t>(limits.of_one_peer)),
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

}  // namespace retort::monitoring
