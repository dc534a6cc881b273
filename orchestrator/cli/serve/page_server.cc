#include "orchestrator/cli/serve/page_server.h"

#include <arpa/inet.h>

#include <utility>

#include "monitoring/credentials.h"
#include "orchestrator/cli/serve/live_page.h"

namespace retort::orchestrator::cli {
namespace {

using monitoring::HttpBody;
using monitoring::HttpReply;

HttpBody MakeText(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

HttpReply Reply(unsigned status, const char* type, HttpBody body) {
  return {status,
          {{"Content-Type", type},
           {"Cache-Control", "no-store"},
           {"Content-Security-Policy", FormatLivePolicy()},
           {"Cross-Origin-Resource-Policy", "same-origin"},
           {"Referrer-Policy", "no-referrer"},
           {"X-Content-Type-Options", "nosniff"},
           {"X-Frame-Options", "DENY"}},
          std::move(body)};
}

HttpReply Refuse(unsigned status, std::string why) {
  return Reply(status, "text/plain; charset=utf-8", MakeText(std::move(why)));
}

HttpReply Give(const char* type, HttpBody body) {
  return body == nullptr ? Refuse(503, "It is being made; ask again in a moment.\n")
                         : Reply(200, type, std::move(body));
}

}  // namespace

HttpReply AnswerPage(std::string_view method, std::string_view path, std::string_view given, const LiveFeed& feed,
                     std::string_view token) {
  if (!monitoring::IsSecret(given, token))
    return Refuse(403, "Open the whole address that `retort serve` printed: it ends with ?token=...\n");
  if (method != "GET" && method != "HEAD") {
    HttpReply reply = Refuse(405, "This page can only be read.\n");
    reply.headers.emplace_back("Allow", "GET, HEAD");
    return reply;
  }
  if (path == "/") return Give("text/html; charset=utf-8", feed.Page());
  if (path == "/report") return Give("text/html; charset=utf-8", feed.Report());
  if (path == "/status.json") return Give("application/json", feed.Status());
  if (path != "/events") return Refuse(404, "There is /, /events, /report and /status.json.\n");
  HttpReply reply = Reply(200, "text/event-stream; charset=utf-8", nullptr);
  reply.stream = feed.Follow();
  return reply;
}

HttpReply AnswerPage(const monitoring::HttpRequest& request, const LiveFeed& feed, std::string_view token) {
  return AnswerPage(request.method, request.path, request.Argument("token").value_or(""), feed, token);
}

Result<bool> IsLoopback(const std::string& address) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (::inet_pton(AF_INET6, address.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6) != 0;
  return UsageError("--address " + address +
                    " is neither an IPv4 nor an IPv6 address; write one of this host, as 127.0.0.1 or ::1.");
}

Status CheckPageAddress(const std::string& address, bool allowed) {
  RETORT_ASSIGN_OR_RETURN(const bool loopback, IsLoopback(address));
  if (loopback || allowed) return {};
  return UsageError("--address " + address +
                    " can be reached from other machines, and whoever reads the address of the page on its way there "
                    "may read the page. Add --allow-remote if you want that (and --tls FILE, so that nobody on the way "
                    "reads it), or leave --address out and use `ssh -L`.");
}

}  // namespace retort::orchestrator::cli
