#include "storage/row_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "storage/quantities.h"

namespace retort::storage {
namespace {

constexpr std::size_t kLongestDetail = 512;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

template <typename T, typename Value>
TableColumn Column(std::string name, const std::vector<ResultRow>& rows, Value&& value) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const ResultRow& row : rows) values.push_back(static_cast<T>(value(row)));
  return {std::move(name), std::move(values)};
}

// Never cuts a UTF-8 character in two.
std::string Shortened(const std::string& text) {
  if (text.size() <= kLongestDetail) return text;
  std::size_t end = kLongestDetail;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::string ColumnName(std::string key) {
  std::replace_if(
      key.begin(), key.end(), [](char c) { return c == '.' || c == '/' || c == '-' || c == ' '; }, '_');
  return key;
}

template <typename Pairs>
auto ValueOf(const Pairs& pairs, const std::string& key)
    -> std::optional<typename Pairs::value_type::second_type> {
  for (const auto& [name, value] : pairs) {
    if (name == key) return value;
  }
  return std::nullopt;
}

template <typename Member>
std::vector<std::string> KeysIn(const std::vector<ResultRow>& rows, Member member) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const ResultRow& row : rows) {
    for (const auto& pair : row.*member) {
      if (seen.insert(pair.first).second) keys.push_back(pair.first);
    }
  }
  return keys;
}

std::optional<double> AsNumber(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

TableColumn AxisColumn(std::string name, const std::string& key, const std::vector<ResultRow>& rows) {
  const bool numeric = std::all_of(rows.begin(), rows.end(), [&](const ResultRow& row) {
    const std::optional<std::string> value = ValueOf(row.axes, key);
    return !value || AsNumber(*value);
  });
  if (!numeric)
    return Column<std::string>(std::move(name), rows,
                               [&](const ResultRow& row) { return ValueOf(row.axes, key).value_or(""); });
  return Column<double>(std::move(name), rows, [&](const ResultRow& row) {
    const std::optional<std::string> value = ValueOf(row.axes, key);
    return value ? AsNumber(*value).value_or(kMissing) : kMissing;
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
  table.push_back(
      Column<std::string>("detail", rows, [](const ResultRow& row) { return Shortened(row.detail); }));
  text("row_digest", &ResultRow::row_digest);
  text("parameters_digest", &ResultRow::parameters_digest);
  text("attempt_file", &ResultRow::attempt_file);
  return table;
}

}  // namespace

Table RowTable(const std::vector<ResultRow>& rows) {
  Table table = FixedColumns(rows);
  std::set<std::string> taken;
  for (const TableColumn& column : table) taken.insert(column.name);
  const auto free_name = [&](std::string name) {
    while (!taken.insert(name).second) name += "_";
    return name;
  };
  std::vector<std::string> metrics = KeysIn(rows, &ResultRow::metrics);
  metrics.erase(std::remove(metrics.begin(), metrics.end(), "test.accuracy"), metrics.end());
  metrics.insert(metrics.begin(), "test.accuracy");
  for (const std::string& key : metrics) {
    table.push_back(Column<double>(free_name(ColumnName(key)), rows, [&](const ResultRow& row) {
      return ValueOf(row.metrics, key).value_or(kMissing);
    }));
    table.back().units = QuantityOf(key).units;
  }
  for (const std::string& key : KeysIn(rows, &ResultRow::axes)) {
    const std::string plain = ColumnName(key);
    const std::string name = free_name(taken.count(plain) == 0 ? plain : "axis_" + plain);
    table.push_back(AxisColumn(name, key, rows));
  }
  return table;
}

Table TimingTable(const std::vector<ResultRow>& rows) {
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

Table ProvenanceTable(const std::vector<ResultRow>& rows) {
  return {
      Column<std::string>("trial", rows, [](const ResultRow& row) { return row.trial; }),
      Column<std::string>("spec_json", rows, [](const ResultRow& row) { return row.spec_json; }),
      Column<std::string>("provenance_json", rows, [](const ResultRow& row) { return row.provenance_json; })};
}

}  // namespace retort::storage
