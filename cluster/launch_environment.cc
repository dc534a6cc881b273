#include "cluster/launch_environment.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

#include "experiments/base/number_text.h"

namespace retort::cluster {
namespace {

std::optional<int> FindNumber(const std::vector<std::string>& environment, std::string_view name) {
  const auto text = FindVariable(environment, name);
  const auto value = ParseWholeNumber(text.value_or(""), std::numeric_limits<int>::max());
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

// Tasks of Slurm's `node`, from a list like "2(x3),1": two tasks on each of three nodes, one on the fourth.
std::optional<int> TasksOnNode(std::string_view list, int node) {
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    int tasks = 0, nodes = 1;
    auto parsed = std::from_chars(at, end, tasks);
    if (parsed.ec != std::errc()) return std::nullopt;
    if (std::string_view(parsed.ptr, end).starts_with("(x")) {
      parsed = std::from_chars(parsed.ptr + 2, end, nodes);
      if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ')') return std::nullopt;
      ++parsed.ptr;
    }
    if (node < nodes) return tasks;
    node -= nodes;
    if (parsed.ptr < end && *parsed.ptr != ',') return std::nullopt;
    at = parsed.ptr + 1;
  }
  return std::nullopt;
}

// A number of a process above 0, where no launcher said how many there are: this is not the only one.
std::string FindLaterRank(const std::vector<std::string>& environment) {
  for (const char* const name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK"})
    if (FindNumber(environment, name).value_or(0) > 0) return name;
  return "";
}

constexpr const char* kOwn = "RETORT_END_TIME";
constexpr const char* kSlurm = "SLURM_JOB_END_TIME";
// Slurm's INFINITE and NO_VAL: a job without a limit.
constexpr std::int64_t kSlurmNoTime = std::numeric_limits<std::uint32_t>::max() - 1;

std::optional<std::int64_t> Seconds(const std::string& text) {
  const std::optional<std::int64_t> value = ParseWholeNumber(text);
  return value == 0 ? std::nullopt : value;
}

}  // namespace

std::optional<std::string> FindVariable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

// mpirun's own variables come first: inside a Slurm allocation its ranks also see those of the Slurm
// step that carries mpirun's daemons, which count hosts. SLURM_NTASKS counts what the allocation may
// hold, and is set in a batch script that starts `retort` once; a step variable means srun started it.
LaunchEnvironment ReadLaunchEnvironment(const std::vector<std::string>& environment) {
  LaunchEnvironment launch;
  launch.exit_code_file = FindVariable(environment, "RETORT_EXIT_CODE_FILE").value_or("");
  launch.mpi_library = FindVariable(environment, "RETORT_MPI_LIBRARY").value_or("");
  const auto declare = [&](const char* size, const char* local_rank, const char* local_size) {
    if (FindVariable(environment, size).value_or("").empty()) return false;
    launch.declared_ranks = FindNumber(environment, size).value_or(0);
    launch.declared_by = size;
    launch.local_rank = FindNumber(environment, local_rank).value_or(0);
    launch.local_size = FindNumber(environment, local_size).value_or(1);
    if (launch.local_size <= launch.local_rank) launch.local_size = launch.local_rank + 1;
    return true;
  };
  if (declare("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")) {
    launch.under_mpi = true;
    return launch;
  }
  const bool has_pmix = FindVariable(environment, "PMIX_RANK").has_value();
  launch.under_pmi = FindVariable(environment, "PMI_RANK").has_value();
  if (declare("SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE")) {
    launch.under_mpi = has_pmix;
    const std::string tasks = FindVariable(environment, "SLURM_STEP_TASKS_PER_NODE").value_or("");
    const int node = FindNumber(environment, "SLURM_NODEID").value_or(0);
    launch.local_size = std::max(TasksOnNode(tasks, node).value_or(1), launch.local_rank + 1);
    // srun --gpus-per-task shows each task its own devices only.
    launch.own_devices = FindVariable(environment, "SLURM_GPUS_PER_TASK").has_value() ||
                         FindVariable(environment, "SLURM_TRES_PER_TASK").value_or("").find("gpu") != std::string::npos;
  } else if (declare("PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS") ||
             declare("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE") ||
             declare("MPI_LOCALNRANKS", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")) {
    launch.under_mpi = false;  // another MPI's launcher
  } else if (launch.declared_by = FindLaterRank(environment); !launch.declared_by.empty()) {
    launch.declared_ranks = 0;
    launch.later_rank = true;
  }
  return launch;
}

Status CheckWorldSize(const LaunchEnvironment& launch, int world_size) {
  if (launch.declared_by.empty() || launch.declared_ranks == world_size) return {};
  if (launch.later_rank)
    return EnvironmentError(
        "A launcher has started this process as one of several (" + launch.declared_by +
        " is above 0), and does not say how many there are: each would take itself for the only one. "
        "Start them with cluster/launch/mpirun.sh -np N retort run ..., or unset it");
  if (launch.declared_ranks < 1)
    return EnvironmentError(
        "A launcher has set " + launch.declared_by +
        " to something that is no number of processes, so that nobody knows how many there are: unset it, or "
        "start them with cluster/launch/mpirun.sh -np N retort run ...");
  const std::string ranks = std::to_string(launch.declared_ranks);
  return EnvironmentError(
      "The launcher started " + ranks + " processes (" + launch.declared_by + "=" + ranks +
      "), but this one is in an MPI world of " + std::to_string(world_size) +
      ": each would take itself for the only one. Start them with\n  cluster/launch/mpirun.sh -np " + ranks +
      " retort run ...\nalso inside a Slurm allocation (instead of srun), with the mpirun "
      "of the MPI that libretort_mpi.so was compiled for. For another MPI compile it again: cluster/mpi/README.md.");
}

Result<std::optional<AllocationEnd>> FindAllocationEnd(const std::vector<std::string>& environment) {
  const std::optional<std::string> own = FindVariable(environment, kOwn);
  if (own && !own->empty()) {
    const std::optional<std::int64_t> seconds = Seconds(*own);
    if (!seconds)
      return UsageError(std::string(kOwn) + "=" + *own +
                        " is no time: give Unix seconds, as `date -d '+1 hour' +%s` prints them, or unset it.");
    return std::optional(AllocationEnd{static_cast<double>(*seconds), kOwn});
  }
  const std::optional<std::int64_t> slurm = Seconds(FindVariable(environment, kSlurm).value_or(""));
  if (!slurm || *slurm >= kSlurmNoTime) return std::optional<AllocationEnd>();
  return std::optional(AllocationEnd{static_cast<double>(*slurm), kSlurm});
}

double ComputeWorkSeconds(const AllocationEnd& end, double now, double grace_seconds) {
  return end.unix_seconds - now - grace_seconds - kClosingSeconds;
}

}  // namespace retort::cluster
