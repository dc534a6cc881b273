// `retort run`: world rank 0 (orchestrator and agent) and every other rank (agent).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/status.h"
#include "experiments/spec/sweep.h"

namespace retort::orchestrator {

struct RunOptions {
  std::string results;                   // results folder; created when absent
  std::vector<std::string> environment;  // "NAME=value", as the process was started (environment.h)
  std::string version;                   // of this program: "0.1.0 (1f3a9c2e)"
  std::vector<std::pair<std::string, std::string>> build_facts;  // for the provenance of rows
  int slots = 1;                  // >= 1: workers of this rank where no CUDA device is visible
  std::string metrics_listen;     // "ADDR:PORT" the user named (a busy port is an error); "none": nothing is
                                  // served; empty: next free port on loopback
  std::string metrics_auth;       // file with "user:password" that readers of the metrics need; empty: none
  std::string metrics_tls;        // PEM file with certificate and private key; empty: plain HTTP
  std::optional<mode_t> shared_umask;  // others may read the results folder as this says; nothing: nobody else
  bool quiet = false;             // no progress, only warnings and errors
  bool color = false;             // stderr understands it
  std::string worker_program;     // empty: retort-worker beside this program
  std::string device_directory = "/dev";  // where the host's device files are
  std::string device_notice;      // why devices of the host are left out; filled by the run (usable_devices.h)
  double grace_seconds = 25;      // from the first signal until workers are killed
  double time_limit_seconds = 0;  // then as if signalled; 0 = none
};

// Runs the sweep, or what is left of it, to its end. Returns the exit code of the command: 0 all trials
// succeeded, 1 some did not, 75 interrupted with state saved, 130 on a second signal. Progress and
// summary go to stderr. Call from the main thread, with no other thread running; SIGINT, SIGTERM and
// SIGUSR1 are taken over until it returns. Under MPI: on world rank 0; the other ranks are released and
// the launcher's exit-code file is written whatever is returned; pass the code through EndRun.
// Error: usage for what this version cannot run and for a folder of another version or sweep;
// environment for a folder that is locked, read-only or full, a missing worker program, a busy metrics
// port, MPI. What was reached is kept.
[[nodiscard]] Result<int> RunSweep(const SweepPlan& plan, const RunOptions& options);

// Every other world rank (environment.h: IsWorldRankZero): supervises workers until rank 0 says
// Shutdown. Needs no plan.
[[nodiscard]] Result<int> RunAgentRank(const RunOptions& options);

// What main of world rank 0 returns when its command ends with `exit_code`: because the plan has errors,
// or with what RunSweep returned. Without MPI that code. Under MPI 0, since anything else makes mpirun end
// the job the hard way; the launcher finds the code in its file, and ranks that still wait are released.
[[nodiscard]] int EndRun(const RunOptions& options, int exit_code);

}  // namespace retort::orchestrator
