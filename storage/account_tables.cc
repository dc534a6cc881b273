#include "storage/account_tables.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "storage/hdf5_reader.h"
#include "storage/json_text.h"

namespace retort::storage {
namespace {

constexpr std::array<std::string_view, 9> kKinds = {
    "none",       "gaussian-gradient", "noisy-votes",    "subsampled-gaussian", "randomized-response",
    "loss-noise", "member-gradient",   "label-response", "member-response"};
constexpr std::array<std::string_view, 4> kUnits = {"row", "batch", "vote", "step"};
constexpr std::array<std::string_view, 4> kSources = {"none", "secure-lattice", "secure-float", "seeded"};
constexpr std::array<std::string_view, 3> kStates = {"", "reserved", "settled"};

template <std::size_t size, typename Enum>
std::string NameIn(const std::array<std::string_view, size>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < size ? std::string(names[index]) : std::to_string(index);
}

using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;
using Integers = std::vector<std::int64_t>;
using Counts = std::vector<std::uint64_t>;

// One column: `value` of each element.
template <typename T, typename Elements, typename Value>
TableColumn Column(const char* name, const Elements& elements, Value&& value) {
  std::vector<T> values;
  values.reserve(elements.size());
  for (const auto& element : elements) values.push_back(static_cast<T>(value(element)));
  return {name, std::move(values)};
}

nlohmann::json Number(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace

Table ClaimTable(const std::vector<privacy::Claim>& claims, const std::vector<std::string>& trials) {
  using privacy::Claim;
  RETORT_CHECK(trials.empty() || trials.size() == claims.size());
  Table table;
  if (!trials.empty()) table.push_back({"trial", trials});
  const auto text = [&](const char* name, auto value) {
    table.push_back(Column<std::string>(name, claims, value));
  };
  const auto number = [&](const char* name, auto value) {
    table.push_back(Column<double>(name, claims, value));
    table.back().units = "1";
  };
  text("adjacency", [](const Claim& c) { return privacy::AdjacencyName(c.adjacency); });
  text("neighbour", [](const Claim& c) { return privacy::NeighbourName(c.neighbour); });
  number("delta", [](const Claim& c) { return c.delta; });
  number("epsilon", [](const Claim& c) { return c.epsilon; });
  number("lower", [](const Claim& c) { return c.lower.value_or(std::numeric_limits<double>::quiet_NaN()); });
  text("status", [](const Claim& c) { return privacy::StatusName(c.status); });
  text("units", [](const Claim& c) { return c.units; });
  text("accountant", [](const Claim& c) { return c.accountant; });
  text("assumptions", [](const Claim& c) { return DumpJson(c.assumptions); });
  text("reason", [](const Claim& c) { return c.reason; });
  return table;
}

Result<std::vector<privacy::Claim>> ClaimsFrom(const Table& table) {
  RETORT_ASSIGN_OR_RETURN(const Texts adjacency, ColumnOf<std::string>(table, "adjacency"));
  RETORT_ASSIGN_OR_RETURN(const Texts neighbour, ColumnOf<std::string>(table, "neighbour"));
  RETORT_ASSIGN_OR_RETURN(const Numbers delta, ColumnOf<double>(table, "delta"));
  RETORT_ASSIGN_OR_RETURN(const Numbers epsilon, ColumnOf<double>(table, "epsilon"));
  RETORT_ASSIGN_OR_RETURN(const Numbers lower, ColumnOf<double>(table, "lower"));
  RETORT_ASSIGN_OR_RETURN(const Texts status, ColumnOf<std::string>(table, "status"));
  RETORT_ASSIGN_OR_RETURN(const Texts units, ColumnOf<std::string>(table, "units"));
  RETORT_ASSIGN_OR_RETURN(const Texts accountant, ColumnOf<std::string>(table, "accountant"));
  RETORT_ASSIGN_OR_RETURN(const Texts assumptions, ColumnOf<std::string>(table, "assumptions"));
  RETORT_ASSIGN_OR_RETURN(const Texts reason, ColumnOf<std::string>(table, "reason"));
  std::vector<privacy::Claim> claims;
  for (std::size_t i = 0; i < adjacency.size(); ++i) {
    const auto decode = [&](const nlohmann::json& listed) -> Result<privacy::Claim> {
      nlohmann::json json = {{"adjacency", adjacency[i]}, {"neighbour", neighbour[i]},
                             {"delta", Number(delta[i])}, {"epsilon", Number(epsilon[i])},
                             {"lower", nullptr},          {"status", status[i]},
                             {"units", units[i]},         {"accountant", accountant[i]},
                             {"assumptions", listed},     {"reason", reason[i]}};
      if (!std::isnan(lower[i])) json["lower"] = Number(lower[i]);
      return privacy::DecodeClaim(DumpJson(json));
    };
    RETORT_ASSIGN_OR_RETURN(privacy::Claim claim,
                            ReadJson<privacy::Claim>(assumptions[i], "a claim", decode));
    claims.push_back(std::move(claim));
  }
  return claims;
}

Table LedgerTable(const std::vector<LedgerEntry>& entries) {
  using Entry = LedgerEntry;
  Table table;
  const auto text = [&](const char* name, auto value) {
    table.push_back(Column<std::string>(name, entries, value));
  };
  const auto number = [&](const char* name, auto value) {
    table.push_back(Column<double>(name, entries, value));
  };
  const auto integer = [&](const char* name, auto value) {
    table.push_back(Column<std::int64_t>(name, entries, value));
  };
  const auto count = [&](const char* name, auto value) {
    table.push_back(Column<std::uint64_t>(name, entries, value));
  };
  count("id", [](const Entry& e) { return e.id; });
  text("data_digest", [](const Entry& e) { return e.data_digest; });
  text("trial", [](const Entry& e) { return e.attempt.trial.Hex(); });
  count("attempt", [](const Entry& e) { return e.attempt.number; });
  count("generation", [](const Entry& e) { return e.generation; });
  text("state", [](const Entry& e) { return NameIn(kStates, e.state); });
  text("kind", [](const Entry& e) { return NameIn(kKinds, e.event.kind); });
  text("unit", [](const Entry& e) { return NameIn(kUnits, e.event.unit); });
  integer("count", [](const Entry& e) { return e.event.count; });
  integer("used", [](const Entry& e) { return e.used; });
  number("sensitivity", [](const Entry& e) { return e.event.sensitivity; });
  number("noise_std", [](const Entry& e) { return e.event.noise_std; });
  number("granularity", [](const Entry& e) { return e.event.granularity; });
  number("epsilon0", [](const Entry& e) { return e.event.epsilon0; });
  integer("choices", [](const Entry& e) { return e.event.choices; });
  number("sampling_rate", [](const Entry& e) { return e.event.sampling_rate; });
  integer("rows_per_batch", [](const Entry& e) { return e.event.rows_per_batch; });
  integer("noise_coordinates", [](const Entry& e) { return e.event.noise_coordinates; });
  integer("release_coordinates", [](const Entry& e) { return e.event.release_coordinates; });
  text("source", [](const Entry& e) { return NameIn(kSources, e.event.source); });
  text("assumptions", [](const Entry& e) { return DumpJson(e.event.assumptions); });
  text("event", [](const Entry& e) { return privacy::EncodeEvent(e.event); });
  return table;
}

Result<std::vector<LedgerEntry>> LedgerFrom(const Table& table) {
  RETORT_ASSIGN_OR_RETURN(const Counts ids, ColumnOf<std::uint64_t>(table, "id"));
  RETORT_ASSIGN_OR_RETURN(const Texts data, ColumnOf<std::string>(table, "data_digest"));
  RETORT_ASSIGN_OR_RETURN(const Texts trials, ColumnOf<std::string>(table, "trial"));
  RETORT_ASSIGN_OR_RETURN(const Counts attempts, ColumnOf<std::uint64_t>(table, "attempt"));
  RETORT_ASSIGN_OR_RETURN(const Counts generations, ColumnOf<std::uint64_t>(table, "generation"));
  RETORT_ASSIGN_OR_RETURN(const Texts states, ColumnOf<std::string>(table, "state"));
  RETORT_ASSIGN_OR_RETURN(const Integers used, ColumnOf<std::int64_t>(table, "used"));
  RETORT_ASSIGN_OR_RETURN(const Texts events, ColumnOf<std::string>(table, "event"));
  std::vector<LedgerEntry> entries;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::optional<TrialId> trial = TrialId::FromHex(trials[i]);
    if (!trial) return DamageError("Row " + std::to_string(i) + " of the ledger table names no trial.");
    LedgerEntry entry;
    entry.id = ids[i];
    entry.data_digest = data[i];
    entry.attempt = {*trial, static_cast<std::uint32_t>(attempts[i])};
    entry.generation = generations[i];
    entry.state = states[i] == "settled" ? LedgerState::settled : LedgerState::reserved;
    entry.used = used[i];
    RETORT_ASSIGN_OR_RETURN(entry.event, privacy::DecodeEvent(events[i]));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace retort::storage
