// Answers the requests to a live page. Whoever has not the token is told nothing.
#pragma once

#include <string>
#include <string_view>

#include "experiments/base/status.h"
#include "monitoring/http_server.h"
#include "orchestrator/cli/serve/live_feed.h"

namespace retort::orchestrator::cli {

inline constexpr std::uint16_t kFirstPagePort = 9577;
inline constexpr int kPagePortsTried = 64;

// The answer to `request`: "/" is the page, "/events" the stream of its changes, "/report" the body of the report,
// "/status.json" the status. `token` is not empty. A stream borrows `feed`.
[[nodiscard]] monitoring::HttpReply AnswerPage(const monitoring::HttpRequest& request, const LiveFeed& feed,
                                               std::string_view token);
// The same of the parts of a request. `given`: its token, empty for none.
[[nodiscard]] monitoring::HttpReply AnswerPage(std::string_view method, std::string_view path, std::string_view given,
                                               const LiveFeed& feed, std::string_view token);

// Whether only this host reaches an address. Error: usage, for what is no address of IPv4 or IPv6.
[[nodiscard]] Result<bool> IsLoopback(const std::string& address);
// Error: usage, where others reach the address and `allowed` is false, or it is none.
[[nodiscard]] Status CheckPageAddress(const std::string& address, bool allowed);

}  // namespace retort::orchestrator::cli
