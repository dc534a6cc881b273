// retort-sleeper: started by an agent of `retort` where the first trial trains nothing. Talks over
// descriptor 3.
#include <unistd.h>

#include <array>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "cluster/socket_link.h"
#include "cluster/worker_process.h"
#include "storage/files/env.h"
#include "worker/sleep/sleep_service.h"

#ifndef RETORT_VERSION
#define RETORT_VERSION "unknown"
#endif

namespace {

int Fail(const retort::Status& status) {
  std::fprintf(stderr, "retort-sleeper: %s\n", status.message().c_str());
  return retort::GetExitCode(status.code());
}

std::string Beside(const char* name) {
  std::array<char, PATH_MAX> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  const std::string path(self.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return path.substr(0, path.rfind('/') + 1) + name;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("retort-sleeper " RETORT_VERSION);
    return 0;
  }
  if (const retort::Status status = retort::cluster::DieWithParent(retort::cluster::kWorkerSocket); !status.ok())
    return Fail(status);
  // As in retort-worker: what a terminal or a batch system means is the agent's business.
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGHUP, SIGPIPE, SIGXFSZ})
    std::signal(signal, SIG_IGN);
  retort::cluster::SocketLink link(retort::cluster::kWorkerSocket);
  const auto start = retort::worker::ServeSleep(link, retort::storage::PosixEnv(), RETORT_VERSION);
  if (!start.ok()) return Fail(start.status());
  if (!start->has_value()) return 0;
  return Fail(retort::worker::HandOverProcess(Beside("retort-worker"), argv, **start));
}
