#include "cluster/socket_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "cluster/channel.h"

namespace retort::cluster {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Well under the kernel's default socket buffer, so that several packets are in flight.
constexpr std::size_t kPacketBytes = std::size_t{32} << 10;

std::string ErrnoText(int error) { return std::generic_category().message(error); }

Status PeerGone() { return Cancelled("The process at the other end of the worker socket is gone."); }

// Waits for `events`; false when `until` passed first.
bool WaitFor(int fd, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    pollfd entry{fd, events, 0};
    const auto wait = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
    const int ready = ::poll(&entry, 1, wait);
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= until) return false;
    if (ready < 0 && errno != EINTR) return true;  // the read or write that follows reports it
  }
}

}  // namespace

SocketLink::SocketLink(int fd, SendMode mode) : fd_(fd), mode_(mode) {}

SocketLink::SocketLink(SocketLink&& other) noexcept { *this = std::move(other); }

SocketLink& SocketLink::operator=(SocketLink&& other) noexcept {
  if (this == &other) return *this;
  Close();
  fd_ = std::exchange(other.fd_, -1);
  mode_ = other.mode_;
  queue_ = std::exchange(other.queue_, {});
  queued_bytes_ = std::exchange(other.queued_bytes_, 0);
  partial_ = std::exchange(other.partial_, {});
  return *this;
}

SocketLink::~SocketLink() { Close(); }

void SocketLink::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  queue_.clear();
  queued_bytes_ = 0;
  partial_.clear();
}

Status SocketLink::Send(const Envelope& envelope) {
  if (fd_ < 0) return PeerGone();
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, EncodeChecked(envelope));
  if (queued_bytes_ + bytes.size() > kMaxQueuedBytes) {
    return Refused("The worker does not read its messages: " + std::to_string(queued_bytes_) + " bytes are waiting.");
  }
  for (std::size_t at = 0; at < bytes.size(); at += kPacketBytes) queue_.push_back(bytes.substr(at, kPacketBytes));
  queued_bytes_ += bytes.size();
  RETORT_RETURN_IF_ERROR(WriteQueue());
  while (mode_ == SendMode::blocking && !queue_.empty()) {
    WaitFor(fd_, POLLOUT, Clock::now() + std::chrono::hours(1));
    RETORT_RETURN_IF_ERROR(WriteQueue());
  }
  return {};
}

Status SocketLink::Flush(milliseconds wait) {
  if (fd_ < 0) return PeerGone();
  const auto until = Clock::now() + wait;
  RETORT_RETURN_IF_ERROR(WriteQueue());
  while (!queue_.empty()) {
    if (!WaitFor(fd_, POLLOUT, until)) {
      return Cancelled("The worker did not read its messages within " + std::to_string(wait.count()) + " ms.");
    }
    RETORT_RETURN_IF_ERROR(WriteQueue());
  }
  return {};
}

Result<std::optional<Envelope>> SocketLink::Receive(milliseconds wait) {
  if (fd_ < 0) return PeerGone();
  const auto until = Clock::now() + wait;
  for (;;) {
    // A dead peer fails the write as well; the read below tells so after what it had sent.
    if (!queue_.empty()) static_cast<void>(WriteQueue().ok());
    std::string packet;
    int error = 0;
    switch (ReadPacket(packet, error)) {
      case Read::packet:
        if (auto frame = Assemble(std::move(packet)); !frame.ok() || frame->has_value()) return frame;
        continue;
      case Read::closed:
        return PeerGone();
      case Read::failed:
        return EnvironmentError("Reading the worker socket failed: " + ErrnoText(error) + ".");
      case Read::nothing:
        break;
    }
    const short events = queue_.empty() ? POLLIN : POLLIN | POLLOUT;
    if (!WaitFor(fd_, events, until)) return std::optional<Envelope>();
  }
}

// Writes packets while the kernel takes them.
Status SocketLink::WriteQueue() {
  while (!queue_.empty()) {
    const std::string& packet = queue_.front();
    if (::send(fd_, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
      if (errno == EPIPE || errno == ECONNRESET) return PeerGone();
      return EnvironmentError("Writing the worker socket failed: " + ErrnoText(errno) + ".");
    }
    queued_bytes_ -= packet.size();
    queue_.pop_front();
  }
  return {};
}

SocketLink::Read SocketLink::ReadPacket(std::string& packet, int& error) {
  packet.resize(kPacketBytes);
  for (;;) {
    const ssize_t got = ::recv(fd_, packet.data(), packet.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (got > 0) {
      // A packet that is too long cannot be part of a frame; what was cut off makes its length wrong.
      packet.resize(std::min(static_cast<std::size_t>(got), kPacketBytes));
      return Read::packet;
    }
    if (got == 0) return Read::closed;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Read::nothing;
    if (errno == ECONNRESET) return Read::closed;
    error = errno;
    return Read::failed;
  }
}

// Adds a packet to the frame it belongs to; the frame when that made it whole. What is kept never
// exceeds the packets that really came.
Result<std::optional<Envelope>> SocketLink::Assemble(std::string packet) {
  if (partial_.empty())
    partial_ = std::move(packet);
  else
    partial_ += packet;
  const auto length = DecodeEnvelopeLength(partial_);
  if (length.ok() && partial_.size() < *length && partial_.size() % kPacketBytes == 0) return std::optional<Envelope>();
  const std::string bytes = std::exchange(partial_, {});
  if (!length.ok()) return length.status();
  RETORT_ASSIGN_OR_RETURN(Envelope envelope, Decode(bytes));
  return std::optional(std::move(envelope));
}

Result<SocketPair> MakeSocketPair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return EnvironmentError("No socket for a worker: " + ErrnoText(errno) + ".");
  }
  return SocketPair{ends[0], ends[1]};
}

}  // namespace retort::cluster
