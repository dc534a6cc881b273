// Where the metrics endpoint listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/base/status.h"

namespace retort::monitoring {

struct ListenAddress {
  std::string address = "127.0.0.1";  // IPv4 or IPv6; another than loopback only when the user wrote it
  std::optional<std::uint16_t> port;  // absent: the next free one from kFirstMetricsPort; 0: any
};

// "ADDR:PORT", "ADDR", ":PORT" or "PORT"; of IPv6 "[ADDR]:PORT", "[ADDR]" or "ADDR". Error: usage, saying what is
// expected.
[[nodiscard]] Result<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace retort::monitoring
