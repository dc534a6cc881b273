// Connections to the metrics port over loopback that hold on to it.
#include <arpa/inet.h>
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "monitoring/exporter.h"

namespace retort::monitoring {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::StartsWith;

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int small = 4096;  // an answer that is not read fills it soon
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  Client(Client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Client& operator=(Client&&) = delete;
  ~Client() {
    if (fd_ >= 0) ::close(fd_);
  }
  // False once the connection is over.
  [[nodiscard]] bool Say(std::string_view text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // What comes until the end, if that comes in time.
  [[nodiscard]] std::string ReadAll(milliseconds patience = milliseconds(5000)) const {
    std::string all;
    const auto until = steady_clock::now() + patience;
    for (char buffer[4096]; WaitUntil(until);) {
      const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
      if (got <= 0) return all;
      all.append(buffer, static_cast<std::size_t>(got));
    }
    return all + " and no end";
  }
  // Whether the server ended it without a word.
  [[nodiscard]] bool IsOver(milliseconds patience) const {
    char byte = 0;
    return WaitUntil(steady_clock::now() + patience) && ::recv(fd_, &byte, 1, MSG_PEEK) <= 0;
  }

 private:
  [[nodiscard]] bool WaitUntil(steady_clock::time_point until) const {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
    pollfd entry{fd_, POLLIN, 0};
    return ::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) == 1;
  }
  int fd_;
};

std::unique_ptr<Exporter> StartWith(const ConnectionLimits& limits) {
  auto started = Exporter::Start({.address = "127.0.0.1", .port = std::uint16_t{0}}, {}, "", limits);
  RETORT_CHECK(started.ok());
  return std::move(*started);
}

std::string Scrape(const Exporter& exporter) {
  const Client client(exporter.port());
  EXPECT_TRUE(client.Say("GET /metrics HTTP/1.0\r\n\r\n"));
  return client.ReadAll();
}

int OpenDescriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  int count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

TEST(SlowConnections, FifthOfAPeerEndsTheOldestAndIsServed) {
  const auto exporter = StartWith({});
  std::vector<Client> silent;
  for (int i = 0; i < 4; ++i) silent.emplace_back(exporter->port());
  for (const Client& client : silent) ASSERT_TRUE(client.Say("GET "));
  EXPECT_FALSE(silent[0].IsOver(milliseconds(300)));
  EXPECT_THAT(Scrape(*exporter), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(silent[0].IsOver(milliseconds(2000)));
  EXPECT_FALSE(silent[3].IsOver(milliseconds(0)));
}

TEST(SlowConnections, ThoseOfOneUserDoNotEndAnothers) {
  int asked = 0;
  const auto exporter = StartWith({.user_of = [&asked](int) { return asked++ == 0 ? 1000 : 1001; }});
  const Client first(exporter->port());
  ASSERT_TRUE(first.Say("GET /metrics"));
  std::vector<Client> others;
  for (int i = 0; i < 20; ++i) others.emplace_back(exporter->port());
  EXPECT_TRUE(others[15].IsOver(milliseconds(2000)));
  EXPECT_FALSE(others[16].IsOver(milliseconds(100)));
  ASSERT_TRUE(first.Say(" HTTP/1.0\r\n\r\n"));
  EXPECT_THAT(first.ReadAll(), StartsWith("HTTP/1.1 200"));
}

TEST(SlowConnections, ManyPeersTakeNoMoreDescriptorsThanAreAllowed) {
  int asked = 0;
  const auto exporter = StartWith({.connections = 16, .user_of = [&asked](int) { return asked++; }});
  const int before = OpenDescriptors();
  std::vector<Client> many;
  for (int i = 0; i < 200; ++i) many.emplace_back(exporter->port());
  EXPECT_THAT(Scrape(*exporter), StartsWith("HTTP/1.1 200"));
  EXPECT_LE(OpenDescriptors() - before - static_cast<int>(many.size()), 16);
}

TEST(SlowConnections, WhoSpeaksByteByByteIsCutOffAtTheDeadline) {
  const auto exporter = StartWith({.idle = std::chrono::seconds(60), .whole = milliseconds(1000)});
  const auto begin = steady_clock::now();
  const Client slow(exporter->port());
  while (slow.Say("G") && !slow.IsOver(milliseconds(50)))
    ASSERT_LT(steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_GE(steady_clock::now() - begin, milliseconds(900));
  EXPECT_THAT(Scrape(*exporter), StartsWith("HTTP/1.1 200"));
}

TEST(SlowConnections, WhoReadsByteByByteIsCutOffAtTheDeadline) {
  const auto exporter = StartWith({.idle = std::chrono::seconds(60), .whole = milliseconds(1000)});
  MetricValues values;
  for (int i = 0; i < 60'000; ++i)  // some megabytes
    values.Set(Metric::epsilon_spent, {std::to_string(i), "example"}, 1);
  exporter->Publish(std::move(values));
  const Client slow(exporter->port());
  ASSERT_TRUE(slow.Say("GET /metrics HTTP/1.0\r\n\r\n"));
  std::this_thread::sleep_for(milliseconds(1500));
  const std::string part = slow.ReadAll();
  EXPECT_THAT(part, StartsWith("HTTP/1.1 200"));
  EXPECT_LT(part.size(), Scrape(*exporter).size());
}

TEST(SlowConnections, WhoSaysNothingIsCutOffAfterItsIdleTime) {
  const auto exporter = StartWith({.idle = std::chrono::seconds(1), .whole = std::chrono::seconds(60)});
  const Client silent(exporter->port());
  EXPECT_TRUE(silent.IsOver(milliseconds(4000)));
}

}  // namespace
}  // namespace retort::monitoring
