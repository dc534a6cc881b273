#include "cluster/host.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <utility>

namespace retort::cluster {
namespace {

constexpr uid_t kSomebodyElse = 65'534;

class Listener {
 public:
  explicit Listener(int family) : family_(family), fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (family == AF_INET6) {
      in6_.sin6_family = AF_INET6;
      in6_.sin6_addr = in6addr_loopback;
    } else {
      in_.sin_family = AF_INET;
      in_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    usable_ = ::bind(fd_, address(), size()) == 0 && ::listen(fd_, 8) == 0;
    socklen_t room = size();
    ::getsockname(fd_, address(), &room);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { ::close(fd_); }
  [[nodiscard]] bool usable() const { return usable_; }
  [[nodiscard]] int Accept() const { return ::accept(fd_, nullptr, nullptr); }
  int Connect() {
    const int client = ::socket(family_, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return ::connect(client, address(), size()) == 0 ? client : -1;
  }

 private:
  sockaddr* address() {
    return family_ == AF_INET6 ? reinterpret_cast<sockaddr*>(&in6_) : reinterpret_cast<sockaddr*>(&in_);
  }
  [[nodiscard]] socklen_t size() const { return family_ == AF_INET6 ? sizeof(in6_) : sizeof(in_); }
  int family_, fd_;
  bool usable_ = false;
  sockaddr_in in_{};
  sockaddr_in6 in6_{};
};

TEST(FindPeerUser, ConnectionOfThisUserIsItsOwn) {
  for (const int family : {AF_INET, AF_INET6}) {
    Listener listener(family);
    if (!listener.usable() && family == AF_INET6) continue;  // a host without IPv6
    const int client = listener.Connect(), accepted = listener.Accept();
    ASSERT_GE(accepted, 0);
    EXPECT_EQ(FindPeerUser(accepted), ::geteuid());
    EXPECT_EQ(FindPeerUser(client), ::geteuid());
    EXPECT_TRUE(IsOwnPeer(accepted));
    ::close(client);
    EXPECT_EQ(FindPeerUser(accepted), std::nullopt) << "nobody's, and not root's";
    EXPECT_FALSE(IsOwnPeer(accepted)) << "it may have been anybody's";
    ::close(accepted);
  }
}

TEST(FindPeerUser, ConnectionOfAnotherUserIsNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  Listener listener(AF_INET);
  int done[2] = {-1, -1};
  ASSERT_EQ(::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(done[1]);
    char end = 0;
    const bool other = ::setuid(kSomebodyElse) == 0 && listener.Connect() >= 0;
    ::_exit(other && ::read(done[0], &end, 1) == 0 ? 0 : 1);
  }
  const int accepted = listener.Accept();
  EXPECT_EQ(FindPeerUser(accepted), kSomebodyElse);
  EXPECT_FALSE(IsOwnPeer(accepted));
  ::close(done[0]);
  ::close(done[1]);
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  EXPECT_FALSE(IsOwnPeer(accepted));
  ::close(accepted);
}

// Sends more than the other end has room for, and ends its own half: the end of it waits behind the bytes.
bool FillAndHalfClose(int client) {
  const int room = 4 << 20;
  ::setsockopt(client, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
  const std::string bytes(1 << 16, '\0');
  while (::send(client, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
  return errno == EAGAIN && ::shutdown(client, SHUT_WR) == 0;
}

// The end at which it was accepted is established all the while.
TEST(FindPeerUser, ConnectionThatIsHalfClosedBehindItsBytesMayNotGoOn) {
  for (const int family : {AF_INET, AF_INET6}) {
    Listener listener(family);
    if (!listener.usable() && family == AF_INET6) continue;
    const int client = listener.Connect();
    ASSERT_TRUE(FillAndHalfClose(client));
    const int accepted = listener.Accept();
    EXPECT_EQ(FindPeerUser(accepted), std::nullopt);
    EXPECT_FALSE(IsOwnPeer(accepted)) << "it may be anybody's";
    ::close(client);
    ::close(accepted);
  }
}

TEST(FindPeerUser, ConnectionEndsWhenDescriptorsRunOut) {
  Listener listener(AF_INET);
  const int client = listener.Connect(), accepted = listener.Accept();
  ASSERT_TRUE(IsOwnPeer(accepted));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool own = IsOwnPeer(accepted);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(own);
  ::close(client);
  ::close(accepted);
}

TEST(FindPeerUser, SocketsOfAnotherKindHaveNoUserAndMayGoOn) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_EQ(FindPeerUser(ends[0]), std::nullopt);
  EXPECT_TRUE(IsOwnPeer(ends[0]));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace retort::cluster
