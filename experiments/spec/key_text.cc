// Values of keys as a person would write them.
#include "experiments/spec/spec_keys.h"
#include "experiments/spec/toml_tree.h"

namespace retort {

std::string ValueText(const SpecKey& key, const KeyValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&value)) {
    if (*count == 0 && !key.zero_word.empty()) return std::string(key.zero_word);
    return key.indexed ? std::string(key.choices[static_cast<std::size_t>(*count)]) : std::to_string(*count);
  }
  std::string text = FormatReal(std::get<double>(value));
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return key.type == KeyType::duration ? text + "s" : text;
}

namespace {

// Keys that one method of their kinds reads.
bool IsOfAnotherMethod(const TrialSpec& spec, std::string_view name) {
  return (name == "branch" || name == "trust") && spec.method != "feddpsd";
}

}  // namespace

std::string KeyText(const TrialSpec& spec, std::string_view name) {
  const SpecKey* key = FindKey(name, kNowhere);
  if (key == nullptr || !key->AppliesTo(KindOf(spec), spec.source) || IsOfAnotherMethod(spec, name)) return "";
  return ValueText(*key, key->get(spec));
}

}  // namespace retort
