#include "orchestrator/results/attempt_reader.h"

#include <algorithm>
#include <utility>

#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator {
namespace {

std::string GetAttemptPath(const std::string& directory, const TrialView& trial) {
  return directory + "/" + trial.row->attempt_file;
}

bool HasFile(const TrialView& trial) { return trial.row && !trial.row->attempt_file.empty(); }

}  // namespace

AttemptReader::AttemptReader(storage::Env& env, const ResultsView& view, std::uint64_t most_bytes)
    : directory_(view.directory), left_(most_bytes) {
  for (const TrialView& trial : view.trials) {
    if (!HasFile(trial)) continue;
    const Result<storage::FileStamp> stamp = env.Stamp(GetAttemptPath(directory_, trial));
    if (stamp.ok())
      bytes_[trial.spec.id] = stamp->size;
    else
      unreadable_[trial.spec.id] = FormatTrialName(trial.spec) + ": " + stamp.status().message();
  }
}

bool AttemptReader::Affords(const std::vector<const TrialView*>& trials) const {
  std::uint64_t sum = 0;
  for (const TrialView* trial : trials)
    if (const auto found = bytes_.find(trial->spec.id); found != bytes_.end()) sum += found->second;
  return sum <= left_;
}

storage::AttemptFile AttemptReader::Read(const TrialView& trial) {
  const auto found = bytes_.find(trial.spec.id);
  if (found == bytes_.end()) return {};
  left_ -= std::min(left_, found->second);
  Result<storage::AttemptFile> file = storage::ReadAttemptResults(GetAttemptPath(directory_, trial));
  if (file.ok()) return *std::move(file);
  unreadable_[trial.spec.id] = FormatTrialName(trial.spec) + ": " + file.status().message();
  return {};
}

}  // namespace retort::orchestrator
