// Which user's process is at the other end of a TCP connection. All users of a host share its addresses, 127.0.0.1
// among them, so an address tells hosts apart and the user id tells the users of one host apart.
#pragma once

#include <sys/types.h>

#include <optional>

namespace retort::cluster {

// Returns the user whose process holds the other end of `socket` (IPv4 or IPv6) on this host. Nothing where the other
// end is on another host, is closed already, or the kernel does not tell.
[[nodiscard]] std::optional<uid_t> FindPeerUser(int socket);

// Whether a connection that was just accepted may go on: not when its other end belongs to another user of this host,
// and not when it is closed already, or half of it (shutdown(2), also with bytes that this end has not taken yet),
// since then nobody can tell whose it was; nor where no descriptor is left to ask with. Other hosts' connections may,
// and sockets of another kind.
[[nodiscard]] bool IsOwnPeer(int socket);

}  // namespace retort::cluster
