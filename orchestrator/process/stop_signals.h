// The signals by which people and batch systems ask a run to end, as a descriptor to poll: SIGINT, SIGTERM, SIGUSR1,
// SIGUSR2, SIGXCPU, and SIGHUP unless it was ignored when the program began.
#pragma once

#include <array>
#include <csignal>
#include <string>

#include "experiments/base/status.h"

namespace retort::orchestrator {

// While it lives, they are blocked in the thread that made it and in every thread started
// after it, and can be read here; SIGPIPE and SIGXFSZ are ignored: a reader of stderr who leaves ends
// nothing, and a write past the limit of file sizes fails, as on a full disk. Restores all at its end.
class StopSignals {
 public:
  [[nodiscard]] static Result<StopSignals> Open();
  StopSignals(StopSignals&& other) noexcept;
  StopSignals& operator=(StopSignals&&) = delete;
  ~StopSignals();

  [[nodiscard]] int fd() const { return fd_; }
  // Reads what has come. `now`: monotonic seconds. A launcher and a terminal may both deliver what the
  // user meant once: signals less than kSameSignalSeconds after the first are part of it.
  void Read(double now);
  [[nodiscard]] bool stop() const { return first_ > 0; }           // the first has come
  [[nodiscard]] bool at_once() const { return at_once_; }          // and a second one
  [[nodiscard]] const std::string& name() const { return name_; }  // of the first: "SIGINT"

  static constexpr double kSameSignalSeconds = 0.5;
  static constexpr std::array<int, 2> kIgnored = {SIGPIPE, SIGXFSZ};

 private:
  StopSignals(int fd, sigset_t previous, const std::array<struct sigaction, 2>& ignored)
      : fd_(fd), previous_(previous), ignored_(ignored) {}
  int fd_ = -1;
  sigset_t previous_{};
  std::array<struct sigaction, 2> ignored_{};  // what was done before with kIgnored
  double first_ = 0;
  bool at_once_ = false;
  std::string name_;
};

}  // namespace retort::orchestrator
