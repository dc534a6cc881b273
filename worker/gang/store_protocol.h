// What travels between the gang's store and its clients: frames, one connection's dialogue, sockets.
// A frame is a u32 length of the rest, then the rest; little endian.
// Request: u8 operation, u32 key length, key, value. Reply: u8 found (0 or 1), value.
// The first request of a connection is `admit` with the store's secret; any other ends the connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/base/status.h"

namespace retort::worker {

enum class StoreOperation : std::uint8_t { set = 1, get = 2, add = 3, erase = 4, count = 5, admit = 6 };

struct StoreRequest {
  StoreOperation operation = StoreOperation::get;
  std::string key;
  std::string value;  // set: the value; add: the decimal addend; admit: the secret
};

inline constexpr std::size_t kMaxStoreFrame = std::size_t{1} << 20;

[[nodiscard]] std::string EncodeStoreRequest(const StoreRequest& request);
[[nodiscard]] std::string EncodeStoreReply(bool found, std::string_view value);
// Error: damage, when the bytes are no request.
[[nodiscard]] Result<StoreRequest> DecodeStoreRequest(std::string_view rest);
// Takes the first whole frame (without its length) off `buffer`, if there is one. Error: damage, when it is
// longer than `max_bytes` bytes.
[[nodiscard]] Result<std::optional<std::string>> TakeStoreFrame(std::string& buffer,
                                                                std::size_t max_bytes = kMaxStoreFrame);

// A connected TCP socket. Closed by the destructor; move-only.
class StoreSocket {
 public:
  explicit StoreSocket(int descriptor = -1) : descriptor_(descriptor) {}
  StoreSocket(StoreSocket&& other) noexcept;
  StoreSocket& operator=(StoreSocket&& other) noexcept;
  ~StoreSocket();
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

using StoreDeadline = std::chrono::steady_clock::time_point;

// Returns a socket that listens on `host` at a free port (close-on-exec, non-blocking), or one connected to
// host:port. Names are looked up forwards only. Errors: environment, with the system's words.
[[nodiscard]] Result<StoreSocket> ListenOn(const std::string& host, std::uint16_t& port);
[[nodiscard]] Result<StoreSocket> ConnectTo(const std::string& host, std::uint16_t port, StoreDeadline deadline);
[[nodiscard]] Status SendAll(const StoreSocket& socket, std::string_view bytes, StoreDeadline deadline);
// Appends what arrives before the deadline to `buffer`. Error: environment, also when the peer closed.
[[nodiscard]] Status ReceiveSome(const StoreSocket& socket, std::string& buffer, StoreDeadline deadline);

// Limit for a connection that has not shown the secret: more than `admit` needs, and too little to exhaust memory.
inline constexpr std::size_t kMaxUnadmittedFrame = 128;

using StoreValues = std::map<std::string, std::string>;

// One connection of the store. Pure: bytes in, bytes out.
class StoreDialogue {
 public:
  // Both are borrowed.
  StoreDialogue(StoreValues& values, const std::string& secret) : values_(&values), secret_(&secret) {}

  // Consumes `bytes` and appends the answers to `replies`. Returns false when the connection has to be closed, since
  // its bytes are no requests or it does not know the secret.
  [[nodiscard]] bool Take(std::string_view bytes, std::string& replies);
  [[nodiscard]] bool admitted() const { return admitted_; }
  [[nodiscard]] std::size_t buffered() const { return buffer_.size(); }  // bytes of a frame that is not whole

 private:
  [[nodiscard]] std::string Answer(const StoreRequest& request);

  StoreValues* values_;
  const std::string* secret_;
  std::string buffer_;
  bool admitted_ = false;
};

}  // namespace retort::worker
