#include "orchestrator/doctor/machine_check.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/timex.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "cluster/host.h"
#include "cluster/launch_environment.h"
#include "cluster/mpi_world.h"
#include "experiments/base/number_text.h"
#include "orchestrator/process/system_clock.h"

namespace retort::orchestrator::doctor {
namespace {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // version 1 writes a number near 2^63

std::optional<std::int64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// Of the line "<name> <number>".
std::int64_t FieldIn(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  for (std::int64_t value = 0; file >> word >> value;)
    if (word == name) return value;
  return 0;
}

void Lower(std::optional<double>& least, double value) { least = std::min(least.value_or(value), value); }

void TakeProcessors(const std::string& folder, ControlGroup& group) {
  std::ifstream file(folder + "/cpu.max");  // "max 100000", "150000 100000"
  double quota = 0, period = 0;
  if (file >> quota >> period && period > 0) Lower(group.processors, quota / period);
  const auto old_quota = NumberIn(folder + "/cpu.cfs_quota_us"), old_period = NumberIn(folder + "/cpu.cfs_period_us");
  if (old_quota && old_period && *old_quota > 0 && *old_period > 0)
    Lower(group.processors, static_cast<double>(*old_quota) / static_cast<double>(*old_period));
}

void TakeMemory(const std::string& folder, const char* limit, const char* used, const char* droppable,
                ControlGroup& group) {
  const auto most = NumberIn(folder + "/" + limit);
  if (!most || *most >= kNoLimit || (group.memory && *most >= *group.memory)) return;
  group.memory = most;
  group.memory_used = NumberIn(folder + "/" + used).value_or(0) - FieldIn(folder + "/memory.stat", droppable);
}

// The folder `path` below `top` and each above it, `top` included.
void Take(const std::string& top, std::string path, ControlGroup& group) {
  for (;;) {
    const std::string folder = path == "/" ? top : top + path;
    TakeProcessors(folder, group);
    TakeMemory(folder, "memory.max", "memory.current", "inactive_file", group);
    TakeMemory(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", group);
    if (path.empty() || path == "/") return;
    path.erase(path.rfind('/'));
  }
}

}  // namespace

ControlGroup ReadControlGroup(const std::string& group_file, const std::string& mount) {
  ControlGroup group;
  std::ifstream file(group_file);
  for (std::string line; std::getline(file, line);) {  // "0::/a/b"; version 1: "4:cpu,cpuacct:/a/b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path.empty() || path.front() != '/' || path.find("/..") != std::string::npos) path = "/";
    Take(controllers.empty() ? mount : mount + "/" + controllers, path, group);
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');)
      if (name != controllers) Take(mount + "/" + name, path, group);
  }
  return group;
}

namespace {

constexpr int kThreads = 2;  // of a trial, where the sweep file names no other number
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kWorkerStarts = 256 * kMiB;   // LibTorch alone
constexpr std::int64_t kWorkerTrains = 1024 * kMiB;  // with a small network and its data

std::string Bytes(std::int64_t bytes) {
  return FormatBytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

std::string Slots(int slots) { return fmt::format("{} {}", slots, slots == 1 ? "slot" : "slots"); }

}  // namespace

ProcessorFacts ReadProcessorFacts(const std::vector<std::string>& environment, int slots) {
  ProcessorFacts facts;
  facts.slots = slots;
  const cluster::HostTopology host = cluster::DiscoverHost(environment);
  facts.online = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  facts.allowed = host.cpus;
  facts.online = std::max(facts.online, facts.allowed);
  facts.rank = cluster::MayJoinWorld(cluster::ReadLaunchEnvironment(environment));
  facts.devices = host.cuda_devices;
  facts.group = ReadControlGroup();
  facts.memory_available = cluster::ReadAvailableMemory();
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

double CountProcessors(const ProcessorFacts& facts) {
  return std::min(static_cast<double>(facts.allowed), facts.group.processors.value_or(facts.allowed));
}

Finding CheckProcessors(const ProcessorFacts& facts) {
  const double usable = CountProcessors(facts);
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

std::optional<Finding> CheckThreads(const ProcessorFacts& facts) {
  if (!facts.bound_by.empty() && facts.slots > 1 && facts.devices == 0)
    return Finding{"OpenMP", Level::warning,
                   facts.bound_by + " binds the threads of every worker to the same processors",
                   "unset " + facts.bound_by.substr(0, facts.bound_by.find('='))};
  if (!facts.thread_limit.empty() && std::atoi(facts.thread_limit.c_str()) < kThreads)
    return Finding{"OpenMP", Level::warning,
                   fmt::format("OMP_THREAD_LIMIT={} is less than a trial's {} threads", facts.thread_limit, kThreads),
                   "unset OMP_THREAD_LIMIT"};
  if (!facts.threads.empty())
    return Finding{"OpenMP", Level::note,
                   "OMP_NUM_THREADS=" + facts.threads + " changes nothing: a trial takes as many as trial.threads says",
                   ""};
  return std::nullopt;
}

Finding CheckMemory(const ProcessorFacts& facts) {
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
    return {"memory", Level::warning, fmt::format("{}: less than 1 GiB for each of {}", what, Slots(facts.slots)),
            "fewer --slots, or ask the batch system for more (--mem)"};
  return {"memory", Level::ok, what};
}

Finding CheckSharedMemory(const ProcessorFacts& facts) {
  const std::string docker = "in a container, start it with --shm-size=1g";
  if (!facts.shared_memory)
    return {"shared memory", Level::warning, "there is no /dev/shm, through which ranks of one host talk", docker};
  const std::string what = fmt::format("{} free in /dev/shm", Bytes(*facts.shared_memory));
  if (facts.devices > 1 && *facts.shared_memory <= 64 * kMiB)
    return {"shared memory", Level::warning, what + ": too little for NCCL between several GPUs", docker};
  if (*facts.shared_memory < 16 * kMiB)
    return {"shared memory", Level::warning, what + ": too little for mpirun's ranks",
            "remove what lies there (ls -l /dev/shm), or " + docker};
  return {"shared memory", Level::ok, what};
}

namespace {

constexpr double kLongAgo = 1'735'689'600;  // 2025-01-01: no such program existed before
constexpr double kRunGraceSeconds = 25;     // of `run`, where --grace says nothing else

}  // namespace

ClockFacts ReadClockFacts(const std::vector<std::string>& environment) {
  ClockFacts facts;
  const Now first = ReadClocks();
  facts.unix_seconds = first.unix_seconds;
  timex kernel{};
  const int state = ::adjtimex(&kernel);
  if (state >= 0) {
    facts.synchronised = state != TIME_ERROR && (kernel.status & STA_UNSYNC) == 0;
    facts.estimated_error = static_cast<double>(kernel.esterror) * 1e-6;
  }
  facts.monotonic_step = ReadClocks().monotonic - first.monotonic;
  const Result<std::optional<cluster::AllocationEnd>> end = cluster::FindAllocationEnd(environment);
  if (!end.ok()) {
    facts.end_trouble = end.status().message();
  } else if (end->has_value()) {
    facts.seconds_left = (*end)->unix_seconds - facts.unix_seconds;
    facts.named_by = (*end)->named_by;
  }
  return facts;
}

Finding CheckClock(const ClockFacts& facts) {
  const std::string remedy = "sudo timedatectl set-ntp true, or start chronyd";
  if (facts.monotonic_step < 0)
    return {"clock", Level::problem, "the monotonic clock runs backwards: no deadline can be kept",
            "restart the host; report its kernel"};
  if (facts.unix_seconds < kLongAgo)
    return {"clock", Level::warning, "the date lies before 2025: times in results would be wrong", remedy};
  if (!facts.synchronised) return {"clock", Level::ok, "runs; the kernel does not say whether NTP keeps it"};
  if (!*facts.synchronised)
    return {"clock", Level::note, "the kernel says that nothing synchronises it: hosts of one run may differ", remedy};
  return {"clock", Level::ok, fmt::format("kept by NTP, within {:.0f} ms", facts.estimated_error * 1e3)};
}

std::optional<Finding> CheckAllocation(const ClockFacts& facts) {
  if (!facts.end_trouble.empty())
    return Finding{"allocation", Level::problem, facts.end_trouble, "unset RETORT_END_TIME, or set it to Unix seconds"};
  if (!facts.seconds_left) return std::nullopt;
  if (*facts.seconds_left <= 0)
    return Finding{"allocation", Level::problem, "it has ended (" + facts.named_by + ")", "run in a new allocation"};
  if (*facts.seconds_left <= kRunGraceSeconds + cluster::kClosingSeconds)
    return Finding{"allocation", Level::problem,
                   fmt::format("it ends in {} ({}): too little to start anything", FormatDuration(*facts.seconds_left),
                               facts.named_by),
                   "run in a new allocation"};
  return Finding{"allocation", Level::ok,
                 fmt::format("it ends in {} ({}); a run saves and stops before", FormatDuration(*facts.seconds_left),
                             facts.named_by)};
}

}  // namespace retort::orchestrator::doctor
