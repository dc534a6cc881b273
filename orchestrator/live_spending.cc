#include "orchestrator/live_spending.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "experiments/privacy/claim.h"
#include "orchestrator/row.h"
#include "orchestrator/system_clock.h"

namespace retort::orchestrator {
namespace {

struct DataUse {
  std::set<std::string> names;
  std::optional<Budget> budget;  // the tightest
  double delta = 1;              // the smallest of its trials
};

void Tighten(std::optional<Budget>& budget, const std::optional<Budget>& other) {
  if (other && (!budget || other->epsilon < budget->epsilon)) budget = other;
}

// By unpacked digest.
std::map<std::string, DataUse> UsesOf(const Core& core) {
  std::map<std::string, DataUse> uses;
  for (const std::size_t index : core.plan()) {
    const TrialSpec& spec = core.At(index).spec;
    if (!spec.data) continue;
    DataUse& use = uses[UnpackedOf(core.charges.unpacked(), spec.data->digest)];
    use.names.insert(spec.data->name);
    use.delta = std::min(use.delta, spec.delta);
    Tighten(use.budget, spec.data->budget);
  }
  for (auto& [digest, use] : uses)
    if (const auto others = core.other_budgets.find(digest); others != core.other_budgets.end())
      for (const OtherBudget& other : others->second) Tighten(use.budget, other.budget);
  return uses;
}

}  // namespace

std::vector<DataCost> SpendingOf(const Core& core) {
  std::vector<DataCost> all;
  for (const auto& [digest, use] : UsesOf(core)) {
    std::vector<std::vector<privacy::PrivacyEvent>> charged = {
        core.charges.SumOn(digest, [&core](TrialId id) { return CostsItsData(core, id); })};
    if (const auto elsewhere = core.charged_elsewhere.find(digest); elsewhere != core.charged_elsewhere.end())
      charged.push_back(elsewhere->second);
    DataCost cost;
    cost.data = fmt::format("{}", fmt::join(use.names, ", "));
    cost.names.assign(use.names.begin(), use.names.end());
    cost.delta = use.budget ? use.budget->delta : use.delta;
    cost.epsilon = privacy::TotalEpsilon(charged, cost.delta);
    if (use.budget) cost.budget = use.budget->epsilon;
    all.push_back(std::move(cost));
  }
  return all;
}

const std::vector<DataCost>& LiveSpending::Of(const Core& core, Now now) {
  if (version_ == core.charges.version() || now.monotonic < next_) return newest_;
  const double began = ReadClocks().monotonic;
  version_ = core.charges.version();
  newest_ = SpendingOf(core);
  next_ = now.monotonic + std::max(kPauseSeconds, kPauseFactor * (ReadClocks().monotonic - began));
  return newest_;
}

}  // namespace retort::orchestrator
