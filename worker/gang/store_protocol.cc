#include "worker/gang/store_protocol.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace retort::worker {
namespace {

void AppendU32(std::string& out, std::size_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::uint32_t ReadU32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = (value << 8) | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

Status SystemError(const std::string& what, int code = errno) {
  return EnvironmentError(what + ": " + std::system_category().message(code) + ".");
}

// Waits for `events`; an error when the deadline comes first.
Status WaitFor(int descriptor, short events, StoreDeadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd entry{descriptor, events, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready > 0) return {};
    if (ready == 0) return EnvironmentError("The gang's store did not answer in time.");
    if (errno != EINTR) return SystemError("Waiting for the gang's store");
  }
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<Addresses> Resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) return EnvironmentError("The host \"" + host + "\" is not found: " + gai_strerror(code) + ".");
  return Addresses(found, &freeaddrinfo);
}

// The first address of host:port for which `use` succeeds; the last failure otherwise.
Result<StoreSocket> FirstThatWorks(const std::string& host, std::uint16_t port,
                                   const std::function<Status(int, const addrinfo&)>& use) {
  RETORT_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, port));
  Status failure = EnvironmentError("The host \"" + host + "\" has no address.");
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    StoreSocket made(socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    failure = made.get() < 0 ? SystemError("Opening a socket") : use(made.get(), *address);
    if (failure.ok()) return made;
  }
  return failure;
}

// In a time that does not tell where they differ.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

// 0 for what is no number.
std::int64_t NumberIn(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Modulo 2^64.
std::int64_t Sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

std::string EncodeStoreRequest(const StoreRequest& request) {
  std::string frame;
  AppendU32(frame, 5 + request.key.size() + request.value.size());
  frame.push_back(static_cast<char>(request.operation));
  AppendU32(frame, request.key.size());
  return frame + request.key + request.value;
}

std::string EncodeStoreReply(bool found, std::string_view value) {
  std::string frame;
  AppendU32(frame, 1 + value.size());
  frame.push_back(found ? '\1' : '\0');
  return frame.append(value);
}

Result<StoreRequest> DecodeStoreRequest(std::string_view rest) {
  if (rest.size() < 5 || rest[0] < 1 || rest[0] > 6) return DamageError("No request of the gang's store.");
  const std::size_t key = ReadU32(rest.substr(1));
  if (key > rest.size() - 5) return DamageError("A request of the gang's store ends inside its key.");
  return StoreRequest{static_cast<StoreOperation>(rest[0]), std::string(rest.substr(5, key)),
                      std::string(rest.substr(5 + key))};
}

Result<std::optional<std::string>> TakeStoreFrame(std::string& buffer, std::size_t most) {
  if (buffer.size() < 4) return std::optional<std::string>();
  const std::size_t length = ReadU32(buffer);
  if (length > most) return DamageError("A frame of the gang's store is too long.");
  if (buffer.size() < 4 + length) return std::optional<std::string>();
  std::optional<std::string> frame = buffer.substr(4, length);
  buffer.erase(0, 4 + length);
  return frame;
}

StoreSocket::StoreSocket(StoreSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

StoreSocket& StoreSocket::operator=(StoreSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

StoreSocket::~StoreSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<StoreSocket> ListenOn(const std::string& host, std::uint16_t& port) {
  return FirstThatWorks(host, 0, [&](int made, const addrinfo& address) -> Status {
    if (bind(made, address.ai_addr, address.ai_addrlen) != 0 || listen(made, SOMAXCONN) != 0) {
      return SystemError("Listening on " + host);
    }
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (getsockname(made, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return SystemError("Naming a socket");
    port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
    return {};
  });
}

Result<StoreSocket> ConnectTo(const std::string& host, std::uint16_t port, StoreDeadline deadline) {
  return FirstThatWorks(host, port, [&](int made, const addrinfo& address) -> Status {
    const int on = 1;
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(made, address.ai_addr, address.ai_addrlen) == 0) return {};
    if (errno != EINPROGRESS) return SystemError("Connecting to the gang's store");
    RETORT_RETURN_IF_ERROR(WaitFor(made, POLLOUT, deadline));
    int code = 0;
    socklen_t size = sizeof code;
    getsockopt(made, SOL_SOCKET, SO_ERROR, &code, &size);
    return code == 0 ? Status() : SystemError("Connecting to the gang's store", code);
  });
}

Status SendAll(const StoreSocket& socket, std::string_view bytes, StoreDeadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      RETORT_RETURN_IF_ERROR(WaitFor(socket.get(), POLLOUT, deadline));
    } else if (errno != EINTR) {
      return SystemError("Writing to the gang's store");
    }
  }
  return {};
}

Status ReceiveSome(const StoreSocket& socket, std::string& buffer, StoreDeadline deadline) {
  for (;;) {
    std::array<char, 4096> chunk;
    const ssize_t got = recv(socket.get(), chunk.data(), chunk.size(), 0);
    if (got > 0) {
      buffer.append(chunk.data(), static_cast<std::size_t>(got));
      return {};
    }
    if (got == 0) return EnvironmentError("The gang's store closed the connection: its owner is gone.");
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      RETORT_RETURN_IF_ERROR(WaitFor(socket.get(), POLLIN, deadline));
    } else if (errno != EINTR) {
      return SystemError("Reading from the gang's store");
    }
  }
}

bool StoreDialogue::Take(std::string_view bytes, std::string& replies) {
  buffer_.append(bytes);
  for (;;) {
    auto frame = TakeStoreFrame(buffer_, admitted_ ? kMaxStoreFrame : kMaxUnadmittedFrame);
    if (!frame.ok()) return false;
    if (!frame->has_value()) return true;
    const auto request = DecodeStoreRequest(**frame);
    if (!request.ok()) return false;
    if (request->operation == StoreOperation::admit) admitted_ = SameSecret(request->value, *secret_);
    if (!admitted_) return false;
    replies += Answer(*request);
  }
}

std::string StoreDialogue::Answer(const StoreRequest& request) {
  const auto entry = values_->find(request.key);
  const bool found = entry != values_->end();
  switch (request.operation) {
    case StoreOperation::set:
      (*values_)[request.key] = request.value;
      return EncodeStoreReply(true, {});
    case StoreOperation::get:
      return EncodeStoreReply(found, found ? entry->second : std::string());
    case StoreOperation::add: {
      const std::int64_t before = found ? NumberIn(entry->second) : 0;
      std::string& value = (*values_)[request.key];
      value = std::to_string(Sum(before, NumberIn(request.value)));
      return EncodeStoreReply(true, value);
    }
    case StoreOperation::erase:
      return EncodeStoreReply(values_->erase(request.key) > 0, {});
    case StoreOperation::count:
      return EncodeStoreReply(true, std::to_string(values_->size()));
    case StoreOperation::admit:
      return EncodeStoreReply(true, {});
  }
  return EncodeStoreReply(false, {});
}

}  // namespace retort::worker
