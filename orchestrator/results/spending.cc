#include "orchestrator/results/spending.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/relation.h"

namespace retort::orchestrator {
namespace {

using Charges = std::vector<std::vector<privacy::PrivacyEvent>>;  // a trial or a sweep each

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Where no trial of the data set is known; its total is unbounded then.
constexpr double kUsualDelta = 1e-5;

// What trials say of one data set.
struct DataFacts {
  std::set<std::string> names, old_names;  // of planned trials, and of others
  double delta = kInfinity;                // the smallest of them
  std::vector<OtherBudget> budgets;        // own ones with an empty directory, first
  std::string audit_void;                  // of one of them that has one
};

bool Same(const Budget& a, const Budget& b) { return a.epsilon == b.epsilon && a.delta == b.delta; }

void Add(const SpendingFacts& facts, const OtherBudget& budget, DataFacts& data) {
  const auto own = [&](const OtherBudget& one) { return one.directory.empty() || one.directory == facts.results; };
  const bool known = std::any_of(data.budgets.begin(), data.budgets.end(), [&](const OtherBudget& other) {
    return Same(other.budget, budget.budget) && own(other) == own(budget);
  });
  if (!known || !own(budget)) data.budgets.push_back(budget);
}

// What is said of a data set counts for those that share examples with it.
void AddShared(const SpendingFacts& facts, std::map<std::string, DataFacts>& all) {
  const std::map<std::string, DataFacts> alone = all;
  for (auto& [digest, data] : all) {
    for (const std::string& other : facts.charges->SharedWith(digest)) {
      const auto found = alone.find(other);
      if (found == alone.end()) continue;
      data.delta = std::min(data.delta, found->second.delta);
      if (data.audit_void.empty()) data.audit_void = found->second.audit_void;
      for (const OtherBudget& budget : found->second.budgets) Add(facts, {facts.results, budget.budget}, data);
    }
  }
}

std::map<std::string, DataFacts> GatherDataFacts(const SpendingFacts& facts) {
  const UnpackedDigests& unpacked = facts.charges->unpacked();
  std::map<std::string, DataFacts> all;
  for (const SpendingFacts::KnownTrial& trial : facts.trials) {
    const DataSpec* spec = trial.spec->data.get();
    // What a lost ledger charged may have been any of them.
    const bool counts = trial.planned || !trial.audit_void.empty() || facts.charges->Knows(trial.spec->id) ||
                        !facts.ledger_lost.empty();
    if (spec == nullptr || !counts) continue;
    DataFacts& data = all[FindUnpackedDigest(unpacked, spec->digest)];
    (trial.planned ? data.names : data.old_names).insert(spec->name);
    data.delta = std::min(data.delta, trial.spec->privacy.delta);
    if (data.audit_void.empty()) data.audit_void = trial.audit_void;
    if (trial.planned && spec->budget) Add(facts, {"", *spec->budget}, data);
  }
  for (const std::string& digest : facts.charges->Digests()) all.try_emplace(digest);
  AddShared(facts, all);
  for (const auto& [digest, others] : facts.other_budgets)
    if (const auto data = all.find(digest); data != all.end())
      for (const OtherBudget& other : others) Add(facts, other, data->second);
  return all;
}

// Two data sets of one name, of which one is in the plan no longer, stay apart.
void Name(const DataFacts& data, DataSpending& spent) {
  if (!data.names.empty()) {
    spent.names.assign(data.names.begin(), data.names.end());
    spent.data = fmt::format("{}", fmt::join(spent.names, ", "));
    return;
  }
  spent.data = fmt::format("{}{}({}, no longer in the sweep)", fmt::join(data.old_names, ", "),
                           data.old_names.empty() ? "" : " ", spent.digest.substr(0, 8));
  spent.names = {spent.data};
}

// A total is stated at one delta, and holds at it whatever deltas its trials have. Under a budget it is the budget's,
// since that is what the total is held against; else the smallest of the data set's trials, at which epsilon is the
// largest.
double ChooseDelta(const DataFacts& data, const std::optional<Budget>& budget) {
  if (budget) return budget->delta;
  return data.delta < kInfinity ? data.delta : kUsualDelta;
}

class Totals {
 public:
  Totals(const SpendingFacts& facts, const DataFacts& data, const std::string& digest)
      : facts_(facts), data_(data), own_(facts.charges->ListChargesByTrial(digest, facts.counts)) {
    std::erase_if(own_, [](const auto& events) { return events.empty(); });
    all_ = own_;
    if (const auto found = facts.elsewhere.find(digest); found != facts.elsewhere.end()) {
      other_sweeps_ = static_cast<int>(found->second.size());
      all_.insert(all_.end(), found->second.begin(), found->second.end());
    }
  }

  [[nodiscard]] privacy::Bound Own(double delta) const { return Bounded(own_, delta, "", nullptr); }
  [[nodiscard]] privacy::Bound All(double delta, std::vector<std::string>* assumptions) const {
    const std::string_view unknown = facts_.root_trouble.empty() ? "" : privacy::reason::kRootUnknown;
    return Bounded(all_, delta, unknown, assumptions);
  }
  [[nodiscard]] int trials() const { return static_cast<int>(own_.size()); }
  [[nodiscard]] int other_sweeps() const { return other_sweeps_; }

 private:
  privacy::Bound Bounded(const Charges& charges, double delta, std::string_view unknown,
                         std::vector<std::string>* assumptions) const {
    if (!facts_.ledger_lost.empty())
      unknown = privacy::reason::kLedgerLost;
    else if (!data_.audit_void.empty())
      unknown = data_.audit_void;
    if (!unknown.empty()) return {kInfinity, "", std::string(unknown)};
    return privacy::ComputeTotalBound(charges, delta, assumptions);
  }

  const SpendingFacts& facts_;
  const DataFacts& data_;
  Charges own_, all_;
  int other_sweeps_ = 0;
};

// The budget of which the largest part is used up; among equals the smallest epsilon.
void TakeBudget(const DataFacts& data, const Totals& totals, DataSpending& spent) {
  double most = -1;
  for (const OtherBudget& other : data.budgets) {
    const bool alone = data.budgets.size() == 1;
    const double part = alone ? 0 : totals.All(other.budget.delta, nullptr).epsilon / other.budget.epsilon;
    const bool smaller = spent.budget && part == most && other.budget.epsilon < spent.budget->epsilon;
    if (!(part > most) && !smaller) continue;
    most = part;
    spent.budget = other.budget;
    spent.budget_of = other.directory;
  }
}

DataSpending SpendingOn(const SpendingFacts& facts, const std::string& digest, const DataFacts& data) {
  DataSpending spent;
  spent.digest = digest;
  Name(data, spent);
  const Totals totals(facts, data, digest);
  TakeBudget(data, totals, spent);
  spent.delta = ChooseDelta(data, spent.budget);
  spent.trials = totals.trials();
  spent.other_sweeps = totals.other_sweeps();
  spent.root = facts.root;
  spent.root_trouble = facts.root_trouble;
  const privacy::Bound all = totals.All(spent.delta, &spent.assumptions);
  const privacy::Bound own = spent.other_sweeps > 0 || !facts.root_trouble.empty() ? totals.Own(spent.delta) : all;
  spent.epsilon = own.epsilon;
  spent.root_epsilon = all.epsilon;
  if (own.epsilon == kInfinity) spent.reason = own.reason;
  if (all.epsilon == kInfinity) spent.root_reason = all.reason;
  if (all.epsilon == kInfinity) spent.assumptions.clear();
  return spent;
}

}  // namespace

std::vector<DataSpending> ComputeSpending(const SpendingFacts& facts) {
  std::vector<DataSpending> all;
  for (const auto& [digest, data] : GatherDataFacts(facts)) all.push_back(SpendingOn(facts, digest, data));
  return all;
}

std::vector<DataSpending> SelectShownSpending(std::vector<DataSpending> all) {
  std::erase_if(all, [](const DataSpending& spent) {
    return spent.trials == 0 && spent.other_sweeps == 0 && spent.reason.empty() && spent.root_reason.empty() &&
           !spent.budget;
  });
  return all;
}

}  // namespace retort::orchestrator
