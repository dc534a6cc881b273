// Which results folder a command means.
#pragma once

#include <string>

#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::orchestrator::cli {

// `named` when not empty, else results/<sweep name>.
[[nodiscard]] std::string ResultsFor(const std::string& named, const std::string& sweep);

struct FoundResults {
  std::string directory;
  bool chosen = false;  // not named by the user: the command says which it took
};

// `named` when not empty; else the folder below `base` whose journal changed last. Error: environment, when
// there is none, naming the command that makes one, and where that cannot be told.
[[nodiscard]] Result<FoundResults> FindResults(storage::Env& env, const std::string& named,
                                               const std::string& base = "results");

}  // namespace retort::orchestrator::cli
