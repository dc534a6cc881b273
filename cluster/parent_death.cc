#include "cluster/parent_death.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace retort::cluster {

Status DieWithParent(int socket_fd) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    return EnvironmentError("The kernel does not end this process with its agent: " +
                            std::generic_category().message(errno) + ".");
  }
  // The credentials of a socketpair are those of the process that made it.
  ucred agent{};
  socklen_t length = sizeof(agent);
  if (::getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &agent, &length) != 0) {
    return EnvironmentError(
        "Descriptor " + std::to_string(socket_fd) +
        " is not the socket of an agent. This program is started by retort, not by hand.");
  }
  if (::getppid() != agent.pid) return Cancelled("The agent that started this worker is gone.");
  return {};
}

}  // namespace retort::cluster
