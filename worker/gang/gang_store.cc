#include "worker/gang/gang_store.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "worker/gang/store_protocol.h"

namespace retort::worker {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kMaxMembers = 1024;
constexpr std::chrono::milliseconds kSendDeadline{5000};  // for a member to take its answer
constexpr std::chrono::milliseconds kPause{100};          // when the system has no descriptor left

using Clock = std::chrono::steady_clock;

struct Connection {
  StoreSocket socket;
  StoreDialogue dialogue;
  Clock::time_point due;  // to be admitted
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

class TcpGangStore final : public GangStore {
 public:
  TcpGangStore(StoreSocket listener, StoreSocket stop, std::string address, std::string secret, UnadmittedLimits limits)
      : listener_(std::move(listener)),
        stop_(std::move(stop)),
        address_(std::move(address)),
        secret_(std::move(secret)),
        limits_(limits) {
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
      const auto now = Clock::now();
      const bool paused = now < listens_again_;
      std::vector<pollfd> entries = {{stop_.get(), POLLIN, 0}, {paused ? -1 : listener_.get(), POLLIN, 0}};
      for (const Connection& connection : connections_) entries.push_back({connection.socket.get(), POLLIN, 0});
      if (poll(entries.data(), entries.size(), PatienceFrom(now)) < 0) {
        if (errno != EINTR) std::this_thread::sleep_for(kPause);
        continue;
      }
      if (entries[0].revents != 0) return;
      std::vector<Connection> kept;
      for (std::size_t i = 0; i < connections_.size(); ++i) {
        if (entries[i + 2].revents == 0 || ServeOne(connections_[i])) kept.push_back(std::move(connections_[i]));
      }
      connections_ = std::move(kept);
      std::erase_if(connections_, [at = Clock::now()](const Connection& connection) {
        return !connection.dialogue.admitted() && at >= connection.due;
      });
      if (entries[1].revents != 0) Accept();
    }
  }

  // Milliseconds until a deadline passes without any event on a socket; -1 = never.
  [[nodiscard]] int PatienceFrom(Clock::time_point now) const {
    std::optional<Clock::time_point> next;
    if (now < listens_again_) next = listens_again_;
    for (const Connection& connection : connections_)
      if (!connection.dialogue.admitted() && (!next || connection.due < *next)) next = connection.due;
    if (!next) return -1;
    return static_cast<int>(
        std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(*next - now).count()));
  }

  // Connections stand in the order in which they came. False when there is no stranger.
  bool DropOldestStranger() {
    const auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                     [](const Connection& c) { return !c.dialogue.admitted(); });
    if (oldest == connections_.end()) return false;
    connections_.erase(oldest);
    return true;
  }

  void Accept() {
    StoreSocket accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted.get() < 0) {
      const bool full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      // Who waits stays in the kernel's queue: polling for it at once would never end.
      if (full && !DropOldestStranger()) listens_again_ = Clock::now() + kPause;
      return;
    }
    const auto members = static_cast<std::size_t>(std::count_if(
        connections_.begin(), connections_.end(), [](const Connection& c) { return c.dialogue.admitted(); }));
    if (members >= kMaxMembers) return;
    if (connections_.size() - members >= limits_.connections) static_cast<void>(DropOldestStranger());
    connections_.push_back({std::move(accepted), StoreDialogue(values_, secret_), Clock::now() + limits_.deadline});
  }

  // False when the connection is over.
  bool ServeOne(Connection& connection) {
    const auto deadline = Clock::now() + kSendDeadline;
    std::string bytes, replies;
    if (!ReceiveSome(connection.socket, bytes, deadline).ok()) return false;
    const bool goes_on = connection.dialogue.Take(bytes, replies);
    return SendAll(connection.socket, replies, deadline).ok() && goes_on;
  }

  StoreSocket listener_, stop_;
  std::string address_, secret_;
  UnadmittedLimits limits_;
  StoreValues values_;
  std::vector<Connection> connections_;
  Clock::time_point listens_again_{};
  std::thread thread_;  // last: uses all of the above
};

}  // namespace

Result<std::unique_ptr<GangStore>> OpenGangStore(const std::string& host, UnadmittedLimits limits) {
  std::uint16_t port = 0;
  RETORT_ASSIGN_OR_RETURN(StoreSocket listener, ListenOn(host, port));
  StoreSocket stop(eventfd(0, EFD_CLOEXEC));
  if (stop.get() < 0) return EnvironmentError("No event descriptor is left for the gang's store.");
  RETORT_ASSIGN_OR_RETURN(std::string secret, MakeSecret());
  return std::unique_ptr<GangStore>(std::make_unique<TcpGangStore>(
      std::move(listener), std::move(stop), host + ":" + std::to_string(port), std::move(secret), limits));
}

}  // namespace retort::worker
