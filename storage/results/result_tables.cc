#include "storage/results/result_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "experiments/base/json.h"
#include "storage/results/hdf5_conventions.h"
#include "storage/results/hdf5_reader.h"

namespace retort::storage {
namespace {

constexpr std::array<std::string_view, 12> kKinds = {
    "none",           "gaussian-gradient", "noisy-votes",    "subsampled-gaussian", "randomized-response",
    "loss-noise",     "member-gradient",   "label-response", "member-response",     "vote-threshold",
    "consensus-test", "private-selection"};
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
TableColumn Column(std::string name, const Elements& elements, Value&& value) {
  std::vector<T> values;
  values.reserve(elements.size());
  for (const auto& element : elements) values.push_back(static_cast<T>(value(element)));
  return {std::move(name), std::move(values)};
}

nlohmann::json Number(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace

Table MakeClaimTable(const std::vector<privacy::Claim>& claims, const std::vector<std::string>& trials) {
  using privacy::Claim;
  RETORT_CHECK(trials.empty() || trials.size() == claims.size());
  Table table;
  if (!trials.empty()) table.push_back({"trial", trials});
  const auto text = [&](const char* name, auto value) { table.push_back(Column<std::string>(name, claims, value)); };
  const auto number = [&](const char* name, auto value) {
    table.push_back(Column<double>(name, claims, value));
    table.back().units = "1";
  };
  text("adjacency", [](const Claim& c) { return privacy::GetAdjacencyName(c.adjacency); });
  text("neighbour", [](const Claim& c) { return privacy::GetNeighbourName(c.neighbour); });
  number("delta", [](const Claim& c) { return c.delta; });
  number("epsilon", [](const Claim& c) { return c.epsilon; });
  number("lower", [](const Claim& c) { return c.lower.value_or(std::numeric_limits<double>::quiet_NaN()); });
  text("status", [](const Claim& c) { return privacy::GetStatusName(c.status); });
  text("units", [](const Claim& c) { return c.units; });
  text("accountant", [](const Claim& c) { return c.accountant; });
  text("assumptions", [](const Claim& c) { return DumpJson(c.assumptions); });
  text("reason", [](const Claim& c) { return c.reason; });
  return table;
}

Result<std::vector<privacy::Claim>> DecodeClaimTable(const Table& table) {
  RETORT_ASSIGN_OR_RETURN(const Texts adjacency, FindColumn<std::string>(table, "adjacency"));
  RETORT_ASSIGN_OR_RETURN(const Texts neighbour, FindColumn<std::string>(table, "neighbour"));
  RETORT_ASSIGN_OR_RETURN(const Numbers delta, FindColumn<double>(table, "delta"));
  RETORT_ASSIGN_OR_RETURN(const Numbers epsilon, FindColumn<double>(table, "epsilon"));
  RETORT_ASSIGN_OR_RETURN(const Numbers lower, FindColumn<double>(table, "lower"));
  RETORT_ASSIGN_OR_RETURN(const Texts status, FindColumn<std::string>(table, "status"));
  RETORT_ASSIGN_OR_RETURN(const Texts units, FindColumn<std::string>(table, "units"));
  RETORT_ASSIGN_OR_RETURN(const Texts accountant, FindColumn<std::string>(table, "accountant"));
  RETORT_ASSIGN_OR_RETURN(const Texts assumptions, FindColumn<std::string>(table, "assumptions"));
  RETORT_ASSIGN_OR_RETURN(const Texts reason, FindColumn<std::string>(table, "reason"));
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
    RETORT_ASSIGN_OR_RETURN(privacy::Claim claim, ReadJson<privacy::Claim>(assumptions[i], "a claim", decode));
    claims.push_back(std::move(claim));
  }
  return claims;
}

Table MakeLedgerTable(const std::vector<LedgerEntry>& entries) {
  using Entry = LedgerEntry;
  Table table;
  const auto text = [&](const char* name, auto value) { table.push_back(Column<std::string>(name, entries, value)); };
  const auto number = [&](const char* name, auto value) { table.push_back(Column<double>(name, entries, value)); };
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

Result<std::vector<LedgerEntry>> DecodeLedgerTable(const Table& table) {
  RETORT_ASSIGN_OR_RETURN(const Counts ids, FindColumn<std::uint64_t>(table, "id"));
  RETORT_ASSIGN_OR_RETURN(const Texts data, FindColumn<std::string>(table, "data_digest"));
  RETORT_ASSIGN_OR_RETURN(const Texts trials, FindColumn<std::string>(table, "trial"));
  RETORT_ASSIGN_OR_RETURN(const Counts attempts, FindColumn<std::uint64_t>(table, "attempt"));
  RETORT_ASSIGN_OR_RETURN(const Counts generations, FindColumn<std::uint64_t>(table, "generation"));
  RETORT_ASSIGN_OR_RETURN(const Texts states, FindColumn<std::string>(table, "state"));
  RETORT_ASSIGN_OR_RETURN(const Integers used, FindColumn<std::int64_t>(table, "used"));
  RETORT_ASSIGN_OR_RETURN(const Texts events, FindColumn<std::string>(table, "event"));
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

namespace {

constexpr std::size_t kMaxDetailBytes = 512;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Never cuts a UTF-8 character in two.
std::string Shortened(const std::string& text) {
  if (text.size() <= kMaxDetailBytes) return text;
  std::size_t end = kMaxDetailBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::string ColumnName(std::string key) {
  std::replace_if(
      key.begin(), key.end(), [](char c) { return c == '.' || c == '/' || c == '-' || c == ' '; }, '_');
  return key;
}

template <typename Pairs>
auto FindValue(const Pairs& pairs, const std::string& key) -> std::optional<typename Pairs::value_type::second_type> {
  for (const auto& [name, value] : pairs) {
    if (name == key) return value;
  }
  return std::nullopt;
}

template <typename Member>
std::vector<std::string> CollectKeys(const std::vector<ResultRow>& rows, Member member) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const ResultRow& row : rows) {
    for (const auto& pair : row.*member) {
      if (seen.insert(pair.first).second) keys.push_back(pair.first);
    }
  }
  return keys;
}

std::optional<double> ParseFiniteNumber(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

TableColumn AxisColumn(std::string name, const std::string& key, const std::vector<ResultRow>& rows) {
  const bool numeric = std::all_of(rows.begin(), rows.end(), [&](const ResultRow& row) {
    const std::optional<std::string> value = FindValue(row.axes, key);
    return !value || ParseFiniteNumber(*value);
  });
  if (!numeric)
    return Column<std::string>(std::move(name), rows,
                               [&](const ResultRow& row) { return FindValue(row.axes, key).value_or(""); });
  return Column<double>(std::move(name), rows, [&](const ResultRow& row) {
    const std::optional<std::string> value = FindValue(row.axes, key);
    return value ? ParseFiniteNumber(*value).value_or(kMissing) : kMissing;
  });
}

Table FixedColumns(const std::vector<ResultRow>& rows) {
  Table table;
  const auto text = [&](const char* name, std::string ResultRow::*member) {
    table.push_back(Column<std::string>(name, rows, [&](const ResultRow& row) { return row.*member; }));
  };
  text("trial", &ResultRow::trial);
  text("name", &ResultRow::name);
  text("role", &ResultRow::role);
  text("method", &ResultRow::method);
  text("reading", &ResultRow::reading);
  text("teacher", &ResultRow::teacher);
  text("data", &ResultRow::data);
  text("network", &ResultRow::network);
  table.push_back(Column<std::uint64_t>("seed", rows, [](const ResultRow& row) { return row.seed; }));
  text("state", &ResultRow::state);
  table.push_back(Column<std::uint64_t>("attempts", rows, [](const ResultRow& row) { return row.attempts; }));
  table.back().units = "1";
  text("failure", &ResultRow::failure);
  table.push_back(Column<std::string>("detail", rows, [](const ResultRow& row) { return Shortened(row.detail); }));
  text("row_digest", &ResultRow::row_digest);
  text("parameters_digest", &ResultRow::parameters_digest);
  text("attempt_file", &ResultRow::attempt_file);
  return table;
}

}  // namespace

Table MakeRowTable(const std::vector<ResultRow>& rows) {
  Table table = FixedColumns(rows);
  std::set<std::string> taken;
  for (const TableColumn& column : table) taken.insert(column.name);
  const auto free_name = [&](std::string name) {
    while (!taken.insert(name).second) name += "_";
    return name;
  };
  std::vector<std::string> metrics = CollectKeys(rows, &ResultRow::metrics);
  metrics.erase(std::remove(metrics.begin(), metrics.end(), "test.accuracy"), metrics.end());
  metrics.insert(metrics.begin(), "test.accuracy");
  for (const std::string& key : metrics) {
    table.push_back(Column<double>(free_name(ColumnName(key)), rows, [&](const ResultRow& row) {
      return FindValue(row.metrics, key).value_or(kMissing);
    }));
    table.back().units = FindQuantity(key).units;
  }
  for (const std::string& key : CollectKeys(rows, &ResultRow::axes)) {
    const std::string plain = ColumnName(key);
    const std::string name = free_name(taken.count(plain) == 0 ? plain : "axis_" + plain);
    table.push_back(AxisColumn(name, key, rows));
  }
  return table;
}

Table MakeTimingTable(const std::vector<ResultRow>& rows) {
  std::vector<std::string> trials, names;
  std::vector<double> values;
  for (const ResultRow& row : rows) {
    for (const auto& [name, value] : row.timings) {
      trials.push_back(row.trial);
      names.push_back(name);
      values.push_back(value);
    }
  }
  return {{"trial", std::move(trials)}, {"name", std::move(names)}, {"value", std::move(values)}};
}

Table MakeProvenanceTable(const std::vector<ResultRow>& rows) {
  return {Column<std::string>("trial", rows, [](const ResultRow& row) { return row.trial; }),
          Column<std::string>("spec_json", rows, [](const ResultRow& row) { return row.spec_json; }),
          Column<std::string>("provenance_json", rows, [](const ResultRow& row) { return row.provenance_json; })};
}

}  // namespace retort::storage
