#include "worker/gang/gang_store.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "worker/gang/store_wire.h"

namespace retort::worker {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kMostConnections = 1024;

struct Connection {
  StoreSocket socket;
  std::string buffer;
  bool admitted = false;
};

// Hexadecimal, from the operating system's entropy.
Result<std::string> MakeSecret() {
  std::array<std::uint8_t, kSecretBytes> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return EnvironmentError("The system gave no random bytes for the gang's secret.");
  std::string secret;
  for (const std::uint8_t byte : bytes) {
    secret.push_back("0123456789abcdef"[byte >> 4]);
    secret.push_back("0123456789abcdef"[byte & 15]);
  }
  return secret;
}

// In a time that does not tell where they differ.
bool SameSecret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

class TcpGangStore final : public GangStore {
 public:
  TcpGangStore(StoreSocket listener, StoreSocket stop, std::string address, std::string secret)
      : listener_(std::move(listener)),
        stop_(std::move(stop)),
        address_(std::move(address)),
        secret_(std::move(secret)) {
    thread_ = std::thread([this] { Serve(); });
  }

  ~TcpGangStore() override {
    const std::uint64_t one = 1;
    RETORT_CHECK(write(stop_.get(), &one, sizeof one) == sizeof one);
    thread_.join();
  }

  std::string address() const override { return address_ + "/" + secret_; }

 private:
  void Serve() {
    for (;;) {
      std::vector<pollfd> entries = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const Connection& connection : connections_)
        entries.push_back({connection.socket.get(), POLLIN, 0});
      if (poll(entries.data(), entries.size(), -1) < 0) continue;
      if (entries[0].revents != 0) return;
      std::vector<Connection> kept;
      for (std::size_t i = 0; i < connections_.size(); ++i) {
        if (entries[i + 2].revents == 0 || ServeOne(connections_[i]))
          kept.push_back(std::move(connections_[i]));
      }
      connections_ = std::move(kept);
      if (entries[1].revents != 0) Accept();
    }
  }

  void Accept() {
    StoreSocket accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted.get() >= 0 && connections_.size() < kMostConnections)
      connections_.push_back({std::move(accepted), {}});
  }

  // False when the connection is over, speaks another language or does not know the secret.
  bool ServeOne(Connection& connection) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    if (!ReceiveSome(connection.socket, connection.buffer, deadline).ok()) return false;
    for (;;) {
      auto frame = TakeStoreFrame(connection.buffer);
      if (!frame.ok()) return false;
      if (!frame->has_value()) return true;
      const auto request = DecodeStoreRequest(**frame);
      if (!request.ok()) return false;
      if (request->operation == StoreOperation::admit) connection.admitted = SameSecret(request->value, secret_);
      if (!connection.admitted || !SendAll(connection.socket, Answer(*request), deadline).ok()) return false;
    }
  }

  std::string Answer(const StoreRequest& request) {
    const auto entry = values_.find(request.key);
    const bool found = entry != values_.end();
    switch (request.operation) {
      case StoreOperation::set:
        values_[request.key] = request.value;
        return EncodeStoreReply(true, {});
      case StoreOperation::get:
        return EncodeStoreReply(found, found ? entry->second : std::string());
      case StoreOperation::add: {
        const long long sum =
            (found ? std::atoll(entry->second.c_str()) : 0) + std::atoll(request.value.c_str());
        values_[request.key] = std::to_string(sum);
        return EncodeStoreReply(true, values_[request.key]);
      }
      case StoreOperation::erase:
        return EncodeStoreReply(values_.erase(request.key) > 0, {});
      case StoreOperation::count:
        return EncodeStoreReply(true, std::to_string(values_.size()));
      case StoreOperation::admit:
        return EncodeStoreReply(true, {});
    }
    return EncodeStoreReply(false, {});
  }

  StoreSocket listener_, stop_;
  std::string address_, secret_;
  std::vector<Connection> connections_;
  std::map<std::string, std::string> values_;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace

Result<std::unique_ptr<GangStore>> OpenGangStore(const std::string& host) {
  std::uint16_t port = 0;
  RETORT_ASSIGN_OR_RETURN(StoreSocket listener, ListenOn(host, port));
  StoreSocket stop(eventfd(0, EFD_CLOEXEC));
  if (stop.get() < 0) return EnvironmentError("No event descriptor is left for the gang's store.");
  RETORT_ASSIGN_OR_RETURN(std::string secret, MakeSecret());
  return std::unique_ptr<GangStore>(std::make_unique<TcpGangStore>(
      std::move(listener), std::move(stop), host + ":" + std::to_string(port), std::move(secret)));
}

}  // namespace retort::worker
