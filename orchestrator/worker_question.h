// One question to a worker process that is started for it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "experiments/spec/status.h"

namespace retort::orchestrator {

struct WorkerQuestion {
  std::string program;                   // absolute path of retort-worker
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string argument, order;           // its words
  std::string about;                     // "the audit of trial X", in messages
  std::chrono::seconds silence{1800};    // how long it may say nothing
};

// The text of the answer (cluster/answer.h); `progress` hears what the worker says meanwhile. What it writes
// goes to stderr. Error: environment, when the program cannot be started, ends without an answer, or says
// nothing for `silence`; usage, damage or environment as it says itself.
[[nodiscard]] Result<std::string> AskWorker(const WorkerQuestion& question,
                                            const std::function<void(const cluster::Progress&)>& progress);

}  // namespace retort::orchestrator
