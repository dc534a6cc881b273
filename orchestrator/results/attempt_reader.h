// Reads the files that attempts left, up to a limit of bytes in all.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orchestrator/results/results_view.h"
#include "storage/files/env.h"
#include "storage/results/attempt_file.h"

namespace retort::orchestrator {

class AttemptReader {
 public:
  // Reads below the folder that the view names now. At most `most_bytes` of files are read in all.
  AttemptReader(storage::Env& env, const ResultsView& view, std::uint64_t most_bytes);

  // Whether Read may still be asked for all of these. A trial without a file costs nothing.
  [[nodiscard]] bool Affords(const std::vector<const TrialView*>& trials) const;
  // Curves, samples and evaluation. All are empty where the trial has no file, or one that cannot be read.
  [[nodiscard]] storage::AttemptFile Read(const TrialView& trial);
  // Sentences, by trial: rows whose file is gone (all of them), and files that Read could not read.
  [[nodiscard]] const std::map<TrialId, std::string>& unreadable() const { return unreadable_; }

 private:
  std::string directory_;
  std::map<TrialId, std::uint64_t> bytes_;  // of the files that are there
  std::map<TrialId, std::string> unreadable_;
  std::uint64_t left_;
};

}  // namespace retort::orchestrator
