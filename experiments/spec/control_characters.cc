// Names and texts of a sweep file that would not stay where they are printed.
#include "experiments/spec/printable.h"
#include "experiments/spec/sweep_document.h"

namespace retort {
namespace {

bool Refuse(const std::string& text, Position where, const std::string& key, Complaints& complaints) {
  const std::string control = FirstControl(text);
  if (control.empty()) return false;
  TomlNode shown;
  shown.kind = TomlKind::text;
  shown.text = OneLine(text);
  const std::string right = FormatTomlValue(shown);
  complaints.Error(where, key,
                   key + " holds the control character " + control +
                       ", which a terminal or a page obeys rather than shows: leave it out, as in " + right,
                   {right});
  return true;
}

bool ValueHoldsControls(const TomlNode& value, const std::string& key, Complaints& complaints) {
  if (value.kind == TomlKind::text) return Refuse(value.text, value.where, key, complaints);
  if (value.kind == TomlKind::table) return HoldsControls(value, key + ".", complaints);
  bool any = false;
  for (const TomlNode& item : value.items) any = ValueHoldsControls(item, key, complaints) || any;
  return any;
}

}  // namespace

bool HoldsControls(const TomlNode& table, const std::string& path, Complaints& complaints) {
  bool any = false;
  for (const TomlEntry& entry : table.entries) {
    const std::string key = path + FormatTomlKey(entry.key);
    any = Refuse(entry.key, entry.where, key, complaints) || any;
    any = ValueHoldsControls(entry.value, key, complaints) || any;
  }
  return any;
}

}  // namespace retort
