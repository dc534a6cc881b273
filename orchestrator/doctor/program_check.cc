#include "orchestrator/doctor/program_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <regex>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "cluster/launch_environment.h"
#include "cluster/messages.h"
#include "cluster/mpi_world.h"
#include "cluster/spawn_setup.h"
#include "cluster/worker_process.h"
#include "orchestrator/agent/worker_query.h"
#include "orchestrator/process/environment.h"

namespace retort::orchestrator::doctor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxText = 16 << 10;
constexpr std::size_t kLineWidth = 160;
constexpr std::chrono::milliseconds kPause{5};
constexpr std::chrono::milliseconds kKillGrace{300};  // between SIGTERM and SIGKILL: mpirun removes its folders

// 0 or an errno value. The program writes to `output`.
int Start(const std::string& file, const std::vector<std::string>& words, const std::vector<std::string>& environment,
          int output, pid_t& pid) {
  cluster::SpawnSetup setup;
  int error = setup.CloseInput();
  for (const int to : {1, 2})
    if (error == 0) error = setup.Copy(output, to);
  if (error == 0) error = setup.CloseFrom(3);
  return error != 0 ? error : setup.Start(file, words, environment, pid);
}

// Until the end of the output or of the time; what goes beyond kMaxText is dropped.
std::string ReadUntil(int input, Clock::time_point until) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready{input, POLLIN, 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0) return text;
    const ssize_t count = ::read(input, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), std::min(static_cast<std::size_t>(count), kMaxText - text.size()));
  }
}

bool Reaped(pid_t pid, Clock::time_point until, int& status) {
  for (;;) {
    const pid_t reaped = ::waitpid(pid, &status, WNOHANG);
    if (reaped == pid || (reaped < 0 && errno != EINTR)) return true;
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

std::string FindProgram(const std::string& program, const std::vector<std::string>& environment) {
  const auto runs = [](const std::string& path) {
    std::error_code error;
    return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, error);
  };
  if (program.find('/') != std::string::npos) return runs(program) ? program : "";
  std::istringstream folders(cluster::FindVariable(environment, "PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string path = (folder.empty() ? "." : folder) + "/" + program; runs(path)) return path;
  return "";
}

ProgramRun RunProgram(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                      std::chrono::milliseconds limit) {
  ProgramRun run;
  const std::string file = FindProgram(words.front(), environment);
  if (file.empty()) return run;
  run.found = true;
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    run.text = std::generic_category().message(errno);
    return run;
  }
  const auto until = Clock::now() + limit;
  pid_t pid = -1;
  const int error = Start(file, words, environment, pipe[1], pid);
  ::close(pipe[1]);
  int status = 0;
  if (error != 0) {
    run.text = std::generic_category().message(error);
  } else {
    run.text = ReadUntil(pipe[0], until);
    run.timed_out = !Reaped(pid, until, status);
    if (run.timed_out) {
      ::kill(-pid, SIGTERM);
      const bool left = !Reaped(pid, Clock::now() + kKillGrace, status);
      ::kill(-pid, SIGKILL);
      if (left) (void)Reaped(pid, Clock::now() + kKillGrace, status);
    } else {
      run.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
  ::close(pipe[0]);
  return run;
}

std::string FindFirstLine(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" \t\r-=*");
    if (begin != std::string::npos) return line.substr(begin, kLineWidth);
  }
  return "";
}

namespace {

constexpr std::chrono::milliseconds kMpiVersionLimit{1500}, kStartLimit{3000};
constexpr const char* kInstall = "sudo apt-get install openmpi-bin libopenmpi-dev";
constexpr const char* kWrapper = "cluster/launch/mpirun.sh -np N retort run …";

// The MPI library itself says which it is; no MPI_Init is needed for that.
void LoadLibrary(MpiFacts& facts) {
  const Result<std::string> version = cluster::ReadMpiVersion(cluster::FindMpiLibrary(facts.launch));
  if (version.ok()) facts.library_version = FindFirstLine(*version);
  if (!version.ok()) facts.library_trouble = version.status().message();
}

int ReadNumber(const std::vector<std::string>& environment, const char* name) {
  const std::string text = cluster::FindVariable(environment, name).value_or("");
  int value = 1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool Says(const ProgramRun& run, const char* words) { return run.text.find(words) != std::string::npos; }

bool IsOpenMpi(const ProgramRun& version) { return Says(version, "Open MPI") || Says(version, "OpenRTE"); }

// The sentence in mpirun's box of dashes that says most.
std::string Complaint(const ProgramRun& run) {
  if (run.timed_out) return "no end within 3 s";
  const std::string line = FindFirstLine(run.text);
  return line.empty() ? fmt::format("exit code {}", run.code) : line;
}

void StartRanks(const std::vector<std::string>& environment, MpiFacts& facts) {
  std::vector<std::string> words = {facts.mpirun};
  const bool open = IsOpenMpi(facts.version);
  if (facts.root && open) words.emplace_back("--allow-run-as-root");
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return RunProgram(all, environment, kStartLimit);
  };
  facts.asked = true;
  facts.plain = with({"-np", "2", "true"});
  if (open && !facts.plain.succeeded() && !facts.plain.timed_out)
    facts.helped = with({"--oversubscribe", "-np", "2", "true"});
}

}  // namespace

MpiFacts ReadMpiFacts(const std::vector<std::string>& environment, bool built) {
  MpiFacts facts;
  facts.built = built;
  facts.launch = cluster::ReadLaunchEnvironment(environment);
  facts.allotted = ReadNumber(environment, "SLURM_NTASKS");
  facts.several_nodes = ReadNumber(environment, "SLURM_JOB_NUM_NODES") > 1;
  facts.root = ::geteuid() == 0;
  if (!built) return facts;
  LoadLibrary(facts);
  facts.joins = cluster::MayJoinWorld(facts.launch);
  facts.named = cluster::FindVariable(environment, "RETORT_MPIRUN").value_or("");
  facts.mpirun = FindProgram(facts.named.empty() ? "mpirun" : facts.named, environment);
  if (facts.mpirun.empty()) return facts;
  facts.version = RunProgram({facts.mpirun, "--version"}, environment, kMpiVersionLimit);
  // mpirun does not start inside a rank of its own.
  if (!facts.version.timed_out && facts.launch.declared_by.empty()) StartRanks(environment, facts);
  return facts;
}

std::string FindSeries(const std::string& version) {
  std::smatch found;
  return std::regex_search(version, found, std::regex(R"(\bv?(\d+\.\d+)(\.\d+)?)")) ? found[1].str() : "";
}

std::optional<Finding> CheckMpiLibrary(const MpiFacts& facts) {
  if (!facts.built) return std::nullopt;
  if (!facts.library_trouble.empty())
    return Finding{"MPI library", facts.launch.under_mpi ? Level::problem : Level::warning,
                   facts.library_trouble + ": no run under mpirun", std::string(kInstall) + "; then build again"};
  const std::string library = FindSeries(facts.library_version), launcher = FindSeries(facts.version.text);
  const bool open = facts.library_version.find("Open MPI") != std::string::npos;
  const bool answered = facts.version.found && !facts.version.timed_out;
  if (answered && open != IsOpenMpi(facts.version))
    return Finding{
        "MPI library", Level::warning,
        fmt::format("libretort_mpi.so is compiled for \"{}\", and {} is of another MPI: ranks would not find "
                    "each other",
                    facts.library_version, facts.mpirun),
        "name the mpirun of that MPI in RETORT_MPIRUN, or compile the library for this one: "
        "cluster/mpi/README.md"};
  if (answered && open && library != launcher)
    return Finding{
        "MPI library", Level::warning,
        fmt::format("libretort_mpi.so is compiled for Open MPI {}, {} is \"{}\": ranks would not find each other",
                    library, facts.mpirun, FindFirstLine(facts.version.text)),
        fmt::format("put the bin folder of Open MPI {} first in PATH, or name its mpirun in RETORT_MPIRUN", library)};
  return Finding{"MPI library", Level::ok, facts.library_version.substr(0, facts.library_version.find(','))};
}

Finding CheckMpirun(const MpiFacts& facts) {
  if (!facts.built)
    return {"mpirun", Level::note, "this build runs on one host, without MPI", "-DRETORT_BUILD_MPI=ON brings it"};
  if (facts.mpirun.empty()) {
    if (!facts.named.empty())
      return {"mpirun", Level::warning, "RETORT_MPIRUN=" + facts.named + " is no program", "unset RETORT_MPIRUN"};
    return {"mpirun", facts.several_nodes ? Level::warning : Level::note,
            "none in PATH: runs are of one process on one host", kInstall};
  }
  if (facts.version.timed_out)
    return {"mpirun", Level::warning, facts.mpirun + " --version does not end",
            "look at the disk that it is read from"};
  const std::string launcher = IsOpenMpi(facts.version) ? FindFirstLine(facts.version.text)
                                                        : facts.mpirun + " " + FindSeries(facts.version.text);
  if (!facts.asked) return {"mpirun", Level::ok, launcher};
  const bool allows_root = facts.root && IsOpenMpi(facts.version);
  const std::string root = allows_root ? " as root with --allow-run-as-root" : "";
  if (facts.plain.succeeded())
    return {"mpirun", Level::ok,
            fmt::format("{} starts two ranks{}", launcher, allows_root ? root + " (mpirun.sh gives it)" : "")};
  if (facts.helped && facts.helped->succeeded()) {
    const std::string why = Says(facts.plain, "slots") ? "it counts too few slots here" : Complaint(facts.plain);
    return {"mpirun", Level::note, fmt::format("starts two ranks{} with --oversubscribe alone: {}", root, why),
            fmt::format("start ranks with {}, which gives it", kWrapper)};
  }
  const ProgramRun& last = facts.helped ? *facts.helped : facts.plain;
  return {"mpirun", Level::warning,
          fmt::format("{} does not start two ranks{}: {}", facts.mpirun, root, Complaint(last)),
          last.timed_out ? "mpirun --mca plm_base_verbose 5 -np 2 true shows where it waits; a host name that does not "
                           "resolve is the usual cause"
                         : "mpirun -np 2 true says more"};
}

std::optional<Finding> CheckRanks(const MpiFacts& facts) {
  const cluster::LaunchEnvironment& launch = facts.launch;
  if (launch.declared_ranks < 1)
    return Finding{"ranks", Level::problem, launch.declared_by + " is no number of processes",
                   "unset " + launch.declared_by};
  const bool joins = launch.under_mpi || facts.joins;
  if (!joins && launch.declared_ranks > 1)
    return Finding{
        "ranks", Level::problem,
        fmt::format("{}={} started this process, but there is no MPI world: each would take itself for the only one",
                    launch.declared_by, launch.declared_ranks),
        fmt::format("cluster/launch/mpirun.sh -np {} retort run … in place of srun", launch.declared_ranks)};
  if (joins) return Finding{"ranks", Level::ok, fmt::format("one of {} in an MPI world", launch.declared_ranks)};
  if (facts.allotted > 1)
    return Finding{"ranks", Level::note,
                   fmt::format("the Slurm allocation is for {} tasks, and this is one process: started like this, "
                               "`retort run` uses its host alone",
                               facts.allotted),
                   fmt::format("cluster/launch/mpirun.sh -np {} retort run …", facts.allotted)};
  return std::nullopt;
}

namespace {

constexpr std::chrono::seconds kWorkerVersionLimit{4};
constexpr std::chrono::seconds kReportLimit{4};
constexpr int kTrialThreads = 2;  // of a trial, where the sweep file names no other number
// A processor of the last ten years does 30 to 150 a core with AVX2, about 3 with a BLAS of plain loops.
constexpr double kSlowGflops = 8;
constexpr const char* kBuildWorker = "build it: cmake --build --preset release --target retort-worker";

constexpr const char* kColdDisk =
    "run doctor again: LibTorch is slow to read for the first time; then look at the disk that it is on";

bool Loads(const ProgramRun& version) {
  return version.text.find("error while loading shared libraries") == std::string::npos;
}

}  // namespace

WorkerFacts ReadWorkerFacts(const std::vector<std::string>& environment, const std::string& build) {
  WorkerFacts facts;
  facts.build = build;
  facts.program = cluster::FindVariable(environment, "RETORT_WORKER").value_or("");
  facts.named = !facts.program.empty();
  if (!facts.named) facts.program = GetProgramDirectory() + "/retort-worker";
  facts.sleeper = cluster::CheckWorkerProgram(GetProgramDirectory() + "/retort-sleeper").ok();
  facts.cannot_run = cluster::CheckWorkerProgram(facts.program).message();
  if (!facts.cannot_run.empty()) return facts;
  const std::vector<std::string> clean = cluster::MakeWorkerEnvironment(environment, {});
  facts.version = RunProgram({facts.program, "--version"}, clean, kWorkerVersionLimit);
  if (!facts.version.succeeded()) return facts;
  const auto asked = std::chrono::steady_clock::now();
  const Result<std::string> answer = QueryWorker(
      {facts.program, clean, cluster::kReportArgument, std::to_string(kTrialThreads), "LibTorch", kReportLimit},
      [](const cluster::Progress&) {});
  if (!answer.ok()) {
    facts.no_report = answer.status().message();
    facts.silent = std::chrono::steady_clock::now() - asked >= kReportLimit;
    return facts;
  }
  Result<cluster::WorkerReport> report = cluster::DecodeWorkerReport(*answer);
  if (report.ok())
    facts.report = *std::move(report);
  else
    facts.no_report = report.status().message();
  return facts;
}

Finding CheckWorker(const WorkerFacts& facts) {
  const std::string unset = facts.named ? "unset RETORT_WORKER, which names it" : kBuildWorker;
  if (!facts.cannot_run.empty())
    return {"worker", Level::problem, facts.cannot_run,
            facts.named ? unset : std::string(kBuildWorker) + ", and keep it beside retort"};
  const ProgramRun& version = facts.version;
  if (version.timed_out)
    return {"worker", Level::warning, facts.program + " does not say its version within 4 s", kColdDisk};
  if (!version.succeeded())
    return {"worker", Level::problem, fmt::format("{} does not start: {}", facts.program, FindFirstLine(version.text)),
            Loads(version) ? unset : "bash cluster/setup.sh brings the libraries; then build again"};
  const std::string expected = "retort-worker " + facts.build;
  const std::string said = FindFirstLine(version.text);
  const bool other_messages = facts.report && facts.report->envelope != cluster::kEnvelopeVersion;
  if (said != expected || other_messages)
    return {
        "worker", Level::problem,
        fmt::format("{} is of another build: it says \"{}\"{}, this program expects \"{}\"", facts.program, said,
                    other_messages ? fmt::format(" and messages of version {}", facts.report->envelope) : "", expected),
        "build both from the same sources: cmake --build --preset release"};
  if (!facts.sleeper && !facts.named)
    return {"worker", Level::warning,
            said + " starts; retort-sleeper is not beside retort, so idle workers hold LibTorch",
            "build it: cmake --build --preset release --target retort-sleeper"};
  return {"worker", Level::ok, fmt::format("{} starts ({})", said, facts.program)};
}

Finding CheckLibTorch(const WorkerFacts& facts) {
  if (facts.silent) return {"LibTorch", Level::warning, "the worker program has not started it within 4 s", kColdDisk};
  if (!facts.report)
    return {"LibTorch", Level::problem, "the worker program does not report on it: " + facts.no_report,
            "bash cluster/setup.sh brings LibTorch; then build again"};
  const cluster::WorkerReport& report = *facts.report;
  const std::string speed = fmt::format("{}, {} threads with {} multiply at {:.0f} GFLOP/s", report.torch,
                                        report.threads, report.capability, report.gflops);
  if (report.capability == "DEFAULT" || report.capability == "NO AVX")
    return {"LibTorch", Level::warning, speed + ": outside its BLAS it uses no vector instructions",
            "unset ATEN_CPU_CAPABILITY, or use a processor with AVX2"};
  if (report.gflops < kSlowGflops * static_cast<double>(report.threads))
    return {"LibTorch", Level::warning, speed + ": that is slow",
            "look at what else runs on these cores (top), and at the control group's CPU quota"};
  return {"LibTorch", Level::ok, speed};
}

}  // namespace retort::orchestrator::doctor
