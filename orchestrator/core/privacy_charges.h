// What the ledger has charged to each trial, which of it counts, and whether a budget leaves room for more. The ledger
// on disk is the truth; this mirrors it, reservations that are still being written included.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/privacy_event.h"
#include "experiments/sweep/sweep_plan.h"
#include "storage/log/privacy_ledger.h"

namespace retort::orchestrator {

// Charges by trial and by data set.
class PrivacyCharges {
 public:
  using Handle = std::size_t;
  using Events = std::vector<privacy::PrivacyEvent>;
  // Selects what counts of all that a trial was charged: see SelectCountedCharges.
  using CountRule = std::function<Events(TrialId, Events)>;

  // Makes `digest` another name of `unpacked`, now and later: both hold the same examples.
  void Unpack(const std::string& digest, const std::string& unpacked);
  [[nodiscard]] const UnpackedDigests& unpacked() const { return unpacked_; }
  // Makes charges to one of these unpacked digests count for the other as well, because they share examples.
  void Share(const std::string& a, const std::string& b);
  // Returns the digests whose charges count for `digest` (unpacked), without itself.
  [[nodiscard]] std::set<std::string> SharedWith(const std::string& digest) const;
  void Load(const std::vector<storage::LedgerEntry>& entries);
  // Adds a reservation, which is charged in full until it is settled.
  Handle Add(const std::string& data_digest, TrialId trial, const privacy::PrivacyEvent& event);
  void Settle(Handle handle, std::int64_t used);
  [[nodiscard]] std::int64_t Reserved(Handle handle) const { return charges_[handle].count; }

  // Charged events of the trial in the order of their first reservation, equal ones aggregated.
  [[nodiscard]] std::vector<privacy::PrivacyEvent> CollectEvents(TrialId trial) const;
  // Whether the trial was ever charged, even if all of it was settled with zero draws.
  [[nodiscard]] bool Knows(TrialId trial) const { return by_trial_.contains(trial); }
  // Returns, for each trial that touched examples of the data set, what counts of its charges. Without a rule all of it
  // counts.
  [[nodiscard]] std::vector<std::vector<privacy::PrivacyEvent>> ListChargesByTrial(const std::string& data_digest,
                                                                                   const CountRule& counts = {}) const;
  // The same in one list, equal events added up.
  [[nodiscard]] std::vector<privacy::PrivacyEvent> SumCharges(const std::string& data_digest,
                                                              const CountRule& counts = {}) const;
  // The newest attempt of the trial and the newest generation of all in what was loaded; 0 where there is none. A
  // repaired journal may have lost them, and no number is used twice.
  [[nodiscard]] std::uint32_t FindLastAttempt(TrialId trial) const;
  [[nodiscard]] std::uint64_t last_generation() const { return last_generation_; }
  // Unpacked digests of the data sets that have a charge.
  [[nodiscard]] std::vector<std::string> Digests() const;
  // Changes whenever a charge does.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  struct Charge {
    TrialId trial;
    std::size_t sum = 0;     // which of the trial's sums it is in
    std::int64_t count = 0;  // what counts
  };
  // Equal events of one trial, together; in the order of their first charge.
  using Sums = std::vector<privacy::PrivacyEvent>;
  [[nodiscard]] Events SelectCounted(TrialId trial, const CountRule& counts) const;
  // Trials that charged the data set or one that shares examples with it: by data set, in the order of their first
  // charge.
  [[nodiscard]] std::vector<TrialId> ListTrials(const std::string& data_digest) const;
  std::vector<Charge> charges_;
  std::unordered_map<TrialId, Sums> by_trial_;
  // By unpacked digest: trials in the order of their first charge.
  std::map<std::string, std::vector<TrialId>> by_data_;
  UnpackedDigests unpacked_;
  std::map<std::string, std::set<std::string>> shares_;  // both ways, without itself
  std::unordered_map<TrialId, std::uint32_t> last_attempts_;
  std::uint64_t last_generation_ = 0;
  std::uint64_t version_ = 0;
};

// What claims and totals need to know of a trial. The core of a run and the reader of a results folder both fill one,
// so that the same rules hold for both.

// Borrows what it points to.
struct ClaimSubject {
  const TrialSpec* spec = nullptr;                              // null: the trial is not known
  const TrialSpec* teacher = nullptr;                           // null: it has none, or it is not known
  const std::vector<privacy::Claim>* teacher_claims = nullptr;  // of its row; null: it has none
  std::string
      audit_void;  // why audits of the trial leave what it charged without a bound; empty where they leave it one
};

// Returns what claims of the trial rest on, with those claims of its teacher that `charges` and the present rules
// support.
[[nodiscard]] privacy::ClaimContext MakeClaimContext(const ClaimSubject& trial, const PrivacyCharges& charges);

// Returns what totals count of the trial's charged `events`: ComputeChargedEvents (claims.h), without a bound where
// audits leave none.
[[nodiscard]] PrivacyCharges::Events SelectCountedCharges(const ClaimSubject& trial, const PrivacyCharges& charges,
                                                          PrivacyCharges::Events events);

// Budgets: hard caps on what one private data set may cost over a whole results root.

// A budget that another sweep of the results root sets for the same data.
struct OtherBudget {
  std::string directory;  // of that sweep
  Budget budget;
};

// Returns why `event` may not be drawn, or nothing where the total with it stays within data.budget and all of
// `others`. The total covers what `counts` selects of all that was charged to the data set, by trials outside the plan
// as well, and `elsewhere`: what other sweeps of the results root charged to it. An event without a bound crosses every
// budget.
[[nodiscard]] std::optional<std::string> RefuseOverBudget(const PrivacyCharges& charges, const DataSpec& data,
                                                          const privacy::PrivacyEvent& event,
                                                          const PrivacyCharges::CountRule& counts = {},
                                                          const std::vector<privacy::PrivacyEvent>& elsewhere = {},
                                                          const std::vector<OtherBudget>& others = {});

}  // namespace retort::orchestrator
