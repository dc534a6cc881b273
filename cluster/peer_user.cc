#include "cluster/peer_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace retort::cluster {
namespace {

struct SocketQuery {
  nlmsghdr header;
  inet_diag_req_v2 about;
};

// Asks the kernel about the socket that `query` names; nothing if there is none. The kernel answers within the call.
// Sets `full` where no descriptor or memory was left for the query.
std::optional<inet_diag_msg> QuerySocket(const SocketQuery& query, bool& full) {
  const int kernel = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  full = kernel < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (kernel < 0) return std::nullopt;
  char reply[1024];
  ssize_t got = ::send(kernel, &query, sizeof(query), 0);
  if (got > 0) got = ::recv(kernel, reply, sizeof(reply), MSG_DONTWAIT);
  ::close(kernel);
  nlmsghdr header{};
  inet_diag_msg socket{};
  if (got < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof(socket))) return std::nullopt;
  std::memcpy(&header, reply, sizeof(header));
  std::memcpy(&socket, reply + NLMSG_HDRLEN, sizeof(socket));
  return header.nlmsg_type == SOCK_DIAG_BY_FAMILY ? std::optional(socket) : std::nullopt;
}

struct End {
  sa_family_t family = AF_UNSPEC;
  __be16 port = 0;
  __be32 address[4] = {};
};

using NameOfSocket = int(int, sockaddr*, socklen_t*);

std::optional<End> ReadEnd(int socket, NameOfSocket* name) {
  sockaddr_storage stored{};
  socklen_t size = sizeof(stored);
  if (name(socket, reinterpret_cast<sockaddr*>(&stored), &size) != 0) return std::nullopt;
  End end;
  end.family = stored.ss_family;
  if (stored.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(stored);
    end.port = in.sin_port;
    std::memcpy(end.address, &in.sin_addr, sizeof(in.sin_addr));
  } else if (stored.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(stored);
    end.port = in.sin6_port;
    std::memcpy(end.address, &in.sin6_addr, sizeof(in.sin6_addr));
  } else {
    return std::nullopt;
  }
  return end;
}

bool IsEstablished(int socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_ESTABLISHED;
}

// The other end of `socket`, if it is on this host.
std::optional<inet_diag_msg> FindFarEnd(int socket, bool& full) {
  full = false;
  const std::optional<End> far = ReadEnd(socket, ::getpeername), near = ReadEnd(socket, ::getsockname);
  if (!far || !near) return std::nullopt;
  SocketQuery query{};
  query.header.nlmsg_len = sizeof(query);
  query.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  query.header.nlmsg_flags = NLM_F_REQUEST;
  query.about.sdiag_family = static_cast<__u8>(far->family);
  query.about.sdiag_protocol = IPPROTO_TCP;
  query.about.idiag_states = ~0U;
  inet_diag_sockid& id = query.about.id;
  id.idiag_sport = far->port;
  id.idiag_dport = near->port;
  std::memcpy(id.idiag_src, far->address, sizeof(far->address));
  std::memcpy(id.idiag_dst, near->address, sizeof(near->address));
  id.idiag_cookie[0] = id.idiag_cookie[1] = static_cast<__u32>(INET_DIAG_NOCOOKIE);
  return QuerySocket(query, full);
}

}  // namespace

// A socket that its process has closed has no owner, and the kernel reports root.
std::optional<uid_t> FindPeerUser(int socket) {
  bool full = false;
  const std::optional<inet_diag_msg> found = FindFarEnd(socket, full);
  if (!found || found->idiag_state != TCP_ESTABLISHED) return std::nullopt;
  return found->idiag_uid;
}

// In this order: an end that is closed between the two looks is seen by the second. What this end holds established
// may be half closed at the other, where bytes still wait to be sent.
bool IsOwnPeer(int socket) {
  if (!ReadEnd(socket, ::getsockname)) return true;
  bool full = false;
  const std::optional<inet_diag_msg> found = FindFarEnd(socket, full);
  if (full) return false;
  if (found && (found->idiag_state != TCP_ESTABLISHED || found->idiag_uid != ::geteuid())) return false;
  return IsEstablished(socket);
}

}  // namespace retort::cluster
