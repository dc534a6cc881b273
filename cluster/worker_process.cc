#include "cluster/worker_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "cluster/host.h"
#include "cluster/spawn_setup.h"

namespace retort::cluster {
namespace {

std::string FormatErrno(int error) { return std::generic_category().message(error); }

// Owns the descriptor of a worker's log.
struct LogFile {
  LogFile() = default;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() {
    if (fd >= 0) ::close(fd);
  }
  // 0 or an errno value. Here and not by the child: who waits for it could not be stopped while that waits for a pipe.
  int Open(const std::string& path) {
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0) return errno;
    return S_ISFIFO(status.st_mode) ? ENXIO : 0;
  }
  int fd = -1;
};

// 0 or an errno value.
int PrepareSpawn(SpawnSetup& setup, int socket, int log) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigdelset(&all, SIGKILL);
  ::sigdelset(&all, SIGSTOP);
  int error = setup.ResetSignals(all);
  if (error == 0 && log >= 0) error = setup.Copy(log, 2);  // its number may be the next
  if (error == 0) error = setup.Copy(socket, kWorkerSocket);
  if (error == 0) error = setup.CloseInput();
  if (error == 0) error = setup.Copy(2, 1);
  if (error == 0) error = setup.CloseFrom(kWorkerSocket + 1);
  return error;
}

enum class Life { running, ended, unknown };

// Looks without reaping: while the child is a zombie its id and group stay its own.
Life LookUpLife(pid_t pid) {
  siginfo_t state{};
  if (::waitid(P_PID, static_cast<id_t>(pid), &state, WEXITED | WNOHANG | WNOWAIT) != 0) return Life::unknown;
  return state.si_pid == pid ? Life::ended : Life::running;
}

// Signals that a program does not bring upon itself.
bool IsFromOutside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

// Of a program that the dynamic loader gave up.
constexpr int kNotLoaded = 127;

ExitReport MakeExitReport(pid_t pid, int status, bool by_agent, bool short_of_memory) {
  ExitReport report;
  const std::string who = "Worker process " + std::to_string(pid);
  if (WIFSIGNALED(status)) {
    report.signalled = true;
    report.value = WTERMSIG(status);
    const char* const name = ::sigabbrev_np(report.value);
    report.text = who + " was killed by " +
                  (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(report.value));
    if (const char* const words = ::sigdescr_np(report.value)) report.text += " (" + std::string(words) + ")";
    if (by_agent) {
      report.text += " on request of its agent";
    } else if (report.value == SIGKILL && short_of_memory) {
      report.failure = FailureKind::out_of_memory;
      report.text += " while the kernel was ending processes for lack of memory";
    } else if (IsFromOutside(report.value)) {
      report.failure = FailureKind::worker_killed;
      report.text += " from outside";
    }
  } else {
    report.value = WEXITSTATUS(status);
    report.text = who + " exited with code " + std::to_string(report.value);
    if (report.value == kNotLoaded)
      report.text +=
          ": a library that it needs is not there, or is another version, and its log says which. Where it is "
          "LibTorch's, "
          "set TORCH_DIR to the folder of the Python package torch for which this retort was built";
  }
  report.text += ".";
  return report;
}

std::string_view NameIn(std::string_view entry) { return entry.substr(0, entry.find('=')); }

}  // namespace

Status CheckWorkerProgram(const std::string& program) {
  if (::access(program.c_str(), X_OK) == 0) return {};
  return EnvironmentError("The worker program " + program + " cannot be run: " + FormatErrno(errno) +
                          ". Build the target retort-worker, or put the file there.");
}

Result<WorkerProcess> WorkerProcess::Spawn(const WorkerCommand& command) {
  RETORT_RETURN_IF_ERROR(CheckWorkerProgram(command.program));
  RETORT_ASSIGN_OR_RETURN(const SocketPair sockets, MakeSocketPair());
  SocketLink ours(sockets.first, SendMode::queued);
  const SocketLink theirs(sockets.second);

  std::vector<std::string> arguments = command.arguments;
  arguments.insert(arguments.begin(), command.program);
  SpawnSetup setup;
  pid_t pid = -1;
  LogFile log;
  int error = command.log_path.empty() ? 0 : log.Open(command.log_path);
  if (error == 0) error = PrepareSpawn(setup, theirs.fd(), log.fd);
  if (error == 0) error = setup.Start(command.program, arguments, command.environment, pid);
  if (error != 0) {
    const std::string where = command.log_path.empty() ? "" : " (its log is " + command.log_path + ")";
    return EnvironmentError("The worker program " + command.program + where +
                            " could not be started: " + FormatErrno(error) + ".");
  }
  return WorkerProcess(pid, std::move(ours));
}

WorkerProcess::WorkerProcess(pid_t pid, SocketLink link)
    : pid_(pid),
      oom_kills_before_(CountOomKills()),
      oom_kills_(oom_kills_before_),
      checked_at_(std::chrono::steady_clock::now()),
      link_(std::move(link)) {}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      killed_(other.killed_),
      oom_kills_before_(other.oom_kills_before_),
      oom_kills_(other.oom_kills_),
      checked_at_(other.checked_at_),
      link_(std::move(other.link_)) {}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  if (this == &other) return *this;
  End();
  pid_ = std::exchange(other.pid_, -1);
  killed_ = other.killed_;
  oom_kills_before_ = other.oom_kills_before_;
  oom_kills_ = other.oom_kills_;
  checked_at_ = other.checked_at_;
  link_ = std::move(other.link_);
  return *this;
}

WorkerProcess::~WorkerProcess() { End(); }

std::optional<ExitReport> WorkerProcess::Reap() {
  if (pid_ <= 0) return std::nullopt;
  const Life life = LookUpLife(pid_);
  if (life == Life::running) {
    CheckOomKills();
    return std::nullopt;
  }
  if (life == Life::ended) KillGroup();
  int status = 0;
  const pid_t pid = std::exchange(pid_, -1);
  if (life == Life::unknown || ::waitpid(pid, &status, 0) != pid) {
    ExitReport report;
    report.text = "Worker process " + std::to_string(pid) + " is gone and its exit status was taken by someone else.";
    return report;
  }
  return MakeExitReport(pid, status, killed_, CountOomKills() > oom_kills_before_);
}

void WorkerProcess::CheckOomKills() {
  const auto now = std::chrono::steady_clock::now();
  if (now - checked_at_ < std::chrono::seconds(1)) return;
  checked_at_ = now;
  oom_kills_before_ = oom_kills_;
  oom_kills_ = CountOomKills();
}

void WorkerProcess::Kill() {
  killed_ = true;
  KillGroup();
}

void WorkerProcess::KillGroup() const {
  if (pid_ > 1) ::kill(-pid_, SIGKILL);
}

// A process that the kernel cannot end at once (stuck in a device) is left to it after two seconds.
void WorkerProcess::End() noexcept {
  link_.Close();
  if (pid_ <= 0) return;
  KillGroup();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (::waitpid(pid_, nullptr, WNOHANG) == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = -1;
}

bool IsLauncherVariable(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kPrefixes = {
      "OMPI_", "PMIX_", "ORTE_", "OPAL_", "PRTE_", "PMI_", "PMI2_", "HYDRA_", "SLURM_STEP", "SLURM_SRUN"};
  static constexpr std::array<std::string_view, 10> kNames = {
      "SLURM_PROCID", "SLURM_LOCALID",  "SLURM_NODEID", "SLURM_TASK_PID",       "SLURM_NTASKS",
      "SLURM_NPROCS", "SLURM_MPI_TYPE", "SLURM_GTIDS",  "SLURM_TASKS_PER_NODE", "RETORT_EXIT_CODE_FILE"};
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::ranges::find(kNames, name) != kNames.end();
}

namespace {

constexpr std::string_view kTorch = "TORCH_DIR=", kLibraries = "LD_LIBRARY_PATH=";

void AddTorchLibraries(std::vector<std::string>& environment) {
  const auto find = [&](std::string_view name) {
    return std::ranges::find_if(environment, [name](const std::string& entry) { return entry.starts_with(name); });
  };
  const auto torch = find(kTorch);
  if (torch == environment.end() || torch->size() == kTorch.size()) return;
  const std::string folder = torch->substr(kTorch.size()) + "/lib";
  const auto libraries = find(kLibraries);
  if (libraries == environment.end())
    environment.push_back(std::string(kLibraries) + folder);
  else
    libraries->insert(kLibraries.size(), folder + ":");
}

// OpenMP threads that wait by spinning starve other workers as soon as workers share cores, and the runtime reads how
// long to spin while it is loaded: it is too late for the worker itself. Some tens of microseconds: longer than the gap
// between two operations, shorter than a time slice.
void LimitSpinning(std::vector<std::string>& environment) {
  constexpr std::string_view kSpins = "GOMP_SPINCOUNT", kPolicy = "OMP_WAIT_POLICY";
  const auto is_chosen = [&](const std::string& entry) { return NameIn(entry) == kSpins || NameIn(entry) == kPolicy; };
  if (std::ranges::none_of(environment, is_chosen)) environment.push_back(std::string(kSpins) + "=1000");
}

}  // namespace

std::vector<std::string> MakeWorkerEnvironment(const std::vector<std::string>& inherited,
                                               const std::vector<std::pair<std::string, std::string>>& overrides) {
  const auto overridden = [&](std::string_view name) {
    return std::ranges::any_of(overrides, [&](const auto& entry) { return entry.first == name; });
  };
  std::vector<std::string> environment;
  for (const std::string& entry : inherited) {
    const std::string_view name = NameIn(entry);
    if (!IsLauncherVariable(name) && !overridden(name)) environment.push_back(entry);
  }
  for (const auto& [name, value] : overrides) environment.push_back(name + "=" + value);
  AddTorchLibraries(environment);
  LimitSpinning(environment);
  return environment;
}

Status DieWithParent(int socket_fd) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    return EnvironmentError(
        "The kernel does not end this process with its agent: " + std::generic_category().message(errno) + ".");
  }
  // The credentials of a socketpair are those of the process that made it.
  ucred agent{};
  socklen_t length = sizeof(agent);
  if (::getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &agent, &length) != 0) {
    return EnvironmentError("Descriptor " + std::to_string(socket_fd) +
                            " is not the socket of an agent. This program is started by retort, not by hand.");
  }
  if (::getppid() != agent.pid) return Cancelled("The agent that started this worker is gone.");
  return {};
}

[[gnu::noinline]] void ReserveStack() {
  constexpr std::size_t kBytes = 512UL << 10, kPage = 4096;  // a step of training uses less than half of it
  [[maybe_unused]] volatile char stack[kBytes];
  for (std::size_t at = 0; at < kBytes; at += kPage) stack[at] = 0;
}

}  // namespace retort::cluster
