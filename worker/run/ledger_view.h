// The worker's view of what the attempts of this trial were granted and used: the ledger in attempt.h5
// and the events that its claims rest on. The orchestrator's ledger is the record; this view covers
// everything that it charged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/privacy_event.h"
#include "storage/log/privacy_ledger.h"
#include "storage/results/checkpoint_store.h"
#include "worker/release/charge.h"

namespace retort::worker {

class TrialHost;

// Stands between the mechanisms and the host. A grant is written to the transcript before it is handed on,
// and what was used of it before it is reported to the host, so that a crash cannot lose either: the view never counts
// more than the ledger.
class LedgerView final : public release::LedgerClient {
 public:
  // `host` and `store` outlive the view.
  LedgerView(release::LedgerClient& host, storage::CheckpointStore& store, AttemptId attempt, std::uint64_t generation,
             std::string data_digest);

  [[nodiscard]] Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override;
  // Charges `count` (>= 0) more draws of the mechanism that was charged last, which are never made. Nothing
  // when nothing was ever charged. Error: as Reserve.
  [[nodiscard]] Status ChargeRemainingDraws(std::int64_t count);
  [[nodiscard]] Status Settle(std::uint64_t id, std::int64_t used) override;
  // Facts of the trial's structure (privacy_event.h), written into every event that is reserved from now on. None until
  // then, and a claim that needs one has no bound.
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
  // Restores what Reserve or Settle recorded; true when `record` is one of theirs. Error: damage.
  [[nodiscard]] Result<bool> Absorb(const storage::TranscriptRecord& record);
  // What the orchestrator's ledger charged to the trial's earlier attempts, equal events aggregated. What of it neither
  // the checkpoint nor the transcript knows of, because this attempt began from an older state or a grant never
  // arrived, counts in this view from now on. After the last Absorb and before the first Reserve: grants that come
  // after it are distinguished from those before it, also where a journal that was lost counts attempts and generations
  // again.
  void CountLedgerCharges(const std::vector<privacy::PrivacyEvent>& charged);

  // Charges once more what was drawn according to this view, after CountLedgerCharges, and is not in `charged`. Error:
  // as TrialHost::ChargeDrawn.
  [[nodiscard]] Status ChargeMissingDraws(const std::vector<privacy::PrivacyEvent>& charged, TrialHost& host) const;

  // Of all attempts of the trial, what CountLedgerCharges added last.
  [[nodiscard]] std::vector<storage::LedgerEntry> entries() const;
  // What the plan of `spec` leaves to draw after all that the resumed state was charged for; draws that it knows
  // nothing of are made again and left out. For a spec without a plan, more draws than any trial makes.
  [[nodiscard]] std::int64_t DrawsLeft(const TrialSpec& spec) const;
  // The ledger's message when it refused; empty otherwise.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // One event for each entry: what was used where that is known, what was reserved elsewhere.
  [[nodiscard]] std::vector<privacy::PrivacyEvent> Charged() const;

 private:
  [[nodiscard]] Status Write(const storage::LedgerEntry& entry);
  [[nodiscard]] storage::LedgerEntry* Find(const storage::LedgerEntry& entry);
  release::LedgerClient& host_;
  storage::CheckpointStore& store_;
  AttemptId attempt_;
  std::uint64_t generation_;
  std::string data_digest_;
  std::int64_t step_ = 0;
  std::vector<std::string> facts_, voids_;
  std::string refusal_;
  std::vector<storage::LedgerEntry> entries_;    // of the resumed state and of this attempt
  std::vector<storage::LedgerEntry> uncounted_;  // in no checkpoint: each attempt receives them anew
};

}  // namespace retort::worker
