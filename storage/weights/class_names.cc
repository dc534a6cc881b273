#include "storage/weights/class_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "experiments/base/json.h"

namespace retort::storage {
namespace {

constexpr std::size_t kMaxClasses = 65536, kMaxJson = std::size_t{4} << 20;

using Numbered = std::vector<std::pair<std::int64_t, std::string>>;

// In the order of the numbers; an empty one for each number between that has none.
std::vector<std::string> InOrder(Numbered numbered) {
  std::sort(numbered.begin(), numbered.end());
  std::vector<std::string> names;
  for (auto& [number, name] : numbered) {
    const auto at = static_cast<std::size_t>(std::max<std::int64_t>(number, -1));
    if (number < static_cast<std::int64_t>(names.size()) || at >= kMaxClasses) return {};
    names.resize(at);
    names.push_back(std::move(name));
  }
  return names;
}

std::optional<std::int64_t> ParseClassNumber(std::string_view text) {
  if (text.empty() || text.size() > 5 || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return std::stoll(std::string(text));
}

// A number and a name, in either order.
std::optional<std::pair<std::int64_t, std::string>> ParsePair(const PickleValue& key, const PickleValue& value) {
  if (key.kind == PickleKind::integer && value.kind == PickleKind::text)
    return std::pair(key.integer, std::string(value.text));
  if (key.kind == PickleKind::text && value.kind == PickleKind::integer)
    return std::pair(value.integer, std::string(key.text));
  if (key.kind != PickleKind::text || value.kind != PickleKind::text) return std::nullopt;
  const std::optional<std::int64_t> number = ParseClassNumber(key.text);
  return number ? std::optional(std::pair(*number, std::string(value.text))) : std::nullopt;
}

std::optional<std::pair<std::int64_t, std::string>> ParsePair(const std::string& key, const nlohmann::json& value) {
  if (value.is_number_integer()) return std::pair(value.get<std::int64_t>(), key);
  const std::optional<std::int64_t> number = ParseClassNumber(key);
  if (!number || !value.is_string()) return std::nullopt;
  return std::pair(*number, value.get<std::string>());
}

// Lower-case letters and digits, and what is not ASCII.
std::string Plain(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) != 0) plain += byte >= 0x80 ? c : static_cast<char>(std::tolower(byte));
  }
  return plain.empty() ? name : plain;
}

}  // namespace

namespace {

// JSON; what Python prints of a list or dict; or names between commas.
nlohmann::json ParsedText(const std::string& text) {
  nlohmann::json value = TryParseJson(text);
  if (!value.is_discarded()) return value;
  std::string other = text;
  if (text.starts_with('{') || text.starts_with('[')) {
    std::replace(other.begin(), other.end(), '\'', '"');
    return TryParseJson(other);
  }
  value = nlohmann::json::array();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t first = std::min(text.find_first_not_of(' ', begin), end);
    value.push_back(text.substr(first, end - first));
    begin = end + 1;
  }
  return value;
}

std::vector<std::string> ParseJsonClassNames(const nlohmann::json& value) {
  Numbered numbered;
  if (value.is_array()) {
    for (const auto& item : value) {
      if (!item.is_string() && !item.is_number_integer()) return {};
      numbered.emplace_back(static_cast<std::int64_t>(numbered.size()),
                            item.is_string() ? item.get<std::string>() : DumpJson(item));
    }
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      auto pair = ParsePair(key, item);
      if (!pair) return {};
      numbered.push_back(*std::move(pair));
    }
  }
  return InOrder(std::move(numbered));
}

}  // namespace

bool IsClassNamesKey(std::string_view key) {
  constexpr std::array<std::string_view, 8> kKeys = {"classes",     "class_names",  "class_to_idx", "idx_to_class",
                                                     "label_names", "label_to_idx", "id2label",     "label2id"};
  return std::any_of(kKeys.begin(), kKeys.end(), [key](std::string_view one) {
    return std::equal(one.begin(), one.end(), key.begin(), key.end(), [](char a, char b) {
      return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
    });
  });
}

std::vector<std::string> ParseClassNames(const Pickle& pickle, const PickleValue& value) {
  Numbered numbered;
  const bool dict = value.kind == PickleKind::dict;
  if (!dict && value.kind != PickleKind::list && value.kind != PickleKind::tuple) return {};
  for (std::size_t i = 0; i < value.items.size(); i += dict ? 2 : 1) {
    const PickleValue& item = pickle.at(value.items[i]);
    if (dict) {
      auto pair = ParsePair(item, pickle.at(value.items[i + 1]));
      if (!pair) return {};
      numbered.push_back(*std::move(pair));
    } else {
      if (item.kind != PickleKind::text && item.kind != PickleKind::integer) return {};
      numbered.emplace_back(static_cast<std::int64_t>(i),
                            item.kind == PickleKind::text ? std::string(item.text) : std::to_string(item.integer));
    }
  }
  return InOrder(std::move(numbered));
}

std::vector<std::string> ParseClassNames(const std::string& text) {
  if (text.size() > kMaxJson) return {};
  return ParseJsonClassNames(ParsedText(text));
}

std::vector<std::string> FindClassNames(const std::string& text) {
  if (text.size() > kMaxJson) return {};
  const nlohmann::json value = TryParseJson(text);
  if (!value.is_object()) return {};
  for (const auto& [key, item] : value.items()) {
    if (!IsClassNamesKey(key)) continue;
    if (std::vector<std::string> names = ParseJsonClassNames(item); !names.empty()) return names;
  }
  return {};
}

std::string FindClassContradiction(const std::vector<std::string>& weights, const std::vector<std::string>& data) {
  std::map<std::string, std::size_t> numbers;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!weights[i].empty()) numbers.emplace(Plain(weights[i]), i);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto found = numbers.find(Plain(data[i]));
    if (found == numbers.end() || found->second == i || (i < weights.size() && Plain(weights[i]) == Plain(data[i])))
      continue;
    return "class \"" + data[i] + "\" is number " + std::to_string(i) + " in the data and number " +
           std::to_string(found->second) + " in the weights";
  }
  return "";
}

}  // namespace retort::storage
