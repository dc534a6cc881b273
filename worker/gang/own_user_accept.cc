// Gloo and NCCL listen at ports that every user of the host can see, and Gloo takes whoever comes first for the member that it
// awaits: a stranger's eight bytes would end a gang. Neither can be told whom to let in, so the workers' programs have an
// accept of their own, which these libraries call instead of the system's: connections of other users of this host are
// closed before anybody reads of them.
#include <sys/socket.h>
#include <unistd.h>

#include "cluster/peer_user.h"

extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* address, socklen_t* size) {
  const socklen_t room = size == nullptr ? 0 : *size;
  for (;;) {
    const int accepted = ::accept4(listener, address, size, SOCK_CLOEXEC);
    if (accepted < 0 || retort::cluster::IsOwnPeer(accepted)) return accepted;
    ::close(accepted);
    if (size != nullptr) *size = room;
  }
}
