#include "orchestrator/process/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace retort::orchestrator {
namespace {

std::string FindSignalName(std::uint32_t signal) {
  const char* abbreviation = sigabbrev_np(static_cast<int>(signal));
  return abbreviation == nullptr ? std::to_string(signal) : std::string("SIG") + abbreviation;
}

bool Ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Result<StopSignals> StopSignals::Open() {
  sigset_t wanted;
  sigset_t previous;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU}) sigaddset(&wanted, signal);
  if (!Ignored(SIGHUP)) sigaddset(&wanted, SIGHUP);  // by nohup
  if (const int error = pthread_sigmask(SIG_BLOCK, &wanted, &previous); error != 0)
    return EnvironmentError(std::string("cannot block signals: ") + std::strerror(error));
  const int fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    return EnvironmentError(std::string("cannot watch for signals: ") + std::strerror(error));
  }
  struct sigaction ignore {};
  std::array<struct sigaction, 2> ignored{};
  ignore.sa_handler = SIG_IGN;
  for (std::size_t i = 0; i < kIgnored.size(); ++i) sigaction(kIgnored[i], &ignore, &ignored[i]);
  return StopSignals(fd, previous, ignored);
}

StopSignals::StopSignals(StopSignals&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      previous_(other.previous_),
      ignored_(other.ignored_),
      first_(other.first_),
      at_once_(other.at_once_),
      name_(std::move(other.name_)) {}

StopSignals::~StopSignals() {
  if (fd_ < 0) return;
  // A signal that is still pending would end the process as soon as it is unblocked.
  signalfd_siginfo pending{};
  while (read(fd_, &pending, sizeof pending) == static_cast<ssize_t>(sizeof pending)) continue;
  close(fd_);
  for (std::size_t i = 0; i < kIgnored.size(); ++i) sigaction(kIgnored[i], &ignored_[i], nullptr);
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void StopSignals::Read(double now) {
  signalfd_siginfo signal{};
  while (read(fd_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
    if (first_ == 0) {
      first_ = now;
      name_ = FindSignalName(signal.ssi_signo);
    } else if (signal.ssi_signo != SIGXCPU && now - first_ >= kSameSignalSeconds) {  // that one comes once a second
      at_once_ = true;
    }
  }
}

}  // namespace retort::orchestrator
