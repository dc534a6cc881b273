#include "orchestrator/core/events.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "experiments/base/json.h"
#include "experiments/methods/spec_codec.h"

namespace retort::orchestrator {
namespace {

using Json = nlohmann::ordered_json;
using Numbers = std::vector<std::pair<std::string, double>>;

Json NumberToJson(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double NumberFromJson(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw nlohmann::json::other_error::create(600, "not a number: " + text, &json);
}

Json NumbersToJson(const Numbers& numbers) {
  Json json = Json::array();
  for (const auto& [name, value] : numbers) json.push_back(Json::array({name, NumberToJson(value)}));
  return json;
}

Numbers NumbersFromJson(const Json& json) {
  Numbers numbers;
  for (const Json& item : json) numbers.emplace_back(item.at(0).get<std::string>(), NumberFromJson(item.at(1)));
  return numbers;
}

void PutAttempt(Json& json, AttemptId attempt) {
  json["trial"] = attempt.trial.Hex();
  json["attempt"] = attempt.number;
}

TrialId TrialFromJson(const Json& json) {
  const auto id = TrialId::FromHex(json.get<std::string>());
  if (!id) throw nlohmann::json::other_error::create(601, "not a trial id", &json);
  return *id;
}

AttemptId AttemptFromJson(const Json& json) {
  return {TrialFromJson(json.at("trial")), RequireInteger<std::uint32_t>(json.at("attempt"))};
}

// Put and Take mirror each other, one pair for each event.
void Put(Json& json, const SweepOpened& event) {
  json["format_version"] = event.format_version;
  json["name"] = event.name;
  json["resolved_toml"] = event.resolved_toml;
  json["provenance"] = event.provenance_json;
}
void Take(const Json& json, SweepOpened& event) {
  event.format_version = RequireInteger<int>(json.at("format_version"));
  event.name = json.at("name").get<std::string>();
  event.resolved_toml = json.at("resolved_toml").get<std::string>();
  event.provenance_json = json.at("provenance").get<std::string>();
}

void Put(Json& json, const TrialPlanned& event) { json["spec"] = event.spec_json; }
void Take(const Json& json, TrialPlanned& event) {
  event.spec_json = json.at("spec").get<std::string>();
  Result<TrialSpec> spec = DecodeTrialSpec(event.spec_json);
  if (!spec.ok()) throw nlohmann::json::other_error::create(602, spec.status().message(), &json);
  event.spec = std::move(*spec);
}

void Put(Json& json, const PlanAdopted& event) {
  Json order = Json::array();
  for (const TrialId id : event.order) order.push_back(id.Hex());
  json["order"] = std::move(order);
}
void Take(const Json& json, PlanAdopted& event) {
  for (const Json& id : json.at("order")) event.order.push_back(TrialFromJson(id));
}

void Put(Json& json, const RunStarted& event) { json["provenance"] = event.provenance_json; }
void Take(const Json& json, RunStarted& event) { event.provenance_json = json.at("provenance").get<std::string>(); }

void Put(Json& json, const AttemptLeased& event) {
  PutAttempt(json, event.attempt);
  json["generation"] = event.generation.value;
  json["members"] = event.members;
}
void Take(const Json& json, AttemptLeased& event) {
  event.attempt = AttemptFromJson(json);
  event.generation.value = RequireInteger<std::uint64_t>(json.at("generation"));
  for (const Json& member : json.at("members"))
    event.members.emplace_back(RequireInteger<int>(member.at(0)), RequireInteger<int>(member.at(1)));
}

void Put(Json& json, const AttemptStarted& event) { PutAttempt(json, event.attempt); }
void Take(const Json& json, AttemptStarted& event) { event.attempt = AttemptFromJson(json); }

void Put(Json& json, const CheckpointNoted& event) {
  PutAttempt(json, event.attempt);
  json["step"] = event.step;
  json["digest"] = event.digest;
}
void Take(const Json& json, CheckpointNoted& event) {
  event.attempt = AttemptFromJson(json);
  event.step = RequireInteger<std::int64_t>(json.at("step"));
  event.digest = json.at("digest").get<std::string>();
}

void Put(Json& json, const ProgressNoted& event) {
  PutAttempt(json, event.attempt);
  json["step"] = event.step;
  json["total_steps"] = event.total_steps;
  json["phase"] = event.phase;
}
void Take(const Json& json, ProgressNoted& event) {
  event.attempt = AttemptFromJson(json);
  event.step = RequireInteger<std::int64_t>(json.at("step"));
  event.total_steps = RequireInteger<std::int64_t>(json.at("total_steps"));
  event.phase = json.at("phase").get<std::string>();
}

void Put(Json& json, const AttemptEnded& event) {
  PutAttempt(json, event.attempt);
  json["succeeded"] = event.succeeded;
  json["for_good"] = event.for_good;
  json["failure"] = std::string(GetFailureName(event.failure));
  json["detail"] = event.detail;
  json["metrics"] = NumbersToJson(event.metrics);
  json["timings"] = NumbersToJson(event.timings);
  json["parameters_digest"] = event.parameters_digest;
  json["file"] = event.file;
  json["retry_at"] = event.retry_at;
}
void Take(const Json& json, AttemptEnded& event) {
  event.attempt = AttemptFromJson(json);
  event.succeeded = json.at("succeeded").get<bool>();
  event.for_good = json.at("for_good").get<bool>();
  const auto failure = ParseFailureName(json.at("failure").get<std::string>());
  if (!failure) throw nlohmann::json::other_error::create(603, "unknown failure kind", &json);
  event.failure = *failure;
  event.detail = json.at("detail").get<std::string>();
  event.metrics = NumbersFromJson(json.at("metrics"));
  event.timings = NumbersFromJson(json.at("timings"));
  event.parameters_digest = json.at("parameters_digest").get<std::string>();
  event.file = json.at("file").get<std::string>();
  event.retry_at = json.at("retry_at").get<double>();
}

void Put(Json& json, const RowWritten& event) { json["row"] = storage::EncodeRow(event.row); }
void Take(const Json& json, RowWritten& event) {
  Result<storage::ResultRow> row = storage::DecodeRow(json.at("row").get<std::string>());
  if (!row.ok()) throw nlohmann::json::other_error::create(604, row.status().message(), &json);
  event.row = std::move(*row);
}

void Put(Json& json, const TrialCancelled& event) { json["trial"] = event.trial.Hex(); }
void Take(const Json& json, TrialCancelled& event) { event.trial = TrialFromJson(json.at("trial")); }

void Put(Json& json, const TrialReopened& event) { json["trial"] = event.trial.Hex(); }
void Take(const Json& json, TrialReopened& event) { event.trial = TrialFromJson(json.at("trial")); }

void Put(Json& json, const SweepInterrupted& event) { json["cause"] = event.cause; }
void Take(const Json& json, SweepInterrupted& event) { event.cause = json.at("cause").get<std::string>(); }

void Put(Json& json, const SlotDrained& event) {
  json["rank"] = event.rank;
  json["slot"] = event.slot;
  json["host"] = event.host;
  json["trials"] = Json::array();
  for (const TrialId trial : event.trials) json["trials"].push_back(trial.Hex());
}
void Take(const Json& json, SlotDrained& event) {
  event.rank = RequireInteger<int>(json.at("rank"));
  event.slot = RequireInteger<int>(json.at("slot"));
  event.host = json.at("host").get<std::string>();
  for (const Json& trial : json.at("trials")) event.trials.push_back(TrialFromJson(trial));
}

void Put(Json& json, const PackingMeasured& event) {
  json["host"] = event.host;
  json["device"] = event.device;
  json["shape"] = event.shape;
  json["width"] = event.width;
  json["rate"] = NumberToJson(event.rate);
  json["than_width"] = event.than_width;
  json["than_rate"] = NumberToJson(event.than_rate);
  json["kept"] = event.kept;
  json["cause"] = event.cause;
}
void Take(const Json& json, PackingMeasured& event) {
  event.host = json.at("host").get<std::string>();
  event.device = json.at("device").get<std::string>();
  event.shape = json.at("shape").get<std::string>();
  event.width = RequireInteger<int>(json.at("width"));
  event.rate = NumberFromJson(json.at("rate"));
  event.than_width = RequireInteger<int>(json.at("than_width"));
  event.than_rate = NumberFromJson(json.at("than_rate"));
  event.kept = json.at("kept").get<bool>();
  event.cause = json.at("cause").get<std::string>();
}

void Put(Json& json, const SlotRestored& event) {
  json["rank"] = event.rank;
  json["slot"] = event.slot;
  json["host"] = event.host;
  json["trial"] = event.trial.Hex();
}
void Take(const Json& json, SlotRestored& event) {
  event.rank = RequireInteger<int>(json.at("rank"));
  event.slot = RequireInteger<int>(json.at("slot"));
  event.host = json.at("host").get<std::string>();
  event.trial = TrialFromJson(json.at("trial"));
}

constexpr std::array<std::pair<AgentChange, const char*>, 3> kChanges = {
    {{AgentChange::joined, "joined"}, {AgentChange::lost, "lost"}, {AgentChange::returned, "returned"}}};

void Put(Json& json, const AgentNoted& event) {
  json["rank"] = event.rank;
  for (const auto& [change, name] : kChanges)
    if (change == event.change) json["change"] = name;
  json["host"] = event.host;
  json["devices"] = event.devices;
}
void Take(const Json& json, AgentNoted& event) {
  event.rank = RequireInteger<int>(json.at("rank"));
  const auto name = json.at("change").get<std::string>();
  const auto known = std::find_if(kChanges.begin(), kChanges.end(), [&](const auto& c) { return name == c.second; });
  if (known == kChanges.end()) throw nlohmann::json::other_error::create(605, "unknown change " + name, &json);
  event.change = known->first;
  event.host = json.at("host").get<std::string>();
  event.devices = json.at("devices").get<std::vector<std::string>>();
}

void Put(Json& json, const LedgerNoted& event) { json["reservations"] = event.reservations; }
void Take(const Json& json, LedgerNoted& event) {
  event.reservations = RequireInteger<std::uint64_t>(json.at("reservations"));
}

void Put(Json& json, const DataNoted& event) {
  json["digest"] = event.digest;
  json["unpacked"] = event.unpacked;
}
void Take(const Json& json, DataNoted& event) {
  event.digest = json.at("digest").get<std::string>();
  event.unpacked = json.at("unpacked").get<std::string>();
}

void Put(Json& json, const RootNoted& event) { json["root"] = event.root; }
void Take(const Json& json, RootNoted& event) { event.root = json.at("root").get<std::string>(); }

// The one place that catches the JSON library's exceptions.
template <typename T>
Result<JournalEvent> DecodeAs(const char* name, std::string_view payload) {
  try {
    const Json json = Json::parse(payload);
    JournalEvent decoded;
    decoded.at = json.at("at").get<double>();
    T event;
    Take(json, event);
    decoded.event = std::move(event);
    return decoded;
  } catch (const nlohmann::json::exception& error) {
    return DamageError(std::string("journal event ") + name + ": " + error.what());
  }
}

}  // namespace

TrialPlanned MakeTrialPlanned(const TrialSpec& spec) { return {spec, EncodeTrialSpec(spec)}; }

EventType FindEventType(const Event& event) {
  // The alternatives of Event stand in the order of their numbers.
  static_assert(std::variant_size_v<Event> == static_cast<std::size_t>(EventType::root_noted));
  static_assert(std::is_same_v<std::variant_alternative_t<8, Event>, AttemptEnded>);
  return static_cast<EventType>(event.index() + 1);
}

std::string EncodeEvent(const JournalEvent& event) {
  Json json = Json::object();
  json["at"] = event.at;
  std::visit([&json](const auto& alternative) { Put(json, alternative); }, event.event);
  // Text from a dying worker may hold any bytes.
  return DumpJson(json);
}

Result<JournalEvent> DecodeEvent(std::uint16_t type, std::string_view payload) {
  switch (static_cast<EventType>(type)) {
    case EventType::sweep_opened:
      return DecodeAs<SweepOpened>("sweep_opened", payload);
    case EventType::trial_planned:
      return DecodeAs<TrialPlanned>("trial_planned", payload);
    case EventType::plan_adopted:
      return DecodeAs<PlanAdopted>("plan_adopted", payload);
    case EventType::run_started:
      return DecodeAs<RunStarted>("run_started", payload);
    case EventType::attempt_leased:
      return DecodeAs<AttemptLeased>("attempt_leased", payload);
    case EventType::attempt_started:
      return DecodeAs<AttemptStarted>("attempt_started", payload);
    case EventType::checkpoint_noted:
      return DecodeAs<CheckpointNoted>("checkpoint_noted", payload);
    case EventType::progress_noted:
      return DecodeAs<ProgressNoted>("progress_noted", payload);
    case EventType::attempt_ended:
      return DecodeAs<AttemptEnded>("attempt_ended", payload);
    case EventType::row_written:
      return DecodeAs<RowWritten>("row_written", payload);
    case EventType::trial_cancelled:
      return DecodeAs<TrialCancelled>("trial_cancelled", payload);
    case EventType::trial_reopened:
      return DecodeAs<TrialReopened>("trial_reopened", payload);
    case EventType::sweep_interrupted:
      return DecodeAs<SweepInterrupted>("sweep_interrupted", payload);
    case EventType::slot_drained:
      return DecodeAs<SlotDrained>("slot_drained", payload);
    case EventType::packing_measured:
      return DecodeAs<PackingMeasured>("packing_measured", payload);
    case EventType::slot_restored:
      return DecodeAs<SlotRestored>("slot_restored", payload);
    case EventType::agent_noted:
      return DecodeAs<AgentNoted>("agent_noted", payload);
    case EventType::ledger_noted:
      return DecodeAs<LedgerNoted>("ledger_noted", payload);
    case EventType::data_noted:
      return DecodeAs<DataNoted>("data_noted", payload);
    case EventType::root_noted:
      return DecodeAs<RootNoted>("root_noted", payload);
  }
  return UsageError("journal event type " + std::to_string(type) +
                    " is unknown: the folder was written by a newer retort; use that version, or another --results");
}

}  // namespace retort::orchestrator
