#include "monitoring/listen_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <limits>

#include "experiments/base/number_text.h"

namespace retort::monitoring {
namespace {

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  const auto port = ParseWholeNumber(text, std::numeric_limits<std::uint16_t>::max());
  return port ? std::optional(static_cast<std::uint16_t>(*port)) : std::nullopt;
}

bool IsAddress(const std::string& text) {
  in_addr v4{};
  in6_addr v6{};
  return ::inet_pton(AF_INET, text.c_str(), &v4) == 1 || ::inet_pton(AF_INET6, text.c_str(), &v6) == 1;
}

struct Parts {
  std::string_view address;
  std::optional<std::string_view> port;
};

// "[ADDR]" and "[ADDR]:PORT" of IPv6, whose address has colons of its own; an address of those alone is one without a
// port.
std::optional<Parts> Split(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || text.find(':') > end) return std::nullopt;
    const std::string_view rest = text.substr(end + 1);
    if (rest.empty()) return Parts{text.substr(1, end - 1), std::nullopt};
    return rest.front() == ':' ? std::optional(Parts{text.substr(1, end - 1), rest.substr(1)}) : std::nullopt;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos)
    return Parts{text, std::nullopt};
  return Parts{text.substr(0, colon), text.substr(colon + 1)};
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Status BadAddress(std::string_view text, const char* why) {
  return UsageError(std::string("Metrics cannot be served on '")
                        .append(text)
                        .append("': ")
                        .append(why)
                        .append(". Write ADDR:PORT with an address of this host, e.g. 127.0.0.1:9477 or [::1]:9477."));
}

}  // namespace

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  const std::optional<Parts> parts = IsNumber(text) ? Parts{{}, text} : Split(text);
  if (!parts || text.empty()) return BadAddress(text, "that is no address");
  ListenAddress listen;
  if (!parts->address.empty() && parts->address != "localhost") listen.address = parts->address;
  if (parts->port) {
    listen.port = ParsePort(*parts->port);
    if (!listen.port) return BadAddress(text, "the port is no number from 0 to 65535");
  }
  if (!IsAddress(listen.address)) return BadAddress(text, "the address is neither IPv4 nor IPv6");
  return listen;
}

}  // namespace retort::monitoring
