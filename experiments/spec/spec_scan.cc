#include "experiments/spec/spec_scan.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

#include "experiments/spec/spec_keys.h"

namespace retort {
namespace {

constexpr std::string_view kDataKey = "\"data\":";

class Scan {
 public:
  Scan(std::string_view json, std::string_view data_text, const std::shared_ptr<const DataSpec>& data)
      : rest_(json), data_text_(data_text), data_(data) {}

  std::optional<TrialSpec> Run() {
    if (!Skip('{')) return std::nullopt;
    for (bool first = true; first || Skip(','); first = false) {
      const std::optional<std::string_view> key = Text();
      if (!key || !Skip(':') || !Member(*key)) return std::nullopt;
    }
    if (!Skip('}') || !rest_.empty()) return std::nullopt;
    return std::move(spec_);
  }

 private:
  bool Skip(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Skip(std::string_view wanted) {
    if (rest_.substr(0, wanted.size()) != wanted) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }

  // Of plain ASCII without escapes.
  std::optional<std::string_view> Text() {
    if (!Skip('"')) return std::nullopt;
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, end);
    for (const char c : text)
      if (c == '\\' || c < ' ') return std::nullopt;
    rest_.remove_prefix(end + 1);
    return text;
  }

  template <typename T>
  std::optional<T> Number() {
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const std::string_view digits = rest_.substr(0, static_cast<std::size_t>(end - rest_.data()));
    if (error != std::errc() || !IsJsonNumber(digits)) return std::nullopt;
    rest_.remove_prefix(digits.size());
    return value;
  }

  // Of what from_chars took for one, which is more: "1.", ".5", "01", "inf".
  static bool IsJsonNumber(std::string_view digits) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!digits.empty() && digits.front() == '-') digits.remove_prefix(1);
    if (digits.empty() || !is_digit(digits.front()) || !is_digit(digits.back())) return false;
    if (digits.front() == '0' && digits.size() > 1 && is_digit(digits[1])) return false;
    const std::size_t point = digits.find('.');
    return point == std::string_view::npos || is_digit(digits[point + 1]);
  }

  bool Into(std::string& field) {
    const std::optional<std::string_view> text = Text();
    if (text) field = *text;
    return text.has_value();
  }

  bool Member(std::string_view key) {
    const std::span<const SpecKey> keys = SpecKeys();
    // They come in the order of the table.
    for (; next_ < keys.size() && keys[next_].set == nullptr;) ++next_;
    if (next_ < keys.size() && keys[next_].name == key) return Value(next_);
    if (const std::optional<bool> done = Special(key)) return *done;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i].name == key && keys[i].set != nullptr) return Value(i);
    return false;
  }

  bool FirstOf(std::size_t place) {
    if (place >= seen_.size() || seen_[place]) return false;
    seen_.set(place);
    return true;
  }

  // What is no row of the table; nothing if it is none of these.
  std::optional<bool> Special(std::string_view key) {
    constexpr std::array<std::string_view, 7> kNames = {"role", "teacher", "data", "parent", "id", "name", "axes"};
    const auto found = std::find(kNames.begin(), kNames.end(), key);
    if (found == kNames.end()) return std::nullopt;
    if (!FirstOf(SpecKeys().size() + static_cast<std::size_t>(found - kNames.begin()))) return false;
    if (key == "role") return Role();
    if (key == "teacher") return Into(spec_.teacher);
    if (key == "data") return Data();
    if (key == "parent") return Id([this](TrialId id) { spec_.parent = id; });
    if (key == "id") return Id([this](TrialId id) { spec_.id = id; });
    if (key == "name") return Into(spec_.name);
    return Axes();
  }

  bool Value(std::size_t place) {
    if (!FirstOf(place)) return false;
    next_ = place + 1;
    const SpecKey& key = SpecKeys()[place];
    switch (key.type) {
      case KeyType::flag: {
        const bool yes = Skip("true");
        if (!yes && !Skip("false")) return false;
        key.set(spec_, yes);
        return true;
      }
      case KeyType::count:
        return Set(key, Number<std::int64_t>());
      case KeyType::number:
      case KeyType::duration:
        return Set(key, Number<double>());
      case KeyType::choice:
        return Choice(key);
      case KeyType::text:
      case KeyType::path: {
        const std::optional<std::string_view> text = Text();
        if (text) key.set(spec_, std::string(*text));
        return text.has_value();
      }
      case KeyType::name:
        break;
    }
    return false;
  }

  template <typename T>
  bool Set(const SpecKey& key, const std::optional<T>& value) {
    if (value) key.set(spec_, *value);
    return value.has_value();
  }

  bool Choice(const SpecKey& key) {
    const std::optional<std::string_view> text = Text();
    if (!text) return false;
    if (!key.indexed) {
      key.set(spec_, std::string(*text));
      return true;
    }
    for (std::size_t i = 0; i < key.choices.size(); ++i) {
      if (key.choices[i] != *text) continue;
      key.set(spec_, static_cast<std::int64_t>(i));
      return true;
    }
    return false;
  }

  bool Role() {
    const std::optional<std::string_view> text = Text();
    if (text) spec_.role = *text == "teacher" ? retort::Role::teacher : retort::Role::student;
    return text.has_value();
  }

  bool Data() {
    if (data_ == nullptr || data_text_.empty() || !Skip(data_text_)) return false;
    spec_.data = data_;
    return true;
  }

  template <typename F>
  bool Id(F set) {
    const std::optional<std::string_view> text = Text();
    const std::optional<TrialId> id = text ? TrialId::FromHex(*text) : std::nullopt;
    if (id) set(*id);
    return id.has_value();
  }

  bool Axes() {
    if (!Skip('[')) return false;
    if (Skip(']')) return true;
    for (bool first = true; first || Skip(','); first = false) {
      std::string key, value;
      if (!Skip('[') || !Into(key) || !Skip(',') || !Into(value) || !Skip(']')) return false;
      spec_.axes.emplace_back(std::move(key), std::move(value));
    }
    return Skip(']');
  }

  std::string_view rest_, data_text_;
  const std::shared_ptr<const DataSpec>& data_;
  TrialSpec spec_;
  std::size_t next_ = 0;  // in the table: the key expected now
  std::bitset<256> seen_;  // keys of the table, then those that are none of its rows
};

}  // namespace

std::optional<TrialSpec> ScanTrialSpec(std::string_view json, std::string_view data_text,
                                       const std::shared_ptr<const DataSpec>& data) {
  return Scan(json, data_text, data).Run();
}

std::string_view ScanDataText(std::string_view json) {
  const std::size_t key = json.find(kDataKey);
  if (key == std::string_view::npos) return {};
  const std::size_t begin = key + kDataKey.size();
  if (json.substr(begin, 1) != "{") return {};
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < json.size(); ++i) {
    if (json[i] == '\\') return {};
    if (json[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (json[i] == '{') ++depth;
    if (json[i] == '}' && --depth <= 0)
      return depth == 0 ? json.substr(begin, i + 1 - begin) : std::string_view();
  }
  return {};
}

}  // namespace retort
