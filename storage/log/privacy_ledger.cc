#include "storage/log/privacy_ledger.h"

#include <algorithm>
#include <utility>

#include "experiments/base/json.h"

namespace retort::storage {
namespace {

// Append only: in ledgers on disk.
enum class LedgerRecord : std::uint16_t { reserve = 1, settle = 2 };

struct Settlement {
  std::uint64_t id = 0;
  std::int64_t used = 0;
};

std::string EncodeReservation(const LedgerEntry& entry) {
  return DumpJson({{"id", entry.id},
                   {"data", entry.data_digest},
                   {"trial", entry.attempt.trial.Hex()},
                   {"attempt", entry.attempt.number},
                   {"generation", entry.generation},
                   {"event", ParseJson(privacy::EncodeEvent(entry.event))}});
}

Result<LedgerEntry> DecodeReservation(std::string_view payload) {
  return ReadJson<LedgerEntry>(payload, "a reservation", [](const nlohmann::json& json) -> Result<LedgerEntry> {
    LedgerEntry entry;
    json.at("id").get_to(entry.id);
    json.at("data").get_to(entry.data_digest);
    const std::optional<TrialId> trial = TrialId::FromHex(json.at("trial").get<std::string>());
    if (!trial) return DamageError("a reservation names no trial");
    entry.attempt.trial = *trial;
    json.at("attempt").get_to(entry.attempt.number);
    json.at("generation").get_to(entry.generation);
    RETORT_ASSIGN_OR_RETURN(entry.event, privacy::DecodeEvent(DumpJson(json.at("event"))));
    if (entry.event.count <= 0) return DamageError("a reservation counts no release");
    return entry;
  });
}

Result<Settlement> DecodeSettlement(std::string_view payload) {
  return ReadJson<Settlement>(payload, "a settlement", [](const nlohmann::json& json) -> Result<Settlement> {
    Settlement settlement;
    json.at("id").get_to(settlement.id);
    json.at("used").get_to(settlement.used);
    return settlement;
  });
}

// Entries stand in the order of their ids.
LedgerEntry* Find(std::vector<LedgerEntry>& entries, std::uint64_t id) {
  const auto entry = std::lower_bound(entries.begin(), entries.end(), id,
                                      [](const LedgerEntry& e, std::uint64_t wanted) { return e.id < wanted; });
  return entry != entries.end() && entry->id == id ? &*entry : nullptr;
}

Status CheckSettlement(const LedgerEntry* entry, const Settlement& settlement) {
  const std::string id = std::to_string(settlement.id);
  if (entry == nullptr) return Refused("The ledger has no reservation " + id + " to settle.");
  if (entry->state == LedgerState::settled) return Refused("Reservation " + id + " is already settled.");
  if (settlement.used < 0 || settlement.used > entry->event.count) {
    return Refused("Reservation " + id + " holds " + std::to_string(entry->event.count) + " releases; " +
                   std::to_string(settlement.used) + " cannot have been used.");
  }
  return {};
}

Status Replay(const Record& record, std::vector<LedgerEntry>& entries) {
  switch (static_cast<LedgerRecord>(record.type)) {
    case LedgerRecord::reserve: {
      RETORT_ASSIGN_OR_RETURN(LedgerEntry entry, DecodeReservation(record.payload));
      if (!entries.empty() && entry.id <= entries.back().id) return DamageError("a reservation's id does not grow");
      entries.push_back(std::move(entry));
      return {};
    }
    case LedgerRecord::settle: {
      RETORT_ASSIGN_OR_RETURN(const Settlement settlement, DecodeSettlement(record.payload));
      LedgerEntry* entry = Find(entries, settlement.id);
      RETORT_RETURN_IF_ERROR(CheckSettlement(entry, settlement));
      entry->state = LedgerState::settled;
      entry->used = settlement.used;
      return {};
    }
  }
  return DamageError("a record of unknown type " + std::to_string(record.type));
}

Result<std::vector<LedgerEntry>> ReplayAll(const LogContents& contents, const std::string& path) {
  std::vector<LedgerEntry> entries;
  for (const Record& record : contents.records) {
    if (const Status status = Replay(record, entries); !status.ok()) {
      return DamageError("'" + path + "' is damaged at byte " + std::to_string(record.offset) + ": " +
                         status.message());
    }
  }
  return entries;
}

void Aggregate(std::vector<privacy::PrivacyEvent>& events, privacy::PrivacyEvent event) {
  if (event.count == 0) return;
  for (privacy::PrivacyEvent& known : events) {
    if (known.SameMechanism(event)) {
      known.Count(event.count);
      return;
    }
  }
  events.push_back(std::move(event));
}

}  // namespace

privacy::PrivacyEvent LedgerEntry::Charged() const {
  privacy::PrivacyEvent charged = event;
  if (state == LedgerState::settled) charged.count = used;
  return charged;
}

Result<std::unique_ptr<PrivacyLedger>> PrivacyLedger::Open(Env& env, const std::string& path) {
  LogContents contents;
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<RecordLog> log, RecordLog::Open(env, path, LogKind::ledger, &contents));
  RETORT_ASSIGN_OR_RETURN(std::vector<LedgerEntry> entries, ReplayAll(contents, path));
  std::unique_ptr<PrivacyLedger> ledger(new PrivacyLedger(std::move(log)));
  for (LedgerEntry& entry : entries) ledger->Add(std::move(entry));
  return ledger;
}

void PrivacyLedger::Add(LedgerEntry entry) {
  of_trial_[entry.attempt.trial].push_back(entries_.size());
  entries_.push_back(std::move(entry));
}

Result<std::uint64_t> PrivacyLedger::Reserve(const std::string& data_digest, AttemptId attempt,
                                             std::uint64_t generation, const privacy::PrivacyEvent& event) {
  if (event.count <= 0) return Refused("A reservation must cover at least one release.");
  LedgerEntry entry;
  entry.id = entries_.empty() ? 1 : entries_.back().id + 1;
  entry.data_digest = data_digest;
  entry.attempt = attempt;
  entry.generation = generation;
  entry.event = event;
  log_->Append(static_cast<std::uint16_t>(LedgerRecord::reserve), EncodeReservation(entry));
  RETORT_RETURN_IF_ERROR(log_->Sync());
  const std::uint64_t id = entry.id;
  Add(std::move(entry));
  return id;
}

Status PrivacyLedger::Settle(std::uint64_t id, std::int64_t used) {
  LedgerEntry* entry = Find(entries_, id);
  RETORT_RETURN_IF_ERROR(CheckSettlement(entry, {id, used}));
  log_->Append(static_cast<std::uint16_t>(LedgerRecord::settle), DumpJson({{"id", id}, {"used", used}}));
  RETORT_RETURN_IF_ERROR(log_->Sync());
  entry->state = LedgerState::settled;
  entry->used = used;
  return {};
}

std::vector<privacy::PrivacyEvent> PrivacyLedger::CollectEvents(TrialId trial) const {
  std::vector<privacy::PrivacyEvent> events;
  const auto found = of_trial_.find(trial);
  if (found == of_trial_.end()) return events;
  for (const std::size_t index : found->second) Aggregate(events, entries_[index].Charged());
  return events;
}

Result<std::uint64_t> CountReservations(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const LogContents contents, ReadRecordLog(env, path, LogKind::ledger));
  return static_cast<std::uint64_t>(std::count_if(
      contents.records.begin(), contents.records.end(),
      [](const Record& record) { return record.type == static_cast<std::uint16_t>(LedgerRecord::reserve); }));
}

Result<std::vector<LedgerEntry>> ReadLedger(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const LogContents contents, ReadRecordLog(env, path, LogKind::ledger));
  return ReplayAll(contents, path);
}

}  // namespace retort::storage
