// What the ledger has charged to each trial, indexed for claims and budgets. The ledger on disk is the
// truth; this mirrors it, reservations that are still being written included.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/privacy/privacy_event.h"
#include "experiments/spec/ids.h"
#include "experiments/spec/sweep.h"
#include "storage/privacy_ledger.h"

namespace retort::orchestrator {

class ChargeBook {
 public:
  using Handle = std::size_t;
  using Events = std::vector<privacy::PrivacyEvent>;
  // What counts of all that a trial was charged: see CountedCharges (claim_context.h).
  using Counts = std::function<Events(TrialId, Events)>;

  // What is and will be charged to `digest` counts for `unpacked`, too, and the other way round: they hold
  // the same examples.
  void Unpack(const std::string& digest, const std::string& unpacked);
  [[nodiscard]] const UnpackedDigests& unpacked() const { return unpacked_; }
  // What is charged to one of these unpacked digests counts for the other, too: they share examples.
  void Share(const std::string& a, const std::string& b);
  // Those that count for `digest` (unpacked), without itself.
  [[nodiscard]] std::set<std::string> SharedWith(const std::string& digest) const;
  void Load(const std::vector<storage::LedgerEntry>& entries);
  // Charged in full until settled.
  Handle Add(const std::string& data_digest, TrialId trial, const privacy::PrivacyEvent& event);
  void Settle(Handle handle, std::int64_t used);
  [[nodiscard]] std::int64_t Reserved(Handle handle) const { return charges_[handle].count; }

  // Charged events of the trial in the order of their first reservation, equal ones aggregated.
  [[nodiscard]] std::vector<privacy::PrivacyEvent> EventsOf(TrialId trial) const;
  // Whether the trial was ever charged, be it for nothing that is left.
  [[nodiscard]] bool Knows(TrialId trial) const { return by_trial_.contains(trial); }
  // What counts (empty: everything) of every trial that touched the data set's examples, or some of them (Share).
  [[nodiscard]] std::vector<std::vector<privacy::PrivacyEvent>> EventsOn(const std::string& data_digest,
                                                                         const Counts& counts = {}) const;
  // The same of all together, equal ones aggregated.
  [[nodiscard]] std::vector<privacy::PrivacyEvent> SumOn(const std::string& data_digest,
                                                         const Counts& counts = {}) const;
  // The newest attempt of the trial and the newest generation of all in what was loaded; 0 where there is none. A journal
  // that was mended may have forgotten them, and their numbers are not given twice.
  [[nodiscard]] std::uint32_t LastAttemptOf(TrialId trial) const;
  [[nodiscard]] std::uint64_t last_generation() const { return last_generation_; }
  // Of every data set with a charge, unpacked.
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
  [[nodiscard]] Events CountedOf(TrialId trial, const Counts& counts) const;
  // Trials that charged the data set or one that shares examples with it: by data set, in the order of their first charge.
  [[nodiscard]] std::vector<TrialId> TrialsOn(const std::string& data_digest) const;
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

}  // namespace retort::orchestrator
