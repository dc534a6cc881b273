// Who may read a live page, and what there is to read.
#include "orchestrator/cli/serve/page_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "orchestrator/cli/serve/live_page.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

class PageServerTest : public ::testing::Test {
 protected:
  PageServerTest() { feed_.Publish({{{"a", "<p>secret</p>"}}, {{"sweep", "s"}}, "{\"sweep\": \"s\"}\n"}); }
  monitoring::HttpReply Ask(std::string_view path, std::string_view given = kToken, std::string_view method = "GET") {
    return AnswerPage(method, path, given, feed_, kToken);
  }
  static std::string Header(const monitoring::HttpReply& reply, const std::string& name) {
    const auto found = std::ranges::find(reply.headers, name, [](const auto& header) { return header.first; });
    return found == reply.headers.end() ? "" : found->second;
  }
  LiveFeed feed_{MakeLivePage};
};

TEST_F(PageServerTest, WithoutTheTokenNothingIsTold) {
  for (const char* path : {"/", "/events", "/report", "/status.json", "/nothing"}) {
    for (const std::string& given : {std::string(), std::string(kToken.substr(1)), std::string(kToken) + "0",
                                     "1" + std::string(kToken.substr(1))}) {
      const monitoring::HttpReply reply = Ask(path, given);
      EXPECT_EQ(reply.status, 403U) << path << " " << given;
      EXPECT_EQ(reply.stream, nullptr);
      EXPECT_THAT(*reply.body, Not(HasSubstr("secret")));
    }
  }
}

TEST_F(PageServerTest, WithItThePageTheStatusAndTheStreamAreThere) {
  EXPECT_THAT(*Ask("/").body, HasSubstr("<p>secret</p>"));
  EXPECT_EQ(*Ask("/status.json").body, "{\"sweep\": \"s\"}\n");
  EXPECT_EQ(Ask("/report").status, 503U);
  feed_.PublishReport("<main></main>");
  EXPECT_EQ(*Ask("/report").body, "<main></main>");
  const monitoring::HttpReply events = Ask("/events");
  EXPECT_EQ(Header(events, "Content-Type"), "text/event-stream; charset=utf-8");
  ASSERT_NE(events.stream, nullptr);
  EXPECT_THAT(*events.stream(), HasSubstr("event: state"));
  EXPECT_EQ(Ask("/favicon.ico").status, 404U);
}

TEST_F(PageServerTest, NothingCanBeChanged) {
  for (const char* method : {"POST", "PUT", "DELETE"}) EXPECT_EQ(Ask("/", kToken, method).status, 405U);
}

TEST_F(PageServerTest, EveryAnswerForbidsWhatThePageDoesNotNeed) {
  for (const char* path : {"/", "/events", "/status.json"}) {
    const monitoring::HttpReply reply = Ask(path);
    EXPECT_EQ(Header(reply, "Content-Security-Policy"), FormatLivePolicy());
    EXPECT_EQ(Header(reply, "Cache-Control"), "no-store");
    EXPECT_EQ(Header(reply, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(Header(reply, "X-Content-Type-Options"), "nosniff");
  }
}

TEST_F(PageServerTest, OthersReachItOnlyWhereThatIsAllowed) {
  for (const char* here : {"127.0.0.1", "127.1.2.3", "::1"}) EXPECT_TRUE(CheckPageAddress(here, false).ok()) << here;
  for (const char* there : {"0.0.0.0", "::", "192.168.1.4", "::ffff:192.168.1.4"}) {
    const Status refused = CheckPageAddress(there, false);
    EXPECT_EQ(refused.code(), StatusCode::usage) << there;
    EXPECT_THAT(refused.message(), HasSubstr("--allow-remote"));
    EXPECT_TRUE(CheckPageAddress(there, true).ok()) << there;
  }
  EXPECT_THAT(CheckPageAddress("example.org", true).message(), HasSubstr("neither an IPv4 nor an IPv6 address"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
