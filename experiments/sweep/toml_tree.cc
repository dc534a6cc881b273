#include "experiments/sweep/toml_tree.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"

namespace retort {
namespace {

// Keys of more parts than anything has are found before the parser recurses into them.
constexpr int kMaxKeyParts = 16;

struct TextPlace {
  int line = 1, column = 1;  // from 1; columns count code points
};

// Returns the end of the string that opens at `at`, behind its closing quotes; of one without an end, the end of its
// line, or of the text.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = text.substr(at, 3);
  const bool many = three.size() == 3 && three[1] == quote && three[2] == quote;
  for (std::size_t i = at + (many ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (!many && text[i] == '\n') {
      return i;
    } else if (text[i] == quote && (!many || text.substr(i, 3) == three)) {
      i += many ? 3 : 1;
      while (many && i < text.size() && text[i] == quote) ++i;  // a closing run may be longer
      return i;
    }
  }
  return text.size();
}

TextPlace FindPlace(std::string_view text, std::size_t at) {
  TextPlace place;
  for (std::size_t i = 0; i < at; ++i) {
    place.line += text[i] == '\n' ? 1 : 0;
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;  // a code point
    place.column = text[i] == '\n' ? 1 : place.column + (begins ? 1 : 0);
  }
  return place;
}

// Where the first dotted key or header of `toml` grows past kMaxKeyParts parts. Text that is not TOML is
// scanned as far as it can be read as such.
std::optional<TextPlace> FindDeepKey(std::string_view toml) {
  int dots = 0;
  for (std::size_t at = 0; at < toml.size();) {
    switch (toml[at]) {
      case '"':
      case '\'':
        at = EndOfString(toml, at);
        continue;
      case '#':
        while (at < toml.size() && toml[at] != '\n') ++at;
        continue;
      case '.':
        if (++dots >= kMaxKeyParts) return FindPlace(toml, at);
        break;
      case '\n':
      case '=':
      case ',':
      case '{':
      case '}':
      case '[':
      case ']':
        dots = 0;
        break;
      default:
        break;
    }
    ++at;
  }
  return std::nullopt;
}

Position MakePosition(const toml::source_region& region, int source) {
  return {source, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

// An inline or [section] table that another key reopened has the position of its first key.
TomlNode Convert(const toml::node& node, int source) {
  TomlNode out;
  out.where = MakePosition(node.source(), source);
  if (const auto* table = node.as_table()) {
    out.kind = TomlKind::table;
    out.entries.reserve(table->size());
    for (const auto& [key, value] : *table) {
      out.entries.push_back({std::string(key.str()), MakePosition(key.source(), source), Convert(value, source)});
    }
    std::sort(out.entries.begin(), out.entries.end(), [](const TomlEntry& a, const TomlEntry& b) {
      return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
    });
  } else if (const auto* array = node.as_array()) {
    out.kind = TomlKind::array;
    out.items.reserve(array->size());
    for (const auto& item : *array) out.items.push_back(Convert(item, source));
  } else if (const auto* text = node.as_string()) {
    out.kind = TomlKind::text;
    out.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = TomlKind::integer;
    out.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    out.kind = TomlKind::real;
    out.real = real->get();
  } else if (const auto* flag = node.as_boolean()) {
    out.kind = TomlKind::flag;
    out.flag = flag->get();
  } else {
    out.kind = TomlKind::other;
  }
  return out;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view point = text.substr(at, std::max<std::size_t>(MeasureCodePoint(text, at), 1));
    if (point == "\"" || point == "\\")
      out.append("\\").append(point);
    else if (const std::string control = FindControlCharacter(point); !control.empty())
      out += "\\u" + control.substr(2);
    else
      out += point;
    at += point.size();
  }
  return out + '"';
}

bool HoldsTable(const TomlNode& table) {
  return std::any_of(table.entries.begin(), table.entries.end(),
                     [](const TomlEntry& entry) { return entry.value.kind == TomlKind::table; });
}

// A table of tables is spelt out in dotted keys; any other value stands on one line.
void FormatEntries(const TomlNode& table, const std::string& prefix, std::string& out) {
  for (const auto& entry : table.entries) {
    const std::string name = prefix + FormatTomlKey(entry.key);
    if (entry.value.kind == TomlKind::table && HoldsTable(entry.value)) {
      FormatEntries(entry.value, name + ".", out);
    } else {
      out += name + " = " + FormatTomlValue(entry.value) + "\n";
    }
  }
}

std::string FormatArray(const TomlNode& array) {
  const bool tables = std::any_of(array.items.begin(), array.items.end(),
                                  [](const TomlNode& item) { return item.kind == TomlKind::table; });
  std::string out = tables ? "[\n" : "[";
  for (std::size_t i = 0; i < array.items.size(); ++i) {
    if (tables) {
      out += "  " + FormatTomlValue(array.items[i]) + ",\n";
    } else {
      out += (i == 0 ? "" : ", ") + FormatTomlValue(array.items[i]);
    }
  }
  return out + "]";
}

}  // namespace

int SourceTexts::Add(std::string name, std::string_view text) {
  Text added{std::move(name), {}};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    added.lines.emplace_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  texts_.push_back(std::move(added));
  return static_cast<int>(texts_.size()) - 1;
}

Diagnostic SourceTexts::At(Position where, std::string key, std::string message,
                           std::vector<std::string> choices) const {
  Diagnostic diagnostic;
  diagnostic.message = std::move(message);
  diagnostic.key = std::move(key);
  diagnostic.choices = std::move(choices);
  if (where.source < 0 || where.source >= static_cast<int>(texts_.size())) return diagnostic;
  const Text& text = texts_[static_cast<std::size_t>(where.source)];
  diagnostic.file = text.name;
  diagnostic.line = where.line;
  diagnostic.column = where.column;
  if (where.line >= 1 && where.line <= static_cast<int>(text.lines.size())) {
    diagnostic.source_line = text.lines[static_cast<std::size_t>(where.line) - 1];
  }
  return diagnostic;
}

const TomlEntry* TomlNode::Find(std::string_view key) const {
  for (const auto& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

TomlEntry* TomlNode::Find(std::string_view key) {
  for (auto& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

std::string TomlNode::Describe() const {
  switch (kind) {
    case TomlKind::table:
      return "a table";
    case TomlKind::array:
      return "an array";
    case TomlKind::text:
      return "the string " + Quoted(text);
    case TomlKind::integer:
      return "the integer " + std::to_string(integer);
    case TomlKind::real:
      return "the number " + FormatReal(real);
    case TomlKind::flag:
      return flag ? "the boolean true" : "the boolean false";
    case TomlKind::other:
      return "a date or time";
  }
  return "a value";
}

// The one place where toml++ may throw.
std::vector<std::string> ListKeys(const TomlNode& table) {
  std::vector<std::string> keys;
  for (const TomlEntry& entry : table.entries) keys.push_back(entry.key);
  return keys;
}

bool ParseToml(std::string_view text, int source, const SourceTexts& sources, TomlNode& tree, Diagnostic& error) {
  if (const auto deep = FindDeepKey(text)) {
    error = sources.At({source, deep->line, deep->column}, "",
                       "a key of more than " + std::to_string(kMaxKeyParts) + " parts: no key here has that many");
    return false;
  }
  try {
    tree = Convert(toml::parse(text, std::string_view("sweep")), source);
    return true;
  } catch (const toml::parse_error& failure) {
    error =
        sources.At(MakePosition(failure.source(), source), "", "not valid TOML: " + std::string(failure.description()));
    return false;
  }
}

void Overlay(TomlNode& under, const TomlNode& over) {
  for (const auto& entry : over.entries) {
    TomlEntry* existing = under.Find(entry.key);
    if (existing == nullptr) {
      under.entries.push_back(entry);
    } else if (existing->value.kind == TomlKind::table && entry.value.kind == TomlKind::table) {
      Overlay(existing->value, entry.value);
    } else {
      *existing = entry;
    }
  }
}

std::string FormatTomlKey(const std::string& key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return bare ? key : Quoted(key);
}

std::string FormatTomlValue(const TomlNode& value) {
  switch (value.kind) {
    case TomlKind::text:
      return Quoted(value.text);
    case TomlKind::integer:
      return std::to_string(value.integer);
    case TomlKind::real:
      return FormatReal(value.real);
    case TomlKind::flag:
      return value.flag ? "true" : "false";
    case TomlKind::array:
      return FormatArray(value);
    case TomlKind::other:
      return "\"\"";
    case TomlKind::table:
      break;
  }
  std::string out = "{";
  for (std::size_t i = 0; i < value.entries.size(); ++i) {
    out +=
        (i == 0 ? " " : ", ") + FormatTomlKey(value.entries[i].key) + " = " + FormatTomlValue(value.entries[i].value);
  }
  return out + (value.entries.empty() ? "}" : " }");
}

std::string FormatToml(const TomlNode& root) {
  std::string out;
  for (const auto& entry : root.entries) {
    if (entry.value.kind != TomlKind::table)
      out += FormatTomlKey(entry.key) + " = " + FormatTomlValue(entry.value) + "\n";
  }
  for (const auto& entry : root.entries) {
    if (entry.value.kind != TomlKind::table) continue;
    out += "\n[" + FormatTomlKey(entry.key) + "]\n";
    FormatEntries(entry.value, "", out);
  }
  return out;
}

}  // namespace retort
