// Streams of the HTTP server: readers who wait, who are slow, who leave, and a server that ends.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "monitoring/credentials.h"
#include "monitoring/http_server.h"

namespace retort::monitoring {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;

// What every stream has told, from its first piece on.
class News {
 public:
  void Add(std::string piece) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::make_shared<const std::string>(std::move(piece)));
  }
  HttpStream Follow() {
    return [this, next = std::size_t{0}]() mutable {
      const std::lock_guard lock(mutex_);
      ++asked;
      return next < pieces_.size() ? pieces_[next++] : nullptr;
    };
  }
  std::atomic<int> asked{0};

 private:
  std::mutex mutex_;
  std::vector<HttpBody> pieces_;
};

std::unique_ptr<HttpServer> ServeNews(News& news, ConnectionLimits limits = {.max_per_peer = 16}) {
  HttpOptions options;
  options.port = std::uint16_t{0};
  options.streams = true;
  options.limits = limits;
  auto server = HttpServer::Start(options, [&news](const HttpRequest& request) {
    if (request.path == "/news") return HttpReply{200, {}, nullptr, news.Follow()};
    return HttpReply{
        200, {}, std::make_shared<const std::string>("page " + std::string(request.Argument("a").value_or("-")))};
  });
  RETORT_CHECK(server != nullptr);
  return server;
}

class Reader {
 public:
  Reader(const HttpServer& server, const std::string& path) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int small = 4096;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_EQ(::send(fd_, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { ::close(fd_); }
  // Reads until `text` has come, or the end; what came so far.
  const std::string& ReadUntil(const std::string& text, milliseconds patience = milliseconds(5000)) {
    const auto until = steady_clock::now() + patience;
    char buffer[4096];
    while (so_far_.find(text) == std::string::npos && steady_clock::now() < until) {
      pollfd entry{fd_, POLLIN, 0};
      if (::poll(&entry, 1, 20) != 1) continue;
      const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
      if (got <= 0) {
        ended_ = true;
        break;
      }
      so_far_.append(buffer, static_cast<std::size_t>(got));
    }
    return so_far_;
  }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  int fd_;
  std::string so_far_;
  bool ended_ = false;
};

bool Becomes(const std::function<bool()>& condition) {
  for (int i = 0; i < 250; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return condition();
}

TEST(HttpStream, AReaderGetsWhatComesWhenItComes) {
  News news;
  const auto server = ServeNews(news);
  Reader reader(*server, "/news");
  EXPECT_THAT(reader.ReadUntil("\r\n\r\n"), HasSubstr("200"));
  news.Add("first\n");
  server->Wake();
  EXPECT_THAT(reader.ReadUntil("first\n"), HasSubstr("first\n"));
  news.Add("second\n");
  server->Wake();
  EXPECT_THAT(reader.ReadUntil("second\n"), HasSubstr("second\n"));
  EXPECT_FALSE(reader.ended());
}

TEST(HttpStream, NobodyIsAskedAgainBeforeTheServerIsWoken) {
  News news;
  const auto server = ServeNews(news);
  const Reader reader(*server, "/news");
  ASSERT_TRUE(Becomes([&] { return news.asked > 0; }));
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_LE(news.asked, 2);
}

TEST(HttpStream, WhoDoesNotReadDelaysNobody) {
  News news;
  const auto server = ServeNews(news);
  const Reader silent(*server, "/news");
  ASSERT_TRUE(Becomes([&] { return server->CountStreams() == 1; }));
  news.Add(std::string(std::size_t{64} << 20, 'x'));
  server->Wake();
  Reader other(*server, "/page?a=1");
  EXPECT_THAT(other.ReadUntil("page 1"), HasSubstr("page 1"));
}

TEST(HttpStream, AReaderWhoLeftIsForgottenAtTheNextPiece) {
  News news;
  const auto server = ServeNews(news);
  {
    const Reader reader(*server, "/news");
    ASSERT_TRUE(Becomes([&] { return server->CountStreams() == 1; }));
  }
  EXPECT_TRUE(Becomes([&] {
    news.Add(":\n\n");
    server->Wake();
    return server->CountStreams() == 0;
  }));
}

TEST(HttpStream, OneTooManyEndsTheOldestAndIsServed) {
  News news;
  const auto server = ServeNews(news, {.connections = 4, .max_per_peer = 2});
  Reader first(*server, "/news"), second(*server, "/news"), third(*server, "/news");
  news.Add("all\n");
  server->Wake();
  EXPECT_THAT(third.ReadUntil("all\n"), HasSubstr("all\n"));
  EXPECT_THAT(second.ReadUntil("all\n"), HasSubstr("all\n"));
  EXPECT_THAT(first.ReadUntil("all\n"), Not(HasSubstr("all\n")));
  EXPECT_TRUE(first.ended());
}

TEST(HttpStream, AServerThatEndsEndsItsStreamsAtOnce) {
  News news;
  auto server = ServeNews(news);
  Reader reader(*server, "/news");
  ASSERT_TRUE(Becomes([&] { return server->CountStreams() == 1; }));
  const auto begin = steady_clock::now();
  server.reset();
  EXPECT_LT(steady_clock::now() - begin, milliseconds(1900));
  reader.ReadUntil("never");
  EXPECT_TRUE(reader.ended());
}

TEST(AccessToken, HasManyBitsAndIsAnotherOneEachTime) {
  const std::string token = MakeAccessToken();
  EXPECT_EQ(token.size(), 32U);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, MakeAccessToken());
}

TEST(AccessToken, NothingButTheWholeSecretIsIt) {
  const std::string token = MakeAccessToken();
  EXPECT_TRUE(IsSecret(token, token));
  EXPECT_FALSE(IsSecret("", token));
  EXPECT_FALSE(IsSecret(token.substr(1), token));
  EXPECT_FALSE(IsSecret(token + "0", token));
  std::string other = token;
  other.back() = other.back() == '0' ? '1' : '0';
  EXPECT_FALSE(IsSecret(other, token));
  EXPECT_FALSE(IsSecret("", ""));
}

}  // namespace
}  // namespace retort::monitoring
