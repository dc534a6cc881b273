// Processors and memory, against what as many workers as `--slots` want.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/doctor/control_group.h"
#include "orchestrator/doctor/finding.h"

namespace retort::orchestrator::doctor {

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

[[nodiscard]] ProcessorFacts LookAtProcessors(const std::vector<std::string>& environment, int slots);

// What this process may use: the least of affinity and quota.
[[nodiscard]] double ProcessorsOf(const ProcessorFacts& facts);
[[nodiscard]] Finding JudgeProcessors(const ProcessorFacts& facts);
// OpenMP's own variables; nothing where none is set that hurts or misleads.
[[nodiscard]] std::optional<Finding> JudgeThreads(const ProcessorFacts& facts);
[[nodiscard]] Finding JudgeMemory(const ProcessorFacts& facts);
[[nodiscard]] Finding JudgeSharedMemory(const ProcessorFacts& facts);

}  // namespace retort::orchestrator::doctor
