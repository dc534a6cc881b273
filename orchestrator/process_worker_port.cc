#include "orchestrator/process_worker_port.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cluster/host_memory.h"
#include "cluster/worker_process.h"
#include "experiments/spec/printable.h"
#include "experiments/spec/spec_codec.h"
#include "experiments/spec/trial_kind.h"
#include "orchestrator/attempt_logs.h"
#include "storage/env.h"

namespace retort::orchestrator {
namespace {

constexpr std::uintmax_t kLastWordsBytes = 400;

std::uintmax_t SizeOf(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

// RESULTS/trials/<trial> is what a worker is told; its log lies in RESULTS/workers.
Result<std::string> LogPath(const cluster::Start& start, WorldRank rank, int slot) {
  const std::filesystem::path results =
      std::filesystem::path(start.trial_directory).parent_path().parent_path();
  const std::filesystem::path log = WorkerLogPath(results.string(), rank.value, slot);
  RETORT_RETURN_IF_ERROR(storage::PosixEnv().CreateDirectories(log.parent_path().string()));
  return log.string();
}

bool IsSleep(const cluster::Start& start) {
  const Result<TrialSpec> spec = DecodeTrialSpec(start.spec);
  return spec.ok() && KindOf(*spec) == TrialKind::sleeper;
}

// What was written to the log from `begin` on, at most the last kLastWordsBytes, on one line.
std::string LastWords(const std::string& path, std::uintmax_t begin) {
  const std::uintmax_t end = SizeOf(path);
  if (end <= begin) return "";
  const std::uintmax_t from = std::max(begin, end > kLastWordsBytes ? end - kLastWordsBytes : 0);
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(from));
  std::string text(static_cast<std::size_t>(end - from), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return OneLine(text);
}

class ProcessWorkerPort final : public WorkerPort {
 public:
  ProcessWorkerPort(cluster::WorkerProcess process, std::string log, std::uintmax_t log_begin)
      : process_(std::move(process)), log_(std::move(log)), log_begin_(log_begin) {}

  Status Send(const cluster::Envelope& envelope) override { return process_.link().Send(envelope); }
  Result<std::optional<cluster::Envelope>> Receive() override {
    return process_.link().Receive(std::chrono::milliseconds(0));
  }
  std::optional<WorkerEnd> Reap() override {
    const std::optional<cluster::ExitReport> report = process_.Reap();
    if (!report) return std::nullopt;
    WorkerEnd end{report->failure, report->text, !report->signalled};
    if (const std::string words = LastWords(log_, log_begin_); !words.empty())
      end.text += kItWrote + words;
    return end;
  }
  void Kill() override { process_.Kill(); }
  std::int64_t PeakBytes() const override { return cluster::PeakResident(process_.pid()); }
  int fd() override { return process_.link().fd(); }

 private:
  cluster::WorkerProcess process_;
  std::string log_;
  std::uintmax_t log_begin_;
};

}  // namespace

WorkerSpawner SpawnProcesses(WorkerLaunch launch) {
  return [launch = std::move(launch)](int slot,
                                      const cluster::Start& start) -> Result<std::unique_ptr<WorkerPort>> {
    cluster::WorkerCommand command;
    command.program = launch.program;
    // It becomes retort-worker when a trial comes that trains.
    if (!launch.sleep_program.empty() && IsSleep(start)) command.program = launch.sleep_program;
    command.environment = launch.environment;
    RETORT_ASSIGN_OR_RETURN(command.log_path, LogPath(start, launch.rank, slot));
    const std::uintmax_t log_begin = SizeOf(command.log_path);
    RETORT_ASSIGN_OR_RETURN(cluster::WorkerProcess process, cluster::WorkerProcess::Spawn(command));
    return std::unique_ptr<WorkerPort>(
        std::make_unique<ProcessWorkerPort>(std::move(process), command.log_path, log_begin));
  };
}

}  // namespace retort::orchestrator
