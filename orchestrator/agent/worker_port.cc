#include "orchestrator/agent/worker_port.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <utility>

#include "cluster/host.h"
#include "cluster/launch_environment.h"
#include "cluster/worker_process.h"
#include "experiments/base/printable.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "orchestrator/agent/worker_log_tail.h"
#include "storage/files/env.h"

namespace retort::orchestrator {
namespace {

constexpr std::uint64_t kLastOutputBytes = 400;

// A worker gets the path RESULTS/trials/<trial>; its log lies in RESULTS/workers.
Result<std::string> LogPath(const cluster::Start& start, WorldRank rank, int slot) {
  const std::filesystem::path results = std::filesystem::path(start.trial_directory).parent_path().parent_path();
  const std::filesystem::path log = GetWorkerLogPath(results.string(), rank.value, slot);
  RETORT_RETURN_IF_ERROR(storage::PosixEnv().CreateDirectories(log.parent_path().string()));
  return log.string();
}

bool IsSleep(const cluster::Start& start) {
  const Result<TrialSpec> spec = DecodeTrialSpec(start.spec);
  return spec.ok() && IsSleeper(FindKind(*spec));
}

// What was written to the log from `begin` on, at most the last kLastOutputBytes, on one line.
std::string ReadLastOutput(const std::string& path, std::uint64_t begin) {
  std::string text = ReadLogEnd(path, begin, kLastOutputBytes);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return MakeOneLine(text);
}

class ProcessWorkerPort final : public WorkerPort {
 public:
  ProcessWorkerPort(cluster::WorkerProcess process, std::string log, std::uint64_t log_begin)
      : process_(std::move(process)), log_(std::move(log)), log_begin_(log_begin) {}

  Status Send(const cluster::Envelope& envelope) override { return process_.link().Send(envelope); }
  Result<std::optional<cluster::Envelope>> Receive() override {
    return process_.link().Receive(std::chrono::milliseconds(0));
  }
  std::optional<WorkerEnd> Reap() override {
    const std::optional<cluster::ExitReport> report = process_.Reap();
    if (!report) return std::nullopt;
    WorkerEnd end{report->failure, report->text, !report->signalled};
    if (const std::string words = ReadLastOutput(log_, log_begin_); !words.empty())
      end.text += kWorkerOutputIntro + words;
    return end;
  }
  void Kill() override { process_.Kill(); }
  std::int64_t PeakBytes() const override { return cluster::ReadPeakResident(process_.pid()); }
  int fd() override { return process_.link().fd(); }

 private:
  cluster::WorkerProcess process_;
  std::string log_;
  std::uint64_t log_begin_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> MakeNcclEnvironment(const std::vector<std::string>& environment,
                                                                     const std::string& host, WorldRank rank,
                                                                     int slot) {
  std::vector<std::pair<std::string, std::string>> variables = {
      {"NCCL_HOSTID", fmt::format("{}-rank{}-slot{}", host, rank.value, slot)}};
  for (const auto& [name, value] : {std::pair("NCCL_SOCKET_IFNAME", "lo"), std::pair("NCCL_IB_DISABLE", "1")})
    if (!cluster::FindVariable(environment, name)) variables.emplace_back(name, value);
  return variables;
}

WorkerSpawner MakeProcessSpawner(WorkerLaunch launch) {
  return [launch = std::move(launch)](int slot, const cluster::Start& start) -> Result<std::unique_ptr<WorkerPort>> {
    cluster::WorkerCommand command;
    command.program = launch.program;
    // retort-sleeper executes retort-worker when a trial comes that trains.
    if (!launch.sleep_program.empty() && IsSleep(start)) command.program = launch.sleep_program;
    command.environment = launch.environment;
    if (!launch.nccl_host.empty())
      command.environment = cluster::MakeWorkerEnvironment(
          launch.environment, MakeNcclEnvironment(launch.environment, launch.nccl_host, launch.rank, slot));
    RETORT_ASSIGN_OR_RETURN(command.log_path, LogPath(start, launch.rank, slot));
    const std::uint64_t log_begin = FindLogSize(command.log_path);
    RETORT_ASSIGN_OR_RETURN(cluster::WorkerProcess process, cluster::WorkerProcess::Spawn(command));
    return std::unique_ptr<WorkerPort>(
        std::make_unique<ProcessWorkerPort>(std::move(process), command.log_path, log_begin));
  };
}

}  // namespace retort::orchestrator
