#include "orchestrator/cost_history.h"

#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "orchestrator/run_terms.h"

namespace retort::orchestrator {
namespace {

class CostHistory {
 public:
  explicit CostHistory(std::string machine) : machine_(std::move(machine)) {}

  void Add(const TrialSpec& spec, const TrialSpec* teacher, const storage::ResultRow& row,
           double total_steps) {
    if (!spec.data || !IsOfMachine(row.provenance_json)) return;
    const std::optional<CostSample> sample = SampleOf(spec, row.timings, total_steps);
    if (!sample) return;
    auto& kept = samples_[CostShapeOf(spec, teacher)];
    kept.emplace_back(*sample, row.attempt_file);
    if (kept.size() > CostModel::kKept) kept.pop_front();
  }

  // Only files of samples that stay are looked at.
  CostModel Finish(const std::string& directory) {
    CostModel costs;
    for (auto& [shape, kept] : samples_) {
      for (auto& [sample, file] : kept) {
        std::error_code error;
        if (!file.empty()) {
          const std::uintmax_t bytes = std::filesystem::file_size(directory + "/" + file, error);
          if (!error) sample.file_bytes = static_cast<double>(bytes);
        }
        costs.Add(shape, sample);
      }
    }
    return costs;
  }

 private:
  // The rows of one run share one provenance.
  bool IsOfMachine(const std::string& provenance) {
    if (!seen_ || provenance != *seen_) {
      seen_ = provenance;
      const std::string machine = ReadRunTerms(provenance).machine;
      same_ = machine.empty() || machine == machine_;
    }
    return same_;
  }

  std::string machine_;
  std::optional<std::string> seen_;
  bool same_ = true;
  std::map<std::string, std::deque<std::pair<CostSample, std::string>>> samples_;
};

}  // namespace

CostModel CostsOf(const ResultsView& view, const std::string& machine) {
  std::unordered_map<TrialId, const TrialSpec*> specs;
  for (const TrialView& trial : view.trials) specs.emplace(trial.spec.id, &trial.spec);
  CostHistory history(machine);
  for (const TrialView& trial : view.trials) {
    if (!trial.row || trial.state != TrialState::succeeded) continue;
    const auto teacher = trial.spec.parent ? specs.find(*trial.spec.parent) : specs.end();
    history.Add(trial.spec, teacher == specs.end() ? nullptr : teacher->second, *trial.row,
                static_cast<double>(trial.total_steps));
  }
  return history.Finish(view.directory);
}

CostModel CostsOf(const Core& core, const std::string& machine) {
  CostHistory history(machine);
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (!trial.row || trial.state != TrialState::succeeded || !trial.spec.data) continue;
    const Result<storage::ResultRow> row = trial.row.Read(StateName(trial.state));
    if (!row.ok()) continue;
    const Trial* teacher = trial.spec.parent ? core.Find(*trial.spec.parent) : nullptr;
    history.Add(trial.spec, teacher == nullptr ? nullptr : &teacher->spec, *row,
                static_cast<double>(trial.total_steps));
  }
  return history.Finish(core.settings().results);
}

}  // namespace retort::orchestrator
