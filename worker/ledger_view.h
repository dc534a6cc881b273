// What the attempts of this trial were granted and used, as the worker knows it: the ledger in attempt.h5
// and the events that its claims rest on. The orchestrator's ledger is the record; this view covers
// everything that it charged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/privacy/privacy_event.h"
#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "storage/checkpoint_store.h"
#include "storage/privacy_ledger.h"
#include "worker/release/charge.h"

namespace retort::worker {

class TrialHost;

// Stands between the mechanisms and the host. A grant is written to the transcript before it is handed on,
// and what was used of it before the host is told, so that a crash cannot lose either: the view never counts
// more than the ledger.
class LedgerView final : public release::ReservationPort {
 public:
  // `host` and `store` outlive the view.
  LedgerView(release::ReservationPort& host, storage::CheckpointStore& store, AttemptId attempt,
             std::uint64_t generation, std::string data_digest);

  [[nodiscard]] Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override;
  // Charges `count` (>= 0) more draws of the mechanism that was charged last, though nobody draws them. Nothing
  // when nothing was ever charged. Error: as Reserve.
  [[nodiscard]] Status ChargeUnused(std::int64_t count);
  [[nodiscard]] Status Settle(std::uint64_t id, std::int64_t used) override;
  // What is known of the trial's structure (privacy_event.h): written into every event that is reserved from now
  // on. Nothing until then, and a claim that needs it has no bound.
  // `voids` are added to those of the event, sorted.
  void Record(std::vector<std::string> facts, std::vector<std::string> voids = {}) {
    facts_ = std::move(facts);
    voids_ = std::move(voids);
  }
  // The step that grants belong to from now on: that of the release they are for.
  void BeginStep(std::int64_t step) { step_ = step; }

  // Into and out of a checkpoint's attributes. Error: damage.
  void Save(std::map<std::string, std::string>& attributes) const;
  [[nodiscard]] Status Load(const std::map<std::string, std::string>& attributes);
  // Takes back what Reserve or Settle recorded; true when `record` is of theirs. Error: damage.
  [[nodiscard]] Result<bool> Absorb(const storage::TranscriptRecord& record);
  // What the orchestrator's ledger charged to the trial's earlier attempts, equal events aggregated. What of it neither
  // the checkpoint nor the transcript knows of, because this attempt began from an older state or a grant never
  // arrived, counts in this view from now on. After the last Absorb and before the first Reserve: grants that come after
  // it are told from those before it, also where a journal that was lost numbers attempts and generations once more.
  void CountCharged(const std::vector<privacy::PrivacyEvent>& charged);

  // The other way round: what was drawn, as this view knows after CountCharged, and is not in `charged` is charged once
  // more. Error: as TrialHost::ChargeDrawn.
  [[nodiscard]] Status ChargeForgotten(const std::vector<privacy::PrivacyEvent>& charged, TrialHost& host) const;

  // Of all attempts of the trial, what CountCharged added last.
  [[nodiscard]] std::vector<storage::LedgerEntry> entries() const;
  // What the plan of `spec` leaves to draw after all that the resumed state was charged for; draws that it knows
  // nothing of are made again and left out. For a spec without a plan, more draws than any trial makes.
  [[nodiscard]] std::int64_t DrawsLeft(const TrialSpec& spec) const;
  // The ledger's own words when it refused; empty otherwise.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // One event for each entry: what was used where that is known, what was reserved elsewhere.
  [[nodiscard]] std::vector<privacy::PrivacyEvent> Charged() const;

 private:
  [[nodiscard]] Status Write(const storage::LedgerEntry& entry);
  [[nodiscard]] storage::LedgerEntry* Find(const storage::LedgerEntry& entry);
  release::ReservationPort& host_;
  storage::CheckpointStore& store_;
  AttemptId attempt_;
  std::uint64_t generation_;
  std::string data_digest_;
  std::int64_t step_ = 0;
  std::vector<std::string> facts_, voids_;
  std::string refusal_;
  std::vector<storage::LedgerEntry> entries_;    // of the resumed state and of this attempt
  std::vector<storage::LedgerEntry> uncounted_;  // in no checkpoint: each attempt is told anew
};

}  // namespace retort::worker
