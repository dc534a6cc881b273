// Readers of a live page: each gets the state whole once, then what changed, and who is behind gets it whole again.
#include "orchestrator/cli/serve/live_feed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace retort::orchestrator::cli {
namespace {

std::string MakeSmallPage(const LiveState& state, const std::string& report, std::uint64_t reports) {
  std::string page = std::to_string(reports) + report;
  for (const LivePart& part : state.parts) page += "|" + part.html;
  return page;
}

LiveState State(const std::string& first, const std::string& second) {
  return {{{"a", first}, {"b", second}}, {{"running", true}}, "{}\n"};
}

nlohmann::json Event(const monitoring::HttpBody& body) {
  if (body == nullptr) return {};
  const std::size_t data = body->find("data: ");
  return data == std::string::npos ? nlohmann::json(*body) : nlohmann::json::parse(body->substr(data + 6));
}

class LiveFeedTest : public ::testing::Test {
 protected:
  LiveFeed feed_{MakeSmallPage};
};

TEST_F(LiveFeedTest, ANewReaderGetsEverythingThenWhatChanged) {
  feed_.Publish(State("1", "2"));
  monitoring::HttpStream reader = feed_.Follow();
  EXPECT_EQ(Event(reader())["parts"], (nlohmann::json{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(reader(), nullptr);
  EXPECT_TRUE(feed_.Publish(State("1", "3")));
  const nlohmann::json event = Event(reader());
  EXPECT_EQ(event["parts"], (nlohmann::json{{"b", "3"}}));
  EXPECT_EQ(event["order"], (nlohmann::json{"a", "b"}));
  EXPECT_TRUE(event["running"]);
  EXPECT_EQ(reader(), nullptr);
}

TEST_F(LiveFeedTest, WhoIsBehindGetsTheNewestWhole) {
  feed_.Publish(State("1", "2"));
  monitoring::HttpStream reader = feed_.Follow();
  (void)reader();
  feed_.Publish(State("3", "2"));
  feed_.Publish(State("3", "4"));
  EXPECT_EQ(Event(reader())["parts"], (nlohmann::json{{"a", "3"}, {"b", "4"}}));
  EXPECT_EQ(reader(), nullptr);
}

TEST_F(LiveFeedTest, TheSameStateIsNoEvent) {
  EXPECT_TRUE(feed_.Publish(State("1", "2")));
  monitoring::HttpStream reader = feed_.Follow();
  (void)reader();
  EXPECT_FALSE(feed_.Publish(State("1", "2")));
  EXPECT_EQ(reader(), nullptr);
}

TEST_F(LiveFeedTest, AllReadersShareTheSameBytes) {
  feed_.Publish(State("1", "2"));
  monitoring::HttpStream one = feed_.Follow(), other = feed_.Follow();
  EXPECT_EQ(one(), other());
  EXPECT_EQ(feed_.Page(), feed_.Page());
}

TEST_F(LiveFeedTest, ANewReportIsAnnouncedByItsNumber) {
  feed_.Publish(State("1", "2"));
  EXPECT_EQ(feed_.Report(), nullptr);
  monitoring::HttpStream reader = feed_.Follow();
  EXPECT_EQ(Event(reader())["report"], 0);
  feed_.PublishReport("<main/>");
  const nlohmann::json event = Event(reader());
  EXPECT_EQ(event["report"], 1);
  EXPECT_EQ(event["parts"], nlohmann::json::object());
  EXPECT_EQ(*feed_.Report(), "<main/>");
  EXPECT_EQ(*feed_.Page(), "1<main/>|1|2");
  feed_.PublishReport("<main/>");
  EXPECT_EQ(reader(), nullptr);
}

TEST_F(LiveFeedTest, ABeatIsALineWithoutMeaning) {
  feed_.Publish(State("1", "2"));
  monitoring::HttpStream reader = feed_.Follow();
  (void)reader();
  feed_.Beat();
  const monitoring::HttpBody beat = reader();
  ASSERT_NE(beat, nullptr);
  EXPECT_EQ(*beat, ":\n\n");
  EXPECT_EQ(reader(), nullptr);
}

TEST_F(LiveFeedTest, AnEventIsOneLineOfData) {
  EXPECT_EQ(FormatEvent(7, "{}"), "id: 7\nevent: state\ndata: {}\n\n");
  feed_.Publish(State("two\nlines", "2"));
  const std::string event = *feed_.Follow()();
  EXPECT_EQ(std::count(event.begin(), event.end(), '\n'), 4);
}

}  // namespace
}  // namespace retort::orchestrator::cli
