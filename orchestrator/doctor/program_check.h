// Checks mpirun and the worker program by running them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cluster/launch_environment.h"
#include "cluster/worker_questions.h"
#include "orchestrator/doctor/report.h"

namespace retort::orchestrator::doctor {

struct ProgramRun {
  bool found = false;      // an executable file of that name was there
  bool timed_out = false;  // it was ended
  int code = -1;           // exit code; 128 + signal of one that was killed
  std::string text;        // stdout and stderr together, at most 16 KiB

  [[nodiscard]] bool succeeded() const { return found && !timed_out && code == 0; }
};

// `words`: the program, by path or as PATH in `environment` ("NAME=value", complete) finds it, and its
// arguments. Without input; in a process group of its own, which is killed when `limit` has passed.
[[nodiscard]] ProgramRun RunProgram(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                                    std::chrono::milliseconds limit);

// The file that `program` names: itself when it has a slash, else the first executable in PATH of
// `environment`; empty when there is none.
[[nodiscard]] std::string FindProgram(const std::string& program, const std::vector<std::string>& environment);

// The first line of `text` that is not empty, cut to what fits a line.
[[nodiscard]] std::string FindFirstLine(const std::string& text);

// Whether several ranks can start, and whether this process is one of them.

struct MpiFacts {
  bool built = true;                 // with MPI
  std::string library_trouble;       // why libretort_mpi.so cannot be loaded; empty when it can
  std::string library_version;       // of the MPI that it is compiled for: "Open MPI v4.1.4, package: …"
  std::string mpirun;                // path; empty when there is none
  std::string named;                 // RETORT_MPIRUN
  bool root = false;                 // mpirun refuses root unless it is told that this is meant
  ProgramRun version;                // mpirun --version
  ProgramRun plain;                  // two ranks of `true`, as mpirun does it by itself
  std::optional<ProgramRun> helped;  // the same with --oversubscribe, where that failed
  bool asked = false;                // `plain` was run
  cluster::LaunchEnvironment launch;
  bool joins = false;          // this process is a rank whose world the library can join
  int allotted = 1;            // tasks that the allocation is for (SLURM_NTASKS)
  bool several_nodes = false;  // the allocation has more than one
};

// Starts mpirun up to three times: at most 7.5 s in all.
[[nodiscard]] MpiFacts ReadMpiFacts(const std::vector<std::string>& environment, bool built);

// "4.1" out of "mpirun (Open MPI) 4.1.4" or "Open MPI v4.1.4, package: …"; empty when there is none.
[[nodiscard]] std::string FindSeries(const std::string& version);

// Of the library beside this program, or that RETORT_MPI_LIBRARY names. Nothing for a build without MPI.
[[nodiscard]] std::optional<Finding> CheckMpiLibrary(const MpiFacts& facts);
[[nodiscard]] Finding CheckMpirun(const MpiFacts& facts);
// N processes that each take themselves for the only one, and an allocation of which one process uses a part.
[[nodiscard]] std::optional<Finding> CheckRanks(const MpiFacts& facts);

// Whether trials can start: the worker programs, their LibTorch, and how fast it multiplies.

struct WorkerFacts {
  std::string program;     // path of the worker program
  bool named = false;      // by RETORT_WORKER, not the one beside this program
  bool sleeper = true;     // retort-sleeper is beside this program
  std::string build;       // of this program: "0.1.0"
  std::string cannot_run;  // why the file cannot be executed; empty when it can
  ProgramRun version;      // of `program --version`: what it printed, or the loader's words
  std::optional<cluster::WorkerReport> report;
  std::string no_report;  // why there is none
  bool silent = false;    // it did not answer in time
};

// Asks the program twice, and waits at most 8 s in all.
[[nodiscard]] WorkerFacts ReadWorkerFacts(const std::vector<std::string>& environment, const std::string& build);

// It is there, starts, and is of this build.
[[nodiscard]] Finding CheckWorker(const WorkerFacts& facts);
// LibTorch answers, with vector instructions and a BLAS of the usual speed. Only of a worker that starts.
[[nodiscard]] Finding CheckLibTorch(const WorkerFacts& facts);

}  // namespace retort::orchestrator::doctor
