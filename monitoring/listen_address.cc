#include "monitoring/listen_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace retort::monitoring {
namespace {

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool IsIpv4(const std::string& text) {
  in_addr parsed{};
  return ::inet_pton(AF_INET, text.c_str(), &parsed) == 1;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Status BadAddress(std::string_view text, const char* why) {
  return UsageError(std::string("Metrics cannot be served on '")
                        .append(text)
                        .append("': ")
                        .append(why)
                        .append(". Write ADDR:PORT with an address of this host, e.g. 127.0.0.1:9477."));
}

}  // namespace

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool only_port = IsNumber(text);
  const std::string_view address = only_port ? std::string_view() : text.substr(0, colon);
  ListenAddress listen;
  if (!address.empty() && address != "localhost") listen.address = address;
  if (only_port || colon != std::string_view::npos) {
    listen.port = ParsePort(only_port ? text : text.substr(colon + 1));
    if (!listen.port) return BadAddress(text, "the port is no number from 0 to 65535");
  }
  if (text.empty() || !IsIpv4(listen.address)) return BadAddress(text, "the address is not IPv4");
  return listen;
}

}  // namespace retort::monitoring
