// A worker that does on command what real ones do by accident. The command is the first argument:
// what it does after saying Hello.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "cluster/socket_link.h"
#include "cluster/worker_process.h"

namespace {

using retort::cluster::Envelope;
using retort::cluster::SocketLink;

[[noreturn]] void SleepForever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Sends back what it receives until the agent closes or says Stop.
int Echo(SocketLink& link) {
  for (;;) {
    auto envelope = link.Receive(std::chrono::hours(1));
    if (!envelope.ok()) return 0;
    if (!envelope->has_value()) continue;
    const bool stop = std::holds_alternative<retort::cluster::Stop>((*envelope)->message);
    if (!link.Send(**envelope).ok()) return 4;
    if (stop) return 0;
  }
}

// What this process was given: descriptors, signal state, group, environment. One line each.
std::string Surroundings() {
  std::string text;
  for (int fd = 0; fd < 256; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) text += "fd " + std::to_string(fd) + "\n";
  }
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigismember(&mask, number) == 1) text += "blocked " + std::to_string(number) + "\n";
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      text += "ignored " + std::to_string(number) + "\n";
    }
  }
  if (::getpgrp() == ::getpid()) text += "leads its group\n";
  for (char** entry = ::environ; *entry != nullptr; ++entry) text += "env " + std::string(*entry) + "\n";
  return text;
}

int ForkAndSleep() {
  const pid_t child = ::fork();
  if (child == 0) SleepForever();
  std::printf("grandchild %d\n", child);
  std::fflush(stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "echo";
  if (const auto status = retort::cluster::DieWithParent(retort::cluster::kWorkerSocket); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 3;
  }
  if (command == "exit-at-once") return 7;
  ::prctl(PR_SET_DUMPABLE, 0);  // no core files
  SocketLink link(retort::cluster::kWorkerSocket);
  const std::string detail = command == "surroundings" ? Surroundings() : std::string("fake");
  if (!link.Send(Envelope{{}, {}, 0, retort::cluster::Hello{detail, "cpu", {}}}).ok()) return 4;
  if (command == "echo") return Echo(link);
  if (command == "segfault") {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  if (command == "abort") std::abort();
  if (command == "hang") SleepForever();
  if (command == "stop") std::raise(SIGSTOP);
  if (command == "garbage") {
    const std::string garbage = "this is no envelope";
    static_cast<void>(::send(link.fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL));
    return Echo(link);
  }
  if (command == "fork") return ForkAndSleep();
  if (command == "write-log") {
    std::printf("to stdout\n");
    std::fflush(stdout);
    std::fprintf(stderr, "to stderr\n");
    return 0;
  }
  if (command.starts_with("exit-")) return std::atoi(command.c_str() + 5);
  return 5;
}
