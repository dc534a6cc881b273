// [data.NAME] split: three disjoint sets of examples, each a range, a fraction, a part of the format, or a
// list.
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <utility>

#include "experiments/spec/data_readers.h"
#include "experiments/spec/sweep_document.h"
#include "experiments/spec/value_reader.h"

namespace retort {
namespace {

enum class ShareKind { absent, range, fraction, part, list };

struct Share {
  const char* name;
  IndexRange* range;
  SplitSource* source;
  Position* where;
  bool may_be_empty;
  ShareKind kind = ShareKind::absent;

  [[nodiscard]] bool whole() const { return range->begin == 0 && source->open_end; }
  [[nodiscard]] std::int64_t end() const {
    return source->open_end ? std::numeric_limits<std::int64_t>::max() : range->end;
  }
  [[nodiscard]] std::string Text() const {
    const std::string end = source->open_end ? "" : std::to_string(range->end);
    if (kind == ShareKind::fraction) return FormatReal(source->fraction);
    if (kind == ShareKind::list) return "\"" + source->list + "\"";
    if (kind == ShareKind::part && whole()) return "\"" + source->part + "\"";
    if (kind == ShareKind::part)
      return "\"" + source->part + "[" + std::to_string(range->begin) + ":" + end + "]\"";
    return "[" + std::to_string(range->begin) + ", " + end + "]";
  }
};

bool IsListName(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".txt") || text.ends_with(".csv") ||
         text.ends_with(".list");
}

// "12" or "" for `absent`; nothing for what is no count.
std::optional<std::int64_t> CountOr(std::string_view text, std::int64_t absent) {
  if (text.empty()) return absent;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

class SplitReader {
 public:
  SplitReader(std::string path, DataTable& table, ReadContext& context)
      : path_(std::move(path)), table_(table), context_(context) {
    SplitSpec& split = table.data->split;
    shares_ = {{{"train", &split.train, &split.train_source, &table.train, false},
                {"public", &split.public_range, &split.public_source, &table.public_range, true},
                {"test", &split.test, &split.test_source, &table.test, false}}};
  }

  void Read(const TomlNode& node) {
    if (const TomlEntry* shuffle = node.Find("shuffle"))
      table_.data->split.shuffle = static_cast<std::uint64_t>(shuffle->value.integer);
    for (Share& share : shares_) {
      const TomlEntry* entry = node.Find(share.name);
      if (entry == nullptr) continue;
      *share.where = entry->value.where;
      ReadShare(entry->value, share);
    }
    if (context_.partial || !table_.valid) return;
    CheckKinds();
    CheckFractions();
    CheckRanges();
  }

 private:
  [[nodiscard]] std::string Key(const Share& share) const { return path_ + ".split." + share.name; }

  void Complain(const Share& share, const std::string& message) {
    context_.complaints.Error(*share.where, Key(share), Key(share) + " = " + share.Text() + " " + message);
    table_.valid = false;
  }

  void ReadShare(const TomlNode& value, Share& share) {
    if (value.kind == TomlKind::array) {
      *share.range = {value.items[0].integer, value.items[1].integer};
      share.kind = ShareKind::range;
    } else if (value.kind == TomlKind::real) {
      share.source->fraction = value.real;
      share.kind = ShareKind::fraction;
      if (!(value.real > 0 && value.real <= 1))
        Complain(share, "is no fraction of the examples: it must lie in (0, 1]");
    } else {
      ReadText(value, share);
    }
  }

  void ReadText(const TomlNode& value, Share& share) {
    const std::string& text = value.text;
    const std::size_t bracket = text.find('[');
    const std::string part = text.substr(0, bracket);
    const DataReader* reader = FindDataReader(table_.data->reader);
    std::vector<std::string> parts;
    if (reader != nullptr) parts.assign(reader->parts.begin(), reader->parts.end());
    if (std::find(parts.begin(), parts.end(), part) != parts.end()) return ReadPart(value, bracket, share);
    if (IsListName(text)) {
      const std::filesystem::path list = std::filesystem::path(context_.directory) / text;
      share.source->list = list.lexically_normal().string();
      share.kind = ShareKind::list;
      return;
    }
    table_.valid = false;
    if (reader == nullptr) return;  // complained about already, or said in another table
    context_.complaints.Unknown(
        value.where, Key(share), "part", part, parts, true,
        "of reader \"" + table_.data->reader + "\" (a list file has a name as \"list.txt\")");
  }

  // "test", "test[0:2000]", "test[2000:]".
  void ReadPart(const TomlNode& value, std::size_t bracket, Share& share) {
    const std::string& text = value.text;
    share.kind = ShareKind::part;
    share.source->part = text.substr(0, bracket);
    share.source->open_end = true;
    if (bracket == std::string::npos) return;
    const std::size_t colon = text.find(':', bracket);
    const bool closed = text.back() == ']' && colon != std::string::npos;
    const auto begin =
        closed ? CountOr(std::string_view(text).substr(bracket + 1, colon - bracket - 1), 0) : std::nullopt;
    const auto end = closed ? CountOr(std::string_view(text).substr(colon + 1, text.size() - colon - 2), -1)
                            : std::nullopt;
    if (!begin || !end) {
      context_.complaints.Error(value.where, Key(share),
                                Key(share) + " = \"" + text + "\" is no range of a part; write \"" +
                                    share.source->part + "[0:2000]\", or without end \"" +
                                    share.source->part + "[2000:]\"");
      table_.valid = false;
      return;
    }
    share.source->open_end = *end < 0;
    *share.range = {*begin, std::max<std::int64_t>(*end, 0)};
  }

  // What may stand beside what, so that it can be seen that no example is in two.
  void CheckKinds() {
    const Share& first = shares_[0];
    const auto has = [this](ShareKind kind) {
      return std::any_of(shares_.begin(), shares_.end(),
                         [kind](const Share& share) { return share.kind == kind; });
    };
    const auto named = [](ShareKind kind) { return kind == ShareKind::part || kind == ShareKind::list; };
    for (const Share& share : shares_) {
      if (share.kind == ShareKind::absent || share.kind == first.kind) continue;
      if (named(share.kind) && named(first.kind)) continue;
      return Complain(share, "cannot stand beside " + std::string(first.name) + " = " + first.Text() +
                                 ": a split is by ranges, by fractions, or by parts and lists");
    }
    if (!has(ShareKind::list)) return;
    for (const Share& share : shares_)
      if (share.kind == ShareKind::part && !share.whole())
        Complain(share, "is a range of a part, and beside a list stand other lists or whole parts");
  }

  void CheckFractions() {
    double sum = 0;
    for (const Share& share : shares_) {
      sum += share.kind == ShareKind::fraction ? share.source->fraction : 0;
      if (sum > 1 + 1e-9)
        return Complain(share, "brings the fractions to " + FormatReal(sum) + "; they may not pass 1");
    }
  }

  void CheckRanges() {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      const Share& share = shares_[i];
      if (share.kind != ShareKind::range && share.kind != ShareKind::part) continue;
      const std::int64_t size = share.end() - share.range->begin;
      if (size < 0 || (size == 0 && !share.may_be_empty))
        Complain(share, "holds no example: a range is [begin, end) with begin < end");
      for (std::size_t j = 0; j < i; ++j) {
        const Share& other = shares_[j];
        if (other.kind != share.kind || other.source->part != share.source->part) continue;
        if (share.range->begin >= other.end() || other.range->begin >= share.end()) continue;
        if (size <= 0 || other.end() <= other.range->begin) continue;
        Complain(share, "overlaps " + std::string(other.name) + " = " + other.Text() +
                            "; the ranges of a split must be disjoint");
      }
    }
  }

  std::string path_;
  DataTable& table_;
  ReadContext& context_;
  std::array<Share, 3> shares_{};
};

}  // namespace

void ReadSplit(const TomlNode& split, const std::string& path, DataTable& table, ReadContext& context) {
  if (!CheckSection(split, "data.*.split", path + ".split", context.partial, context.complaints)) {
    table.valid = false;
    return;
  }
  SplitReader(path, table, context).Read(split);
}

}  // namespace retort
