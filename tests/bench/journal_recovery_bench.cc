// How long a results folder takes to recover, and how much memory, by the number of its trials:
//   journal_recovery_bench [TRIALS [FOLDER]]
// A journal of finished trials is written to a temporary folder and recovered by a process of its own. With FOLDER,
// which is there already, it is written into that, for other benchmarks, and not recovered.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/methods/spec_codec.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/recovery.h"
#include "storage/log/record_log.h"
#include "tests/testing/finished_sweep.h"

namespace {

using retort::orchestrator::Core;
using retort::orchestrator::Settings;

constexpr double kMostSeconds = 1.0;
constexpr int kRounds = 5;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

rusage Usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

// What is left of a crowded machine's seconds.
double CpuSeconds(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Settings MakeSettings(const std::string& folder) { return {.results = folder, .provenance_json = {}}; }

int WriteJournal(const std::string& folder, std::int64_t trials) {
  Core core(MakeSettings(folder));
  auto journal = retort::orchestrator::Journal::Open(retort::storage::PosixEnv(), folder, core);
  if (!journal.ok()) return 1;
  const retort::Status written = retort::testing::WriteFinishedSweep(*journal, trials);
  if (!written.ok()) std::fprintf(stderr, "%s\n", written.message().c_str());
  return written.ok() ? 0 : 1;
}

// In a process of its own, so that the peak of its memory is that of recovery alone.
int Recover(const std::string& folder, std::int64_t trials) {
  const double cpu_before = CpuSeconds(Usage());
  const auto start = std::chrono::steady_clock::now();
  const auto recovered = retort::orchestrator::RecoverResults(retort::storage::PosixEnv(), MakeSettings(folder));
  const double seconds = SecondsSince(start);
  if (!recovered.ok()) {
    std::fprintf(stderr, "%s\n", recovered.status().message().c_str());
    return 1;
  }
  const rusage usage = Usage();
  const bool whole = recovered->core.plan().size() == static_cast<std::size_t>(trials) && recovered->core.AllFinal() &&
                     recovered->core.missing_rows().empty();
  std::printf(
      "{\"trials\":%lld,\"journal_mib\":%.1f,\"recovery_seconds\":%.3f,\"cpu_seconds\":%.3f,\"peak_mib\":%."
      "1f}\n",
      static_cast<long long>(trials), static_cast<double>(recovered->journal.bytes()) / (1 << 20), seconds,
      CpuSeconds(usage) - cpu_before, static_cast<double>(usage.ru_maxrss) / 1024);
  std::fflush(stdout);
  if (!whole) return 1;
  return seconds < kMostSeconds ? 0 : 3;
}

template <typename F>
int InChild(F run) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(run());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

// 0: the fastest of the rounds kept the limit. 1: recovery lost something or failed.
int main(int argc, char** argv) {
  const std::int64_t trials = argc > 1 ? std::atoll(argv[1]) : 100000;
  if (argc > 2) return WriteJournal(argv[2], trials);
  std::string folder = (std::filesystem::temp_directory_path() / "retort-recovery-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  int code = InChild([&] { return WriteJournal(folder, trials); });
  for (int round = 0; code != 1 && round < kRounds; ++round) {
    const int here = InChild([&] { return Recover(folder, trials); });
    code = round == 0 || here == 1 ? here : std::min(code, here);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return code;
}
