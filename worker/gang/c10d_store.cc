#include "worker/gang/c10d_store.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>
#include <vector>

#include "worker/gang/store_protocol.h"

namespace retort::worker {
namespace {

using Bytes = std::vector<std::uint8_t>;

// A connection to the gang's store in c10d's terms. c10d may call it from several threads. Throws
// std::runtime_error, as c10d expects; CatchC10d turns that into a Status.
class StoreClient final : public c10d::Store {
 public:
  StoreClient(std::string host, std::uint16_t port, std::string secret, std::chrono::milliseconds timeout)
      : Store(timeout), host_(std::move(host)), port_(port), secret_(std::move(secret)) {
    auto connected = ConnectTo(host_, port_, Deadline(timeout));
    Require(connected.status());
    socket_ = std::move(connected).value();
    SendRequest({StoreOperation::admit, {}, secret_});
  }

  // Not marked override: older torch has no clone.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winconsistent-missing-override"
#endif
  c10::intrusive_ptr<c10d::Store> clone() { return c10::make_intrusive<StoreClient>(host_, port_, secret_, timeout_); }
#ifdef __clang__
#pragma clang diagnostic pop
#endif

  void set(const std::string& key, const Bytes& value) override {
    SendRequest({StoreOperation::set, key, std::string(value.begin(), value.end())});
  }

  Bytes get(const std::string& key) override {
    const std::string value = Await(key, timeout_);
    return Bytes(value.begin(), value.end());
  }

  std::int64_t add(const std::string& key, std::int64_t value) override {
    return std::atoll(SendRequest({StoreOperation::add, key, std::to_string(value)}).second.c_str());
  }

  bool deleteKey(const std::string& key) override { return SendRequest({StoreOperation::erase, key, {}}).first; }

  bool check(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) {
      if (!SendRequest({StoreOperation::get, key, {}}).first) return false;
    }
    return true;
  }

  std::int64_t getNumKeys() override { return std::atoll(SendRequest({StoreOperation::count, {}, {}}).second.c_str()); }

  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }

  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    for (const std::string& key : keys) Await(key, timeout);
  }

 private:
  static StoreDeadline Deadline(std::chrono::milliseconds timeout) {
    return std::chrono::steady_clock::now() + timeout;
  }

  static void Require(const Status& status) {
    if (!status.ok()) throw std::runtime_error(status.message());
  }

  std::pair<bool, std::string> SendRequest(const StoreRequest& request) {
    const std::lock_guard lock(mutex_);
    const StoreDeadline deadline = Deadline(timeout_);
    Require(SendAll(socket_, EncodeStoreRequest(request), deadline));
    for (;;) {
      auto frame = TakeStoreFrame(buffer_);
      Require(frame.status());
      if (frame->has_value()) {
        const std::string& reply = **frame;
        if (reply.empty()) throw std::runtime_error("The gang's store sent an empty reply.");
        return {reply[0] != 0, reply.substr(1)};
      }
      Require(ReceiveSome(socket_, buffer_, deadline));
    }
  }

  // The value of `key` as soon as it is there.
  std::string Await(const std::string& key, std::chrono::milliseconds timeout) {
    const StoreDeadline deadline = Deadline(timeout);
    auto pause = std::chrono::milliseconds(1);
    for (;;) {
      auto [found, value] = SendRequest({StoreOperation::get, key, {}});
      if (found) return std::move(value);
      if (std::chrono::steady_clock::now() >= deadline) {
        throw std::runtime_error("a member did not come within " + std::to_string(timeout.count()) + " ms");
      }
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, std::chrono::milliseconds(20));
    }
  }

  std::string host_;
  std::uint16_t port_;
  std::string secret_;
  std::mutex mutex_;
  StoreSocket socket_;
  std::string buffer_;
};

}  // namespace

Status CatchC10d(const std::string& what, const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return EnvironmentError(what + " failed: " + text.substr(0, text.find('\n')));
  }
}

Result<c10::intrusive_ptr<c10d::Store>> ConnectGangStore(const GangMembership& membership) {
  const std::size_t slash = std::min(membership.address.find('/'), membership.address.size());
  const std::string address = membership.address.substr(0, slash);
  const std::size_t colon = address.rfind(':');
  const char* end = address.data() + address.size();
  std::uint16_t port = 0;
  if (colon == std::string::npos || std::from_chars(address.data() + colon + 1, end, port).ptr != end || port == 0) {
    return EnvironmentError("The gang's address \"" + address + "\" is not HOST:PORT/SECRET.");
  }
  c10::intrusive_ptr<c10d::Store> store;
  RETORT_RETURN_IF_ERROR(CatchC10d("Reaching the gang's store at " + address, [&] {
    auto client = c10::make_intrusive<StoreClient>(
        address.substr(0, colon), port, slash < membership.address.size() ? membership.address.substr(slash + 1) : "",
        membership.meeting());
    store = c10::make_intrusive<c10d::PrefixStore>("gang/" + std::to_string(membership.generation.value), client);
  }));
  return store;
}

}  // namespace retort::worker
