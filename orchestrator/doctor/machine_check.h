// Checks processors, memory, control group and clocks of this host, and the end of the allocation that it is in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/doctor/report.h"

namespace retort::orchestrator::doctor {

struct ControlGroup {
  std::optional<double> processors;    // quota, in processors
  std::optional<std::int64_t> memory;  // limit, bytes
  std::int64_t memory_used = 0;        // bytes in the group that has this limit, without what the kernel can drop
};

// The least that the group of this process or one above it allows. `group_file`: as /proc/self/cgroup;
// `mount`: where the groups are. What cannot be read counts as no limit.
[[nodiscard]] ControlGroup ReadControlGroup(const std::string& group_file = "/proc/self/cgroup",
                                            const std::string& mount = "/sys/fs/cgroup");

// Processors and memory, against what as many workers as `--slots` want.

struct ProcessorFacts {
  int slots = 1;      // workers at once
  int online = 1;     // processors of the host
  int allowed = 1;    // that this process may run on
  bool rank = false;  // of an MPI job: then mpirun chose those
  ControlGroup group;
  std::int64_t memory_available = 0;          // bytes, of the host; 0 = not known
  std::optional<std::int64_t> shared_memory;  // bytes free in /dev/shm; nothing when it is not there
  int devices = 0;                            // GPUs that are shown
  std::string bound_by;                       // "OMP_PROC_BIND=true": a setting that binds all workers alike
  std::string threads;                        // OMP_NUM_THREADS, where it is set
  std::string thread_limit;                   // OMP_THREAD_LIMIT, where it is set
};

[[nodiscard]] ProcessorFacts ReadProcessorFacts(const std::vector<std::string>& environment, int slots);

// What this process may use: the least of affinity and quota.
[[nodiscard]] double CountProcessors(const ProcessorFacts& facts);
[[nodiscard]] Finding CheckProcessors(const ProcessorFacts& facts);
// OpenMP's own variables; nothing where none is set that hurts or misleads.
[[nodiscard]] std::optional<Finding> CheckThreads(const ProcessorFacts& facts);
[[nodiscard]] Finding CheckMemory(const ProcessorFacts& facts);
[[nodiscard]] Finding CheckSharedMemory(const ProcessorFacts& facts);

// This host's clocks, and the end of the allocation that it is in.

struct ClockFacts {
  double unix_seconds = 0;
  double monotonic_step = 0;           // seconds between two looks at the monotonic clock, one after the other
  std::optional<bool> synchronised;    // by NTP, as the kernel knows it; nothing where it does not say
  double estimated_error = 0;          // seconds, where synchronised
  std::optional<double> seconds_left;  // of the allocation
  std::string named_by;                // the variable that says so
  std::string end_trouble;             // why it cannot be read
};

[[nodiscard]] ClockFacts ReadClockFacts(const std::vector<std::string>& environment);

[[nodiscard]] Finding CheckClock(const ClockFacts& facts);
// Nothing outside an allocation and in one without a limit.
[[nodiscard]] std::optional<Finding> CheckAllocation(const ClockFacts& facts);

}  // namespace retort::orchestrator::doctor
