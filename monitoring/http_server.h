// An HTTP or HTTPS server in a thread of its own, however many connections it has: what the metrics endpoint and the
// page of `retort serve` are answered by.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "monitoring/connections.h"
#include "monitoring/listen_address.h"

struct MHD_Connection;

namespace retort::monitoring {

using HttpBody = std::shared_ptr<const std::string>;
// Returns what a reader of a stream gets next; null while there is nothing: then it is called again after Wake. Called
// by the server's thread, which waits for it.
using HttpStream = std::function<HttpBody()>;

// What is asked, valid during the call of HttpAnswer.
class HttpRequest {
 public:
  HttpRequest(MHD_Connection* connection, std::string_view asked_method, std::string_view asked_path)
      : method(asked_method), path(asked_path), connection_(connection) {}

  // Of the query part of the URL, decoded; nothing where it is absent.
  [[nodiscard]] std::optional<std::string_view> Argument(const char* name) const;
  [[nodiscard]] std::string_view Header(const char* name) const;  // empty where it is absent

  const std::string_view method, path;

 private:
  MHD_Connection* connection_;
};

struct HttpReply {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  HttpBody body = nullptr;      // kept until it is sent; null: none
  HttpStream stream = nullptr;  // in place of a body: sent piece by piece until the reader leaves
};

// Called by the server's thread: as long as it takes, nobody else is answered.
using HttpAnswer = std::function<HttpReply(const HttpRequest&)>;

struct HttpOptions {
  std::string address = "127.0.0.1";  // 127.0.0.1 means ::1 on a host that has IPv6 alone
  std::optional<std::uint16_t> port;  // absent: the first free one of `ports_tried` from `first_port`, else any
  std::uint16_t first_port = 0;
  int ports_tried = 1;
  std::string certificate;  // PEM text as of Protection: HTTPS; empty: plain HTTP
  bool streams = false;     // whether replies may be streams
  ConnectionLimits limits = {};
};

class HttpServer {
 public:
  // Null when it cannot listen there: the port is busy, the address is not of this host, or the certificate cannot be
  // used.
  [[nodiscard]] static std::unique_ptr<HttpServer> Start(const HttpOptions& options, HttpAnswer answer);
  ~HttpServer();  // ends every connection
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Asks every stream for its next piece. Costs what there are streams, and waits for no reader. Call it at times even
  // when there is nothing new: readers who have left are found by that alone. Thread-safe.
  void Wake();
  [[nodiscard]] std::size_t CountStreams() const;  // thread-safe

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] bool anywhere() const;   // whether it listens on every address
  [[nodiscard]] bool encrypted() const;  // HTTPS
  // "127.0.0.1:9477", "[::1]:9477"; where every address of the host is listened on, that of `host`.
  [[nodiscard]] std::string Address(std::string_view host = "127.0.0.1") const;
  [[nodiscard]] std::string Origin(std::string_view host = "127.0.0.1") const;  // "http://127.0.0.1:9477"

 private:
  struct Server;
  explicit HttpServer(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

// An address of IPv6 in brackets, any other as it is.
[[nodiscard]] std::string BracketHost(const std::string& host);

}  // namespace retort::monitoring
