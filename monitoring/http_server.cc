#include "monitoring/http_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>

namespace retort::monitoring {
namespace {

constexpr std::chrono::seconds kClosing{2};
constexpr const char* kTls = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
constexpr std::size_t kStreamBlock = 16 * 1024;  // bytes that are asked for at once

std::optional<sockaddr_storage> SocketAddress(const std::string& host, int port) {
  sockaddr_storage where{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(where);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(where);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    return where;
  }
  where = {};
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<std::uint16_t>(port));
  return where;
}

bool IsOfThisHost(const std::string& host) {
  const std::optional<sockaddr_storage> where = SocketAddress(host, 0);
  if (!where) return false;
  const int probe = ::socket(where->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const socklen_t size = where->ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const bool bound = ::bind(probe, reinterpret_cast<const sockaddr*>(&*where), size) == 0;
  ::close(probe);
  return bound;
}

// A host may have IPv6 alone; the loopback of one kind is as good as that of the other.
std::string HostToListenOn(const std::string& asked) {
  return asked == "127.0.0.1" && !IsOfThisHost(asked) && IsOfThisHost("::1") ? "::1" : asked;
}

// One reader of a stream.
struct StreamReader {
  HttpStream next;
  MHD_Connection* connection = nullptr;
  HttpBody piece = nullptr;
  std::size_t sent = 0;  // bytes of the piece
  bool waits = false;    // suspended
};

}  // namespace

std::string BracketHost(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::optional<std::string_view> HttpRequest::Argument(const char* name) const {
  const char* value = MHD_lookup_connection_value(connection_, MHD_GET_ARGUMENT_KIND, name);
  return value == nullptr ? std::nullopt : std::optional(std::string_view(value));
}

std::string_view HttpRequest::Header(const char* name) const {
  const char* value = MHD_lookup_connection_value(connection_, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string_view() : value;
}

struct HttpServer::Server {
  Server(const HttpOptions& asked, HttpAnswer answering)
      : host(HostToListenOn(asked.address)),
        certificate(asked.certificate),
        streaming(asked.streams),
        limits(asked.limits),
        answer(std::move(answering)),
        guard(asked.limits) {}

  std::string host, certificate;
  bool streaming;
  ConnectionLimits limits;
  HttpAnswer answer;
  ConnectionGuard guard;
  mutable std::mutex mutex;  // of what follows
  std::set<StreamReader*> readers;
  bool closing = false;
  MHD_Daemon* daemon = nullptr;

  struct Kept {  // until a response is gone
    Server* server;
    StreamReader reader;
  };

  // Called by the server's thread, before it closes a connection that is over.
  static void Watch(void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode what) {
    const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    auto& server = *static_cast<Server*>(self);
    if (what != MHD_CONNECTION_NOTIFY_STARTED) return server.guard.Ended(info->connect_fd);
    server.guard.Began(info->connect_fd);
    server.Wake();  // a stream that was ended for this connection makes room for it
  }

  static MHD_Result Accepts(void* self, const sockaddr*, socklen_t) {
    return static_cast<Server*>(self)->guard.MayBegin() ? MHD_YES : MHD_NO;
  }

  static MHD_Result Answer(void* self, MHD_Connection* connection, const char* url, const char* method, const char*,
                           const char*, std::size_t* upload, void** seen) {
    // The first call is about the headers; a body is passed over.
    if (*seen == nullptr) {
      *seen = self;
      return MHD_YES;
    }
    if (*upload > 0) {
      *upload = 0;
      return MHD_YES;
    }
    auto& server = *static_cast<Server*>(self);
    return server.Reply(connection, server.answer(HttpRequest(connection, method, url)));
  }

  MHD_Result Reply(MHD_Connection* connection, HttpReply reply) {
    MHD_Response* response = MakeResponse(connection, reply);
    if (response == nullptr) return MHD_NO;
    for (const auto& [name, value] : reply.headers) MHD_add_response_header(response, name.c_str(), value.c_str());
    MHD_add_response_header(response, "Connection", "close");
    const MHD_Result queued = MHD_queue_response(connection, reply.status, response);
    MHD_destroy_response(response);
    return queued;
  }

  MHD_Response* MakeResponse(MHD_Connection* connection, const HttpReply& reply) {
    if (reply.stream != nullptr && streaming) {
      auto kept = std::make_unique<Kept>(Kept{this, {reply.stream, connection}});
      MHD_Response* response =
          MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kStreamBlock, &ReadStream, kept.get(), &EndStream);
      if (response == nullptr) return nullptr;
      const std::lock_guard lock(mutex);
      readers.insert(&kept.release()->reader);
      return response;
    }
    if (reply.body == nullptr) return MHD_create_response_from_buffer(0, nullptr, MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_buffer_with_free_callback_cls(
        reply.body->size(), const_cast<char*>(reply.body->data()),  // NOLINT: it is only read
        [](void* body) { delete static_cast<HttpBody*>(body); }, new HttpBody(reply.body));
  }

  // Under the lock from the question to the pause: what is new in between would find nobody to wake.
  static ssize_t ReadStream(void* cls, std::uint64_t, char* buffer, std::size_t most) {
    auto& [server, reader] = *static_cast<Kept*>(cls);
    const std::lock_guard lock(server->mutex);
    if (server->closing) return MHD_CONTENT_READER_END_OF_STREAM;
    if (reader.piece == nullptr || reader.sent == reader.piece->size()) {
      reader.piece = reader.next();
      reader.sent = 0;
    }
    if (reader.piece == nullptr || reader.piece->empty()) {
      reader.waits = true;
      MHD_suspend_connection(reader.connection);
      return 0;
    }
    const std::size_t count = std::min(most, reader.piece->size() - reader.sent);
    std::memcpy(buffer, reader.piece->data() + reader.sent, count);
    reader.sent += count;
    return static_cast<ssize_t>(count);
  }

  static void EndStream(void* cls) {
    const std::unique_ptr<Kept> kept(static_cast<Kept*>(cls));
    const std::lock_guard lock(kept->server->mutex);
    kept->server->readers.erase(&kept->reader);
  }

  void Wake() {
    const std::lock_guard lock(mutex);
    for (StreamReader* reader : readers)
      if (std::exchange(reader->waits, false)) MHD_resume_connection(reader->connection);
  }

  // `daemon` stays null when it cannot listen there.
  void Listen(int port) {
    const std::optional<sockaddr_storage> where = SocketAddress(host, port);
    if (!where) return;
    unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD | (certificate.empty() ? 0U : static_cast<unsigned>(MHD_USE_TLS)) |
                     (streaming ? static_cast<unsigned>(MHD_ALLOW_SUSPEND_RESUME) : 0U);
    // "::" is every address of both kinds.
    if (where->ss_family == AF_INET6) flags |= host == "::" ? MHD_USE_DUAL_STACK : MHD_USE_IPv6;
    MHD_OptionItem encryption[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, certificate.data()},
                                   {MHD_OPTION_HTTPS_MEM_CERT, 0, certificate.data()},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTls)},
                                   {MHD_OPTION_END, 0, nullptr}};
    daemon = MHD_start_daemon(flags, 0, &Accepts, this, &Answer, this, MHD_OPTION_SOCK_ADDR, &*where,
                              MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(limits.idle.count()),
                              MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(limits.connections),
                              MHD_OPTION_NOTIFY_CONNECTION, &Watch, this, MHD_OPTION_ARRAY,
                              certificate.empty() ? encryption + 3 : encryption, MHD_OPTION_END);
  }
};

std::unique_ptr<HttpServer> HttpServer::Start(const HttpOptions& options, HttpAnswer answer) {
  auto server = std::make_unique<Server>(options, std::move(answer));
  const int first = options.port.value_or(options.first_port);
  const int tries = options.port ? 1 : options.ports_tried;
  for (int port = first; port < first + tries && server->daemon == nullptr; ++port) server->Listen(port);
  if (server->daemon == nullptr && !options.port) server->Listen(0);
  if (server->daemon == nullptr) return nullptr;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(server)));
}

HttpServer::HttpServer(std::unique_ptr<Server> server) : server_(std::move(server)) {}

// libmicrohttpd 0.9.75 crashes when it is stopped while it refuses a request (its answer is dropped then, and used): it
// is stopped when it has no connection left. It must not be stopped while a connection is suspended.
HttpServer::~HttpServer() {
  {
    const std::lock_guard lock(server_->mutex);
    server_->closing = true;
  }
  server_->Wake();
  server_->guard.EndAll(kClosing);
  MHD_stop_daemon(server_->daemon);
}

void HttpServer::Wake() { server_->Wake(); }

std::size_t HttpServer::CountStreams() const {
  const std::lock_guard lock(server_->mutex);
  return server_->readers.size();
}

std::uint16_t HttpServer::port() const {
  const MHD_DaemonInfo* info = MHD_get_daemon_info(server_->daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info == nullptr ? std::uint16_t{0} : info->port;
}

bool HttpServer::anywhere() const { return server_->host == "0.0.0.0" || server_->host == "::"; }

bool HttpServer::encrypted() const { return !server_->certificate.empty(); }

std::string HttpServer::Address(std::string_view host) const {
  return BracketHost(anywhere() ? std::string(host) : server_->host) + ":" + std::to_string(port());
}

std::string HttpServer::Origin(std::string_view host) const {
  return (encrypted() ? "https://" : "http://") + Address(host);
}

}  // namespace retort::monitoring
