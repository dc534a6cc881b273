// What this process may not open for a while, also where it is run by root.
#pragma once

#include <sys/fsuid.h>
#include <unistd.h>

namespace retort::testing {

// While it lives, the thread's files are opened as nobody's; a user who is not root stays who he is.
class AnotherUser {
 public:
  AnotherUser() {
    if (::geteuid() == 0) ::setfsuid(kNobody);
  }
  AnotherUser(const AnotherUser&) = delete;
  AnotherUser& operator=(const AnotherUser&) = delete;
  ~AnotherUser() {
    if (::geteuid() == 0) ::setfsuid(0);
  }

 private:
  static constexpr uid_t kNobody = 65534;
};

}  // namespace retort::testing
