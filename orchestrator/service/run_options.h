// What a user asks of a run, and what rows keep of where they came from.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/reactor/search_rounds.h"

namespace retort::orchestrator {

inline constexpr int kMaxWorkersPerGpu = 64;

struct RunOptions {
  std::string results;                   // results folder; created when absent
  std::vector<std::string> environment;  // "NAME=value", as the process was started (environment.h)
  std::string version;                   // of this program: "0.1.0 (1f3a9c2e)"
  std::vector<std::pair<std::string, std::string>> build_facts;  // for the provenance of rows
  int slots = 1;                          // >= 1: workers of this rank where no CUDA device is visible
  int oversubscribe_gpu = 1;              // >= 1: workers on each CUDA device of this rank; above 1 for tests alone
  std::string metrics_listen;             // "ADDR:PORT" the user named (a busy port is an error); "none": nothing is
                                          // served; empty: next free port on loopback
  std::string metrics_auth;               // file with "user:password" that readers of the metrics need; empty: none
  std::string metrics_tls;                // PEM file with certificate and private key; empty: plain HTTP
  std::optional<mode_t> shared_umask;     // modes by which others may read the results folder; nothing: nobody else may
  bool quiet = false;                     // no progress, only warnings and errors
  bool color = false;                     // stderr understands it
  std::string worker_program;             // empty: retort-worker beside this program
  std::string device_directory = "/dev";  // where the host's device files are
  std::string device_notice;              // why devices of the host are left out; filled by the run (FindUsableDevices)
  bool hidden = false;                    // the trials were drawn by a private selection: nothing of them is shown
  PlanSearch plan_search;                 // of a sweep whose search reads scores; null for every other
  double grace_seconds = 25;              // from the first signal until workers are killed
  double time_limit_seconds = 0;          // then as if signalled; 0 = none
  std::string on_stall;                   // for /bin/sh, when nothing goes on; empty = nothing
  double stall_seconds = 900;             // without a step of any trial, until it is a stall
};

// JSON object: version, build facts, host, machine, processors, devices, world size, slots, workers on each GPU where
// they are several, and when the run has to stop: `work_ends`, in Unix seconds, 0 = never. ReadRunTerms (inventory.h)
// reads it.
[[nodiscard]] std::string FormatProvenanceJson(const RunOptions& options, int world_size, double work_ends = 0);

}  // namespace retort::orchestrator
