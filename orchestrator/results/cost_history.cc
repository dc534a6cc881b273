#include "orchestrator/results/cost_history.h"

#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "orchestrator/core/inventory.h"

namespace retort::orchestrator {
namespace {

// Of so many trials of a shape, the last of the plan, the rows are opened, of whatever machine they are.
constexpr std::size_t kMaxOpened = 4 * CostModel::kKept;

// Trials come in the reverse order of the plan.
class CostHistory {
 public:
  explicit CostHistory(std::string machine) : machine_(std::move(machine)) {}

  // `open` gives the trial's row, or an error for one that cannot be read.
  template <typename Open>
  void Add(const TrialSpec& spec, const TrialSpec* teacher, double total_steps, const Open& open) {
    if (!spec.data) return;
    Shape& shape = shapes_[ComputeCostShape(spec, teacher)];
    if (shape.kept.size() >= CostModel::kKept || shape.opened++ >= kMaxOpened) return;
    const Result<storage::ResultRow> row = open();
    if (!row.ok() || !IsOfMachine(row->provenance_json)) return;
    if (const std::optional<CostSample> sample = MakeSample(spec, row->timings, total_steps))
      shape.kept.emplace_front(*sample, row->attempt_file);
  }

  // Only files of samples that stay are looked at.
  CostModel Finish(const std::string& directory) {
    CostModel costs;
    for (auto& [name, shape] : shapes_) {
      for (auto& [sample, file] : shape.kept) {
        std::error_code error;
        if (!file.empty()) {
          const std::uintmax_t bytes = std::filesystem::file_size(directory + "/" + file, error);
          if (!error) sample.file_bytes = static_cast<double>(bytes);
        }
        costs.Add(name, sample);
      }
    }
    return costs;
  }

 private:
  struct Shape {
    std::size_t opened = 0;
    std::deque<std::pair<CostSample, std::string>> kept;
  };

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
  std::map<std::string, Shape> shapes_;
};

}  // namespace

CostModel ComputeCosts(const ResultsView& view, const std::string& machine) {
  std::unordered_map<TrialId, const TrialSpec*> specs;
  for (const TrialView& trial : view.trials) specs.emplace(trial.spec.id, &trial.spec);
  CostHistory history(machine);
  for (auto trial = view.trials.rbegin(); trial != view.trials.rend(); ++trial) {
    if (!HasRow(*trial) || trial->state != TrialState::succeeded) continue;
    const auto teacher = trial->spec.parent ? specs.find(*trial->spec.parent) : specs.end();
    history.Add(trial->spec, teacher == specs.end() ? nullptr : teacher->second,
                static_cast<double>(trial->total_steps), [&trial] { return ReadRow(*trial); });
  }
  return history.Finish(view.directory);
}

CostModel ComputeCosts(const Core& core, const std::string& machine) {
  CostHistory history(machine);
  for (auto index = core.plan().rbegin(); index != core.plan().rend(); ++index) {
    const Trial& trial = core.At(*index);
    if (!trial.row || trial.state != TrialState::succeeded) continue;
    const Trial* teacher = trial.spec.parent ? core.Find(*trial.spec.parent) : nullptr;
    history.Add(trial.spec, teacher == nullptr ? nullptr : &teacher->spec, static_cast<double>(trial.total_steps),
                [&trial] { return trial.row.Read(GetStateName(trial.state)); });
  }
  return history.Finish(core.settings().results);
}
CostModel ReadKnownCosts(const CostCache& cache, const ResultsView* view) {
  CostModel costs = cache.costs;
  if (view != nullptr) costs.Merge(ComputeCosts(*view, cache.machine));
  return costs;
}

}  // namespace retort::orchestrator
