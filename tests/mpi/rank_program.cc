// A rank as small as can be, for the tests of launching and ending: waits for messages like an agent
// until SIGUSR1, then finalises; world rank 0 writes the exit code. Arguments: [first-action].
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "cluster/mpi_world.h"
#include "cluster/waiting.h"

namespace {

volatile std::sig_atomic_t g_signals = 0;
void CountSignal(int /*number*/) { g_signals = g_signals + 1; }

void InstallHandlers() {
  struct sigaction action {};
  action.sa_handler = CountSignal;
  for (const int number : {SIGUSR1, SIGTERM, SIGINT}) ::sigaction(number, &action, nullptr);
}

int Leave(retort::cluster::MpiWorld& world, const retort::cluster::LaunchEnvironment& launch, int exit_code) {
  if (world.channel().rank().value == 0 && !launch.exit_code_file.empty())
    std::ofstream(launch.exit_code_file) << exit_code << "\n";
  const auto end = world.Finalize(std::chrono::seconds(20));
  if (!end.ok()) world.Abort(3);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string action = argc > 1 ? argv[1] : "wait";
  InstallHandlers();
  std::vector<std::string> environment;
  for (char** entry = ::environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  auto launch = retort::cluster::ReadLaunchEnvironment(environment);
  if (launch.mpi_library.empty()) launch.mpi_library = MPI_LIBRARY;
  if (!retort::cluster::MayJoinWorld(launch)) {
    const auto alone = retort::cluster::CheckWorldSize(launch, 1);
    std::fprintf(stderr, "%s\n", alone.ok() ? "alone" : alone.message().c_str());
    return alone.ok() ? 0 : 3;
  }
  auto world = retort::cluster::OpenMpiWorld(launch);
  if (!world.ok()) {
    std::fprintf(stderr, "%s\n", world.status().message().c_str());
    return 3;
  }
  const int rank = (*world)->channel().rank().value;
  std::printf("rank %d pid %d\n", rank, ::getpid());
  std::fflush(stdout);
  if (action == "silent") return Leave(**world, {}, 0);
  if (action == "linger") {  // rank 0 has its last word, and the others never leave
    if (rank == 0) std::ofstream(launch.exit_code_file) << 1 << "\n";
    for (;;) ::pause();
  }
  if (action.starts_with("exit-")) return Leave(**world, launch, std::atoi(action.c_str() + 5));
  retort::cluster::IdleWait wait;
  while (g_signals == 0) {
    if (!(*world)->channel().Receive().ok()) return 3;
    wait.Wait({}, std::chrono::milliseconds(1000));
  }
  std::printf("rank %d signalled %d\n", rank, static_cast<int>(g_signals));
  std::fflush(stdout);
  if (action == "stubborn") {
    while (g_signals < 2) wait.Wait({}, std::chrono::milliseconds(20));
    return Leave(**world, launch, 130);
  }
  return Leave(**world, launch, 75);
}
