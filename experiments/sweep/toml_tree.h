// A TOML document as a tree that keeps the order of the file and where everything stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/diagnostic.h"

namespace retort {

// A place in one of the texts that make up a sweep: the file, and each KEY=VALUE argument.
struct Position {
  int source = -1;  // index into SourceTexts; -1 = nowhere
  int line = 0, column = 0;
  bool operator==(const Position&) const = default;
};

class SourceTexts {
 public:
  // `name` is what a diagnostic calls the text: a path, or "command line".
  int Add(std::string name, std::string_view text);
  [[nodiscard]] Diagnostic At(Position where, std::string key, std::string message,
                              std::vector<std::string> choices = {}) const;

 private:
  struct Text {
    std::string name;
    std::vector<std::string> lines;
  };
  std::vector<Text> texts_;
};

enum class TomlKind : std::uint8_t { table, array, text, integer, real, flag, other };

struct TomlEntry;
struct TomlNode {
  TomlKind kind = TomlKind::table;
  Position where;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  bool flag = false;
  std::vector<TomlNode> items;     // array
  std::vector<TomlEntry> entries;  // table, in file order

  [[nodiscard]] const TomlEntry* Find(std::string_view key) const;
  [[nodiscard]] TomlEntry* Find(std::string_view key);
  // "the string \"a\"", "the integer 3", "a table", ...
  [[nodiscard]] std::string Describe() const;
  // Returns the value of a number of either kind. REQUIRES: kind is integer or real.
  [[nodiscard]] double Number() const { return kind == TomlKind::real ? real : static_cast<double>(integer); }
};
struct TomlEntry {
  std::string key;
  Position where;  // of the key
  TomlNode value;
};

// The keys of a table, in file order.
[[nodiscard]] std::vector<std::string> ListKeys(const TomlNode& table);

// Parses `text`, which is source `source` of `sources`. On a syntax error: false, and one diagnostic.
[[nodiscard]] bool ParseToml(std::string_view text, int source, const SourceTexts& sources, TomlNode& tree,
                             Diagnostic& error);

// Lays `over` on `under`: tables merge, anything else is replaced, new keys go last.
void Overlay(TomlNode& under, const TomlNode& over);

// TOML text that parses to an equal tree, in the same order.
[[nodiscard]] std::string FormatToml(const TomlNode& root);
// One part of a key: in quotes where it needs them, with escapes for control characters.
[[nodiscard]] std::string FormatTomlKey(const std::string& key);
[[nodiscard]] std::string FormatTomlValue(const TomlNode& value);

}  // namespace retort
