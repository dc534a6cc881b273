#include "orchestrator/doctor/processor_check.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "cluster/host_memory.h"
#include "cluster/launch_environment.h"
#include "cluster/topology.h"
#include "orchestrator/cli/number_text.h"

namespace retort::orchestrator::doctor {
namespace {

constexpr int kThreads = 2;  // of a trial, where the sweep file names no other number
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kWorkerStarts = 256 * kMiB;   // LibTorch alone
constexpr std::int64_t kWorkerTrains = 1024 * kMiB;  // with a small network and its data

std::string Bytes(std::int64_t bytes) {
  return cli::BytesText(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

std::string Slots(int slots) { return fmt::format("{} {}", slots, slots == 1 ? "slot" : "slots"); }

}  // namespace

ProcessorFacts LookAtProcessors(const std::vector<std::string>& environment, int slots) {
  ProcessorFacts facts;
  facts.slots = slots;
  const cluster::HostTopology host = cluster::DiscoverHost(environment);
  facts.online = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  facts.allowed = host.cpus;
  facts.online = std::max(facts.online, facts.allowed);
  facts.rank = cluster::ReadLaunchEnvironment(environment).under_mpi;
  facts.devices = host.cuda_devices;
  facts.group = ReadControlGroup();
  facts.memory_available = cluster::AvailableMemory();
  struct statvfs shared {};
  if (::statvfs("/dev/shm", &shared) == 0)
    facts.shared_memory = static_cast<std::int64_t>(std::uint64_t{shared.f_bavail} * shared.f_frsize);
  for (const char* name : {"OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    const std::string value = cluster::FindVariable(environment, name).value_or("");
    if (!value.empty() && value != "false" && value != "FALSE" && value != "disabled" && value != "none")
      facts.bound_by = fmt::format("{}={}", name, value);
  }
  facts.threads = cluster::FindVariable(environment, "OMP_NUM_THREADS").value_or("");
  facts.thread_limit = cluster::FindVariable(environment, "OMP_THREAD_LIMIT").value_or("");
  return facts;
}

double ProcessorsOf(const ProcessorFacts& facts) {
  return std::min(static_cast<double>(facts.allowed), facts.group.processors.value_or(facts.allowed));
}

Finding JudgeProcessors(const ProcessorFacts& facts) {
  const double usable = ProcessorsOf(facts);
  std::string what = fmt::format("{} of {}", facts.allowed, facts.online);
  if (facts.group.processors && usable < facts.allowed)
    what += fmt::format(", of which the control group grants the time of {:.3g}", usable);
  if (facts.rank && facts.allowed < facts.online)
    return {"processors", Level::warning, what + ": mpirun binds this rank and all its workers to them",
            "cluster/launch/mpirun.sh, or mpirun --bind-to none"};
  if (facts.devices > 0) return {"processors", Level::ok, what};
  const int wanted = facts.slots * kThreads;
  what += fmt::format("; {} of {} threads", Slots(facts.slots), kThreads);
  if (wanted <= usable + 0.05) {
    const int room = static_cast<int>(usable) / kThreads;
    if (room > facts.slots) what += fmt::format(", room for {}", room);
    return {"processors", Level::ok, what};
  }
  const int fitting = std::max(1, static_cast<int>(usable) / kThreads);
  if (facts.slots == 1)  // one worker works anywhere
    return {"processors", Level::note, what + ": more than there is time for", ""};
  return {"processors", Level::warning, fmt::format("{} want {}: they wait for each other", what, wanted),
          fitting * kThreads > usable + 0.05 ? "--slots 1, or trial.threads=1"
                                             : fmt::format("--slots {}, or trial.threads=1", fitting)};
}

std::optional<Finding> JudgeThreads(const ProcessorFacts& facts) {
  if (!facts.bound_by.empty() && facts.slots > 1 && facts.devices == 0)
    return Finding{"OpenMP", Level::warning,
                   facts.bound_by + " binds the threads of every worker to the same processors",
                   "unset " + facts.bound_by.substr(0, facts.bound_by.find('='))};
  if (!facts.thread_limit.empty() && std::atoi(facts.thread_limit.c_str()) < kThreads)
    return Finding{
        "OpenMP", Level::warning,
        fmt::format("OMP_THREAD_LIMIT={} is less than a trial's {} threads", facts.thread_limit, kThreads),
        "unset OMP_THREAD_LIMIT"};
  if (!facts.threads.empty())
    return Finding{
        "OpenMP", Level::note,
        "OMP_NUM_THREADS=" + facts.threads + " changes nothing: a trial takes as many as trial.threads says",
        ""};
  return std::nullopt;
}

Finding JudgeMemory(const ProcessorFacts& facts) {
  std::optional<std::int64_t> free;
  std::string by = "available";
  if (facts.memory_available > 0) free = facts.memory_available;
  if (facts.group.memory) {
    const std::int64_t left = std::max<std::int64_t>(*facts.group.memory - facts.group.memory_used, 0);
    if (!free || left < *free) {
      free = left;
      by = "left in the control group";
    }
  }
  if (!free) return {"memory", Level::note, "the kernel does not say how much is available", ""};
  const std::string what = fmt::format("{} {}", Bytes(*free), by);
  if (*free < kWorkerStarts)
    return {"memory", Level::problem, what + ": too little for one worker",
            "end other programs, or ask the batch system for more (--mem)"};
  if (*free < facts.slots * kWorkerTrains)
    return {"memory", Level::warning,
            fmt::format("{}: less than 1 GiB for each of {}", what, Slots(facts.slots)),
            "fewer --slots, or ask the batch system for more (--mem)"};
  return {"memory", Level::ok, what};
}

Finding JudgeSharedMemory(const ProcessorFacts& facts) {
  const std::string docker = "in a container, start it with --shm-size=1g";
  if (!facts.shared_memory)
    return {"shared memory", Level::warning, "there is no /dev/shm, through which ranks of one host talk",
            docker};
  const std::string what = fmt::format("{} free in /dev/shm", Bytes(*facts.shared_memory));
  if (facts.devices > 1 && *facts.shared_memory <= 64 * kMiB)
    return {"shared memory", Level::warning, what + ": too little for NCCL between several GPUs", docker};
  if (*facts.shared_memory < 16 * kMiB)
    return {"shared memory", Level::warning, what + ": too little for mpirun's ranks",
            "remove what lies there (ls -l /dev/shm), or " + docker};
  return {"shared memory", Level::ok, what};
}

}  // namespace retort::orchestrator::doctor
