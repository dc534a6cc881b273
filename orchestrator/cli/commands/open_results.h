// Finds and reads the results folder that a command means.
#pragma once

#include <sys/types.h>

#include <string>

#include "experiments/base/status.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/journal/cost_cache.h"
#include "orchestrator/results/results_view.h"
#include "storage/files/env.h"
#include "storage/results/attempt_file.h"

namespace retort::orchestrator::cli {

// `named` when not empty, else results/<sweep name>.
[[nodiscard]] std::string FindResultsPath(const std::string& named, const std::string& sweep);

struct FoundResults {
  std::string directory;
  bool chosen = false;  // not named by the user: the command says which it took
};

// `named` when not empty; else the folder below `base` whose journal changed last. Error: environment, when
// there is none, naming the command that makes one, and where that cannot be told.
[[nodiscard]] Result<FoundResults> FindResults(storage::Env& env, const std::string& named,
                                               const std::string& base = "results");

// The results folder a reading command means, read.

// --results, else the newest below results/; says on stderr which it took unless the user named it.
[[nodiscard]] Result<ResultsView> OpenResults(const Invocation& call);

// The same as people are to see it: without claims that audits refute (refuted_claims.h).
[[nodiscard]] Result<ResultsView> OpenShownResults(const Invocation& call);

// The folder alone, for who does not always read it.
[[nodiscard]] Result<std::string> LocateResults(const Invocation& call);
// As people are to see it, with rows left packed (results_view.h).
[[nodiscard]] Result<ResultsView> OpenPackedResults(const Invocation& call, const std::string& directory);

// What a trial left, for commands that give it away.

// Reads the file that the trial's row names, which it has. Error: as storage::ReadAttemptFile; damage, for a file that
// the row was not written for: nothing of it leaves the folder.
[[nodiscard]] Result<storage::AttemptFile> ReadFileOfRow(const ResultsView& view, const TrialView& trial);

// Who may read what a command adds to a results folder.

// The umask for files that a command adds to `results`: the user's own where others may read the journal, which a run
// makes as it was told (`run --share`); else one that keeps them private.
[[nodiscard]] mode_t ChooseUmask(const Invocation& call, const std::string& results);

// What is known of costs on machines like this one.

// Warns on stderr of a file that cannot be read.
[[nodiscard]] CostCache OpenCosts(const Invocation& call);

}  // namespace retort::orchestrator::cli
