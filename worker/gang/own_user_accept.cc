// Gloo and NCCL listen at ports that every user of the host can reach, and Gloo takes the first connection for the
// member that it awaits: eight bytes of another user would end a gang. Neither library can filter connections, so the
// workers' programs define an accept of their own, which these libraries call instead of the system's. It closes
// connections of other users of this host before anything is read from them.
#include <sys/socket.h>
#include <unistd.h>

#include "cluster/host.h"

extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* address, socklen_t* size) {
  const socklen_t room = size == nullptr ? 0 : *size;
  for (;;) {
    const int accepted = ::accept4(listener, address, size, SOCK_CLOEXEC);
    if (accepted < 0 || retort::cluster::IsOwnPeer(accepted)) return accepted;
    ::close(accepted);
    if (size != nullptr) *size = room;
  }
}
