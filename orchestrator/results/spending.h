// Computes what is spent of each private data set of a sweep: the one total that every screen, file, metric and report
// shows, and the rules by which it is unbounded.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/privacy_charges.h"

namespace retort::orchestrator {

// What the whole sweep has cost one private data set, under the adjacency `example`, at `delta`.
struct DataSpending {
  std::string data, digest;              // all of its names in the sweep; that of its files, unpacked
  std::vector<std::string> names;        // those names, one by one; `data` where the plan has none
  double epsilon = 0;                    // over all trials, planned or not, rounded up; infinity = unbounded
  std::string reason;                    // why it is unbounded (a name of reasons.h, or a void); else empty
  std::vector<std::string> assumptions;  // that `root_epsilon` rests on; none where it is unbounded
  double delta = 0;                      // see DeltaOf in spending.cc
  std::optional<Budget> budget;          // of those that cover it, the one that is used up most
  std::string budget_of;                 // the folder of the sweep that sets it; empty where the data set itself has it
  int trials = 0;                        // that cost it something
  // With every other sweep of the results root; `epsilon` where nobody looked. Infinity where one cannot be read.
  double root_epsilon = 0;
  std::string root_reason;   // as `reason`
  int other_sweeps = 0;      // other sweeps of the root with a charge
  std::string root;          // the folder that holds the results folder; empty where nobody looked
  std::string root_trouble;  // why one of them cannot be read; empty when all can
};

// What a running core and a folder that is read both know. Borrows what it points to.
struct SpendingFacts {
  struct KnownTrial {
    const TrialSpec* spec = nullptr;
    bool planned = false;
    std::string audit_void;  // why audits of it leave its charges without a bound; else empty
  };
  std::string results;  // the folder
  std::vector<KnownTrial> trials;
  const PrivacyCharges* charges = nullptr;  // the whole ledger, which knows what data sets share examples
  PrivacyCharges::CountRule counts;         // what counts of a trial's charges
  std::string ledger_lost;                  // why `charges` is too little; empty when it is whole
  // Of other sweeps of the results root, by unpacked digest: what they charged, each by itself; the budgets they set.
  std::map<std::string, std::vector<std::vector<privacy::PrivacyEvent>>> elsewhere;
  std::map<std::string, std::vector<OtherBudget>> other_budgets;
  std::string root, root_trouble;  // as in DataSpending
};

// Of every data set that a planned trial uses or anything was charged to, by digest.
[[nodiscard]] std::vector<DataSpending> ComputeSpending(const SpendingFacts& facts);
// Those of which there is anything to say to people: something is spent or unknown, or a budget covers them.
[[nodiscard]] std::vector<DataSpending> SelectShownSpending(std::vector<DataSpending> all);

}  // namespace retort::orchestrator
