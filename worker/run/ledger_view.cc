#include "worker/run/ledger_view.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "experiments/base/json.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/planned_events.h"
#include "storage/results/attempt_account.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker {
namespace {

using storage::LedgerEntry;
using storage::LedgerState;

constexpr std::int64_t kUnknownDraws = std::int64_t{1} << 50;
constexpr const char* kGrantName = "ledger/grant";
constexpr const char* kAttribute = "ledger";

nlohmann::json ToJson(const LedgerEntry& entry) {
  return {{"id", entry.id},
          {"data", entry.data_digest},
          {"trial", entry.attempt.trial.Hex()},
          {"attempt", entry.attempt.number},
          {"generation", entry.generation},
          {"settled", entry.state == LedgerState::settled},
          {"event", ParseJson(privacy::EncodeEvent(entry.event))},
          {"used", entry.used}};
}

LedgerEntry ParseEntry(const nlohmann::json& json) {
  LedgerEntry entry;
  entry.id = RequireInteger<std::uint64_t>(json.at("id"));
  entry.data_digest = json.at("data").get<std::string>();
  entry.attempt.trial = TrialId::FromHex(json.at("trial").get<std::string>()).value();
  entry.attempt.number = RequireInteger<std::uint32_t>(json.at("attempt"));
  entry.generation = RequireInteger<std::uint64_t>(json.at("generation"));
  entry.state = json.at("settled").get<bool>() ? LedgerState::settled : LedgerState::reserved;
  Result<privacy::PrivacyEvent> event = privacy::DecodeEvent(DumpJson(json.at("event")));
  if (!event.ok()) throw std::invalid_argument(event.status().message());
  entry.event = std::move(*event);
  entry.used = RequireInteger<std::int64_t>(json.at("used"));
  return entry;
}

// Catches all exceptions of the JSON library.
Result<std::vector<LedgerEntry>> ParseEntries(const std::string& text) {
  try {
    std::vector<LedgerEntry> entries;
    for (const nlohmann::json& json : ParseJson(text)) entries.push_back(ParseEntry(json));
    return entries;
  } catch (const std::exception& error) {
    return DamageError(std::string("The checkpoint's ledger does not decode: ") + error.what());
  }
}

std::string Encode(const std::vector<LedgerEntry>& entries) {
  nlohmann::json all = nlohmann::json::array();
  for (const LedgerEntry& entry : entries) all.push_back(ToJson(entry));
  return DumpJson(all);
}

}  // namespace

LedgerView::LedgerView(release::LedgerClient& host, storage::CheckpointStore& store, AttemptId attempt,
                       std::uint64_t generation, std::string data_digest)
    : host_(host), store_(store), attempt_(attempt), generation_(generation), data_digest_(std::move(data_digest)) {}

Result<std::uint64_t> LedgerView::Reserve(const privacy::PrivacyEvent& event, std::int64_t count) {
  privacy::PrivacyEvent recorded = event;
  recorded.facts = facts_;
  recorded.voids.insert(recorded.voids.end(), voids_.begin(), voids_.end());
  std::sort(recorded.voids.begin(), recorded.voids.end());
  const Result<std::uint64_t> granted = host_.Reserve(recorded, count);
  if (!granted.ok() && granted.status().code() == StatusCode::refused) refusal_ = granted.status().message();
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t id, granted);
  LedgerEntry entry{id, data_digest_, attempt_, generation_, LedgerState::reserved, std::move(recorded), 0};
  entry.event.count = count;
  RETORT_RETURN_IF_ERROR(Write(entry));
  entries_.push_back(std::move(entry));
  return id;
}

Status LedgerView::Write(const LedgerEntry& entry) {
  const std::string text = Encode({entry});
  storage::TensorBlob blob{kGrantName, storage::DType::u8, {static_cast<std::int64_t>(text.size())}, {}};
  blob.bytes.assign(text.begin(), text.end());
  return store_.AppendReleased({step_, {std::move(blob)}});
}

LedgerEntry* LedgerView::Find(const LedgerEntry& entry) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&entry](const LedgerEntry& other) {
    return other.id == entry.id && other.attempt == entry.attempt && other.generation == entry.generation;
  });
  return found == entries_.end() ? nullptr : &*found;
}

Status LedgerView::ChargeRemainingDraws(std::int64_t count) {
  if (count <= 0 || entries_.empty()) return {};
  const privacy::PrivacyEvent event = entries_.back().event;
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t id, Reserve(event, count));
  return Settle(id, count);
}

Status LedgerView::Settle(std::uint64_t id, std::int64_t used) {
  LedgerEntry wanted;
  wanted.id = id;
  wanted.attempt = attempt_;
  wanted.generation = generation_;
  LedgerEntry* entry = Find(wanted);
  if (entry == nullptr) return host_.Settle(id, used);
  LedgerEntry settled = *entry;
  settled.state = LedgerState::settled;
  settled.used = used;
  // With it all answers are durable that were drawn of the block.
  RETORT_RETURN_IF_ERROR(Write(settled));
  RETORT_RETURN_IF_ERROR(host_.Settle(id, used));
  *entry = std::move(settled);
  return {};
}

void LedgerView::Save(std::map<std::string, std::string>& attributes) const {
  attributes[kAttribute] = Encode(entries_);
}

Status LedgerView::Load(const std::map<std::string, std::string>& attributes) {
  const auto found = attributes.find(kAttribute);
  if (found == attributes.end()) return DamageError("The checkpoint lacks its ledger.");
  RETORT_ASSIGN_OR_RETURN(entries_, ParseEntries(found->second));
  return {};
}

Result<bool> LedgerView::Absorb(const storage::TranscriptRecord& record) {
  if (record.released.size() != 1 || record.released[0].name != kGrantName) return false;
  const std::vector<std::uint8_t>& bytes = record.released[0].bytes;
  RETORT_ASSIGN_OR_RETURN(std::vector<LedgerEntry> entries, ParseEntries(std::string(bytes.begin(), bytes.end())));
  // A checkpoint that was committed while the transcript was replayed holds the grants of steps after it too.
  for (LedgerEntry& entry : entries) {
    LedgerEntry* known = Find(entry);
    if (known == nullptr)
      entries_.push_back(std::move(entry));
    else if (entry.state == LedgerState::settled)
      *known = std::move(entry);
  }
  return true;
}

void LedgerView::CountLedgerCharges(const std::vector<privacy::PrivacyEvent>& charged) {
  for (const LedgerEntry& entry : entries_)
    if (entry.attempt == attempt_) generation_ = std::max(generation_, entry.generation + 1);
  uncounted_ = storage::MakeUncountedEntries(entries_, charged, attempt_, generation_, data_digest_);
}

Status LedgerView::ChargeMissingDraws(const std::vector<privacy::PrivacyEvent>& charged, TrialHost& host) const {
  return ChargeDrawnEvents(storage::FindForgottenDraws(entries_, charged), host);
}

std::vector<LedgerEntry> LedgerView::entries() const {
  std::vector<LedgerEntry> all = entries_;
  all.insert(all.end(), uncounted_.begin(), uncounted_.end());
  return all;
}

std::vector<privacy::PrivacyEvent> LedgerView::Charged() const {
  std::vector<privacy::PrivacyEvent> events;
  for (const LedgerEntry& entry : entries()) events.push_back(entry.Charged());
  return events;
}

std::int64_t LedgerView::DrawsLeft(const TrialSpec& spec) const {
  const Result<std::vector<privacy::PrivacyEvent>> planned = privacy::PlanEvents(spec);
  if (!planned.ok()) return kUnknownDraws;
  std::int64_t draws = 0;
  for (const privacy::PrivacyEvent& event : *planned) draws += event.count;
  for (const LedgerEntry& entry : entries_) draws = std::max<std::int64_t>(draws - entry.Charged().count, 0);
  return draws;
}

}  // namespace retort::worker
