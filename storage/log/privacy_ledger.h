// The durable record of every release, one per results folder, written by world rank 0 alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/privacy/privacy_event.h"
#include "storage/files/env.h"
#include "storage/log/record_log.h"

namespace retort::storage {

enum class LedgerState : std::uint8_t { reserved = 1, settled = 2 };

// A reservation of releases; `used` is known once it is settled. What a crash leaves reserved stays charged in full.
struct LedgerEntry {
  std::uint64_t id = 0;     // unique in the ledger, grows
  std::string data_digest;  // 64 hex: the private data set
  AttemptId attempt;
  std::uint64_t generation = 0;
  LedgerState state = LedgerState::reserved;
  privacy::PrivacyEvent event;  // count = what was reserved
  std::int64_t used = 0;
  // The event that counts: with count = used when settled, else as reserved.
  [[nodiscard]] privacy::PrivacyEvent Charged() const;
};

class PrivacyLedger {
 public:
  // Recovers every entry. Error as RecordLog::Open.
  [[nodiscard]] static Result<std::unique_ptr<PrivacyLedger>> Open(Env& env, const std::string& path);
  // Appends and syncs before it returns. Returns the new entry's id. Error: refused unless the event
  // counts at least one release; environment when the disk fails, after which nothing more is granted
  // (what reached the disk counts in full at the next Open).
  [[nodiscard]] Result<std::uint64_t> Reserve(const std::string& data_digest, AttemptId attempt,
                                              std::uint64_t generation, const privacy::PrivacyEvent& event);
  // 0 <= used <= reserved. Error: refused for an unknown or settled id.
  [[nodiscard]] Status Settle(std::uint64_t id, std::int64_t used);
  [[nodiscard]] const std::vector<LedgerEntry>& entries() const { return entries_; }
  [[nodiscard]] std::uint64_t bytes() const { return log_->size(); }  // of the file
  // The trial's charged events, equal ones aggregated.
  [[nodiscard]] std::vector<privacy::PrivacyEvent> CollectEvents(TrialId trial) const;

 private:
  explicit PrivacyLedger(std::unique_ptr<RecordLog> log) : log_(std::move(log)) {}
  void Add(LedgerEntry entry);
  std::unique_ptr<RecordLog> log_;
  std::vector<LedgerEntry> entries_;
  std::map<TrialId, std::vector<std::size_t>> of_trial_;  // indices into entries_
};

// Counts the reservations in the file, 0 when it is absent, without decoding them. Error: as ReadRecordLog.
[[nodiscard]] Result<std::uint64_t> CountReservations(Env& env, const std::string& path);

// Read-only view, for commands that do not own the results folder.
[[nodiscard]] Result<std::vector<LedgerEntry>> ReadLedger(Env& env, const std::string& path);

}  // namespace retort::storage
