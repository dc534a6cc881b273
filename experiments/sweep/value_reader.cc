#include "experiments/sweep/value_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/teacher_outputs.h"
#include "experiments/sweep/section_keys.h"

namespace retort {
namespace {

std::string Plain(double value) {
  std::string text = FormatReal(value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string Expectation(const SpecKey& key) {
  switch (key.type) {
    case KeyType::flag:
      return "true or false";
    case KeyType::count:
      return key.zero_word.empty() ? "an integer" : "an integer, or \"" + std::string(key.zero_word) + "\"";
    case KeyType::number:
      return "a number";
    case KeyType::choice:
      return "one of the strings";
    case KeyType::duration:
      return "a duration such as \"30s\", \"500ms\", \"5m\" or \"2h\"";
    case KeyType::name:
      return "a name in quotes";
    case KeyType::text:
      return "a string";
    case KeyType::path:
      return "the path of a file";
    case KeyType::indices:
      return "an array of integers, as [0, 217, 482]";
  }
  return "another type";
}

void WrongType(const TomlNode& node, const SpecKey& key, const std::string& path, DiagnosticCollector& diagnostics) {
  std::string message = path + " takes " + Expectation(key) + ", not " + node.Describe();
  const bool whole = node.kind == TomlKind::real && std::floor(node.real) == node.real && std::fabs(node.real) < 1e15;
  if (key.type == KeyType::count && whole) message += "; write " + Plain(std::trunc(node.real));
  diagnostics.AddError(node.where, path, std::move(message), key.ChoiceList());
}

std::optional<KeyValue> InRange(double value, KeyValue held, const TomlNode& node, const SpecKey& key,
                                const std::string& path, DiagnosticCollector& diagnostics) {
  if (IsWithin(key.limits, value)) return held;
  diagnostics.AddError(node.where, path,
                       path + " = " + Plain(value) + " is out of range; it must lie " + FormatLimits(key.limits));
  return std::nullopt;
}

std::optional<KeyValue> ReadChoice(const TomlNode& node, const SpecKey& key, const std::string& path,
                                   DiagnosticCollector& diagnostics) {
  for (std::size_t i = 0; i < key.choices.size(); ++i) {
    if (key.choices[i] != node.text) continue;
    if (key.indexed) return static_cast<std::int64_t>(i);
    return node.text;
  }
  diagnostics.AddUnknown(node.where, path, std::string(key.TrialName()), node.text, key.ChoiceList(), true);
  return std::nullopt;
}

bool HoldsIntegers(const TomlNode& node) {
  return node.kind == TomlKind::array && !node.items.empty() &&
         std::all_of(node.items.begin(), node.items.end(),
                     [](const TomlNode& item) { return item.kind == TomlKind::integer; });
}

std::optional<KeyValue> ReadIndices(const TomlNode& node, const SpecKey& key, const std::string& path,
                                    DiagnosticCollector& diagnostics) {
  std::vector<std::int64_t> indices;
  for (const TomlNode& item : node.items) {
    if (!InRange(static_cast<double>(item.integer), item.integer, item, key, path, diagnostics)) return std::nullopt;
    if (std::find(indices.begin(), indices.end(), item.integer) != indices.end()) {
      diagnostics.AddError(item.where, path,
                           path + " names " + std::to_string(item.integer) + " twice: every one stands once");
      return std::nullopt;
    }
    indices.push_back(item.integer);
  }
  return FormatOutputs(indices);
}

bool IsOfType(const TomlNode& node, SectionType type) {
  const auto all = [&node](TomlKind kind) {
    if (node.kind != TomlKind::array) return false;
    for (const TomlNode& item : node.items) {
      if (item.kind != kind) return false;
    }
    return true;
  };
  switch (type) {
    case SectionType::text:
      return node.kind == TomlKind::text;
    case SectionType::duration:
      return node.kind == TomlKind::text && ParseDuration(node.text).value_or(0) > 0;
    case SectionType::flag:
      return node.kind == TomlKind::flag;
    case SectionType::count:
      return node.kind == TomlKind::integer;
    case SectionType::number:
      return node.kind == TomlKind::integer || node.kind == TomlKind::real;
    case SectionType::share:
      return (all(TomlKind::integer) && node.items.size() == 2) || node.kind == TomlKind::real ||
             node.kind == TomlKind::text;
    case SectionType::texts:
      return all(TomlKind::text);
    case SectionType::counts:
      return all(TomlKind::integer);
    case SectionType::numbers:
      return node.kind == TomlKind::array && !node.items.empty() &&
             std::all_of(node.items.begin(), node.items.end(), [](const TomlNode& item) {
               return item.kind == TomlKind::integer || item.kind == TomlKind::real;
             });
    case SectionType::layers:
      return node.kind == TomlKind::array;
    case SectionType::table:
      return node.kind == TomlKind::table;
    case SectionType::tables:
      return all(TomlKind::table);
  }
  return false;
}

bool CheckSectionRange(const TomlNode& node, const SectionKey& key, const std::string& path,
                       DiagnosticCollector& diagnostics) {
  bool good = true;
  const auto check = [&](const TomlNode& item) {
    const double value = item.kind == TomlKind::real ? item.real : static_cast<double>(item.integer);
    if (IsWithin(key.limits, value)) return;
    diagnostics.AddError(item.where, path,
                         path + " = " + Plain(value) + " is out of range; it must lie " + FormatLimits(key.limits));
    good = false;
  };
  if (key.type == SectionType::count || key.type == SectionType::number) check(node);
  if (key.type == SectionType::counts || key.type == SectionType::numbers || key.type == SectionType::share) {
    for (const TomlNode& item : node.items) check(item);
  }
  return good;
}

}  // namespace

std::string FormatLimits(const Limits& limits) {
  return std::string("in ") + (limits.above_least ? "(" : "[") + Plain(limits.least) + ", " + Plain(limits.most) + "]";
}

bool IsWithin(const Limits& limits, double value) {
  return (limits.above_least ? value > limits.least : value >= limits.least) && value <= limits.most;
}

std::optional<KeyValue> ReadKeyValue(const TomlNode& node, const SpecKey& key, const std::string& path,
                                     DiagnosticCollector& diagnostics) {
  switch (key.type) {
    case KeyType::flag:
      if (node.kind == TomlKind::flag) return node.flag;
      break;
    case KeyType::count:
      if (node.kind == TomlKind::integer) {
        return InRange(static_cast<double>(node.integer), node.integer, node, key, path, diagnostics);
      }
      if (node.kind == TomlKind::text && !key.zero_word.empty() && node.text == key.zero_word) return std::int64_t{0};
      break;
    case KeyType::number:
      if (node.kind == TomlKind::integer || node.kind == TomlKind::real) {
        const double value = node.Number();
        return InRange(value, value, node, key, path, diagnostics);
      }
      break;
    case KeyType::choice:
      if (node.kind == TomlKind::text) return ReadChoice(node, key, path, diagnostics);
      break;
    case KeyType::duration:
      if (node.kind == TomlKind::text) {
        if (const auto seconds = ParseDuration(node.text)) {
          return InRange(*seconds, *seconds, node, key, path, diagnostics);
        }
      }
      break;
    case KeyType::name:
    case KeyType::text:
      if (node.kind == TomlKind::text) return node.text;
      break;
    case KeyType::path:
      if (node.kind == TomlKind::text && !node.text.empty()) return node.text;
      if (node.kind != TomlKind::text) break;
      diagnostics.AddError(node.where, path, path + " is empty: name a file, or leave the key out");
      return std::nullopt;
    case KeyType::indices:
      if (HoldsIntegers(node)) return ReadIndices(node, key, path, diagnostics);
      break;
  }
  WrongType(node, key, path, diagnostics);
  return std::nullopt;
}

bool CheckSection(const TomlNode& table, std::string_view pattern, const std::string& path, bool partial,
                  DiagnosticCollector& diagnostics) {
  bool good = true;
  std::vector<std::string> names;
  for (const SectionKey& key : ListSectionKeys()) {
    if (key.section != pattern) continue;
    names.emplace_back(key.name);
    if (!key.required || partial || table.Find(key.name) != nullptr) continue;
    const std::string missing = path.empty() ? std::string(key.name) : path + "." + std::string(key.name);
    diagnostics.AddError(table.where, missing, "missing " + missing + ": " + std::string(key.doc));
    good = false;
  }
  for (const TomlEntry& entry : table.entries) {
    const SectionKey* found = nullptr;
    for (const SectionKey& key : ListSectionKeys()) {
      if (key.section == pattern && key.name == entry.key) found = &key;
    }
    const std::string dotted = path.empty() ? entry.key : path + "." + entry.key;
    if (found == nullptr) {
      diagnostics.AddUnknown(entry.where, dotted, path.empty() ? "table" : "key", entry.key, names, true,
                             path.empty() ? "" : "in [" + path + "]");
      good = false;
    } else if (!IsOfType(entry.value, found->type)) {
      diagnostics.AddError(
          entry.value.where, dotted,
          dotted + " takes " + std::string(GetSectionTypeName(found->type)) + ", not " + entry.value.Describe());
      good = false;
    } else if (!CheckSectionRange(entry.value, *found, dotted, diagnostics)) {
      good = false;
    }
  }
  return good;
}

}  // namespace retort
