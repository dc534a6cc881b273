// Whether trials can start: the worker programs, their LibTorch, and how fast it multiplies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/worker_report.h"
#include "orchestrator/doctor/finding.h"
#include "orchestrator/doctor/program_run.h"

namespace retort::orchestrator::doctor {

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
[[nodiscard]] WorkerFacts LookAtWorker(const std::vector<std::string>& environment, const std::string& build);

// It is there, starts, and is of this build.
[[nodiscard]] Finding JudgeWorker(const WorkerFacts& facts);
// LibTorch answers, with vector instructions and a BLAS of the usual speed. Only of a worker that starts.
[[nodiscard]] Finding JudgeLibTorch(const WorkerFacts& facts);

}  // namespace retort::orchestrator::doctor
