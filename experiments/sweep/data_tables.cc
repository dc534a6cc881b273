// [data]: readers, paths and budgets.
#include "experiments/sweep/data_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/methods/data_spec.h"
#include "experiments/sweep/section_keys.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

// [data.NAME] split: three or four disjoint sets of examples, each a range, a fraction, a part of the format, or a
// list.

// Where the table says each of kSplitParts.
constexpr std::array<Position DataTable::*, kSplitParts.size()> kPartPlaces = {
    &DataTable::train, &DataTable::public_range, &DataTable::test, &DataTable::validation};

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
    if (kind == ShareKind::part) return "\"" + source->part + "[" + std::to_string(range->begin) + ":" + end + "]\"";
    return "[" + std::to_string(range->begin) + ", " + end + "]";
  }
};

bool IsListName(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".txt") || text.ends_with(".csv") ||
         text.ends_with(".list");
}

// Reads "12", or "" as `absent`; nothing for any other text.
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
    for (std::size_t i = 0; i < kSplitParts.size(); ++i) {
      const SplitPart& part = kSplitParts[i];
      shares_[i] = {part.name, &(split.*part.range), &(split.*part.source), &(table.*kPartPlaces[i]),
                    part.range == &SplitSpec::public_range};
    }
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

  void AddError(const Share& share, const std::string& message) {
    context_.diagnostics.AddError(*share.where, Key(share), Key(share) + " = " + share.Text() + " " + message);
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
        AddError(share, "is no fraction of the examples: it must lie in (0, 1]");
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
    if (reader == nullptr) return;  // already reported, or said in another table
    context_.diagnostics.AddUnknown(
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
    const auto end =
        closed ? CountOr(std::string_view(text).substr(colon + 1, text.size() - colon - 2), -1) : std::nullopt;
    if (!begin || !end) {
      context_.diagnostics.AddError(value.where, Key(share),
                                    Key(share) + " = \"" + text + "\" is no range of a part; write \"" +
                                        share.source->part + "[0:2000]\", or without end \"" + share.source->part +
                                        "[2000:]\"");
      table_.valid = false;
      return;
    }
    share.source->open_end = *end < 0;
    *share.range = {*begin, std::max<std::int64_t>(*end, 0)};
  }

  // Checks which shares may be combined, so that it is certain that no example is in two of them.
  void CheckKinds() {
    const Share& first = shares_[0];
    const auto has = [this](ShareKind kind) {
      return std::any_of(shares_.begin(), shares_.end(), [kind](const Share& share) { return share.kind == kind; });
    };
    const auto named = [](ShareKind kind) { return kind == ShareKind::part || kind == ShareKind::list; };
    for (const Share& share : shares_) {
      if (share.kind == ShareKind::absent || share.kind == first.kind) continue;
      if (named(share.kind) && named(first.kind)) continue;
      return AddError(share, "cannot stand beside " + std::string(first.name) + " = " + first.Text() +
                                 ": a split is by ranges, by fractions, or by parts and lists");
    }
    if (!has(ShareKind::list)) return;
    for (const Share& share : shares_)
      if (share.kind == ShareKind::part && !share.whole())
        AddError(share, "is a range of a part, and beside a list stand other lists or whole parts");
  }

  void CheckFractions() {
    double sum = 0;
    for (const Share& share : shares_) {
      sum += share.kind == ShareKind::fraction ? share.source->fraction : 0;
      if (sum > 1 + 1e-9)
        return AddError(share, "brings the fractions to " + FormatReal(sum) + "; they may not pass 1");
    }
  }

  void CheckRanges() {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      const Share& share = shares_[i];
      if (share.kind != ShareKind::range && share.kind != ShareKind::part) continue;
      const std::int64_t size = share.end() - share.range->begin;
      if (size < 0 || (size == 0 && !share.may_be_empty))
        AddError(share, "holds no example: a range is [begin, end) with begin < end");
      for (std::size_t j = 0; j < i; ++j) {
        const Share& other = shares_[j];
        if (other.kind != share.kind || other.source->part != share.source->part) continue;
        if (share.range->begin >= other.end() || other.range->begin >= share.end()) continue;
        if (size <= 0 || other.end() <= other.range->begin) continue;
        AddError(share, "overlaps " + std::string(other.name) + " = " + other.Text() +
                            "; the ranges of a split must be disjoint");
      }
    }
  }

  std::string path_;
  DataTable& table_;
  ReadContext& context_;
  std::array<Share, 4> shares_{};
};

void ReadSplit(const TomlNode& split, const std::string& path, DataTable& table, ReadContext& context) {
  if (!CheckSection(split, "data.*.split", path + ".split", context.partial, context.diagnostics)) {
    table.valid = false;
    return;
  }
  SplitReader(path, table, context).Read(split);
}

// [data.NAME] resize, size, crop, crop_top, exif, on_error: how images are prepared.

constexpr std::array<const char*, 6> kKeys = {"resize", "size", "crop", "crop_top", "exif", "on_error"};

const TomlEntry* FindFirst(const TomlNode& node) {
  for (const char* key : kKeys)
    if (const TomlEntry* entry = node.Find(key)) return entry;
  return nullptr;
}

// Whether the text is the second of the two words; an error for a third.
bool IsSecond(const TomlEntry* entry, const std::string& path, const char* first, const char* second, DataTable& table,
              ReadContext& context) {
  if (entry == nullptr || entry->value.text == first) return false;
  if (entry->value.text == second) return true;
  context.diagnostics.AddUnknown(entry->value.where, path + "." + entry->key, entry->key, entry->value.text,
                                 {first, second}, true);
  table.valid = false;
  return false;
}

void ReadSize(const TomlEntry& entry, const std::string& path, DataTable& table, ReadContext& context) {
  const std::vector<TomlNode>& sides = entry.value.items;
  if (sides.size() == 2) {
    table.data->preprocessing.height = sides[0].integer;
    table.data->preprocessing.width = sides[1].integer;
    return;
  }
  context.diagnostics.AddError(entry.value.where, path + ".size",
                               path + ".size takes [height, width], not " + std::to_string(sides.size()) + " numbers");
  table.valid = false;
}

void ReadPreprocessing(const TomlNode& node, const std::string& path, DataTable& table, ReadContext& context) {
  const TomlEntry* first = FindFirst(node);
  if (first == nullptr || !table.valid) return;
  const DataReader* reader = FindDataReader(table.data->reader);
  if (reader != nullptr && !reader->encoded && !context.partial) {
    context.diagnostics.AddError(first->where, path + "." + first->key,
                                 path + "." + first->key + " is for JPEG and PNG pictures; those of the reader \"" +
                                     table.data->reader + "\" are taken as they are: leave it out");
    table.valid = false;
    return;
  }
  Preprocessing& preprocessing = table.data->preprocessing;
  if (const TomlEntry* resize = node.Find("resize")) preprocessing.resize = resize->value.integer;
  if (const TomlEntry* size = node.Find("size")) ReadSize(*size, path, table, context);
  if (const TomlEntry* crop = node.Find("crop")) preprocessing.crop = crop->value.integer;
  if (const TomlEntry* top = node.Find("crop_top")) preprocessing.crop_top = top->value.Number();
  preprocessing.exif_orientation = IsSecond(node.Find("exif"), path, "ignore", "apply", table, context);
  if (IsSecond(node.Find("on_error"), path, "fail", "skip-and-count", table, context))
    preprocessing.on_error = OnError::skip_and_count;
  if (context.partial || !table.valid) return;
  if (const Status status = CheckPreprocessing(preprocessing); !status.ok()) {
    context.diagnostics.AddError(first->where, path + "." + first->key, path + ": " + status.message());
    table.valid = false;
    return;
  }
  const PreparedSides sides = ComputePreparedSides(preprocessing);
  if (sides.height == 0 && preprocessing.on_error == OnError::skip_and_count) {
    context.diagnostics.AddError(node.Find("on_error")->value.where, path + ".on_error",
                                 path +
                                     ".on_error = \"skip-and-count\" needs crop or size: without, the first picture "
                                     "says how large all are, and so which of the others are left out");
    table.valid = false;
  }
  if (sides.height == 0) return;
  table.data->height = sides.height;
  table.data->width = sides.width;
}

constexpr std::span<const std::string_view> kNone;

void ReadPath(const TomlEntry& entry, const std::string& path, DataTable& table, ReadContext& context) {
  table.path = entry.value.where;
  if (entry.value.text.empty()) {
    context.diagnostics.AddError(entry.value.where, path + ".path", path + ".path is empty");
    table.readable = false;
    return;
  }
  const auto absolute = ResolveAbsolutePath(entry.value.text, entry.value.where, path + ".path", context);
  table.readable = table.readable && absolute.has_value();
  table.data->path = absolute.value_or(entry.value.text);
}

void ReadBudget(const TomlNode& node, const std::string& path, DataTable& table, ReadContext& context) {
  if (!CheckSection(node, "data.*.budget", path + ".budget", context.partial, context.diagnostics)) {
    table.valid = false;
    return;
  }
  const auto number = [&node](const char* name) {
    const TomlEntry* entry = node.Find(name);
    if (entry == nullptr) return 0.0;
    return entry->value.kind == TomlKind::real ? entry->value.real : static_cast<double>(entry->value.integer);
  };
  table.data->budget = Budget{number("epsilon"), number("delta")};
}

void ReadReader(const TomlEntry& entry, const std::string& path, DataTable& table, ReadContext& context) {
  table.data->reader = entry.value.text;
  if (const DataReader* reader = FindDataReader(entry.value.text)) {
    table.data->classes = reader->classes;
    if (!reader->targets.empty()) table.data->target = reader->targets.front();
    if (!reader->versions.empty()) table.data->version = reader->versions.front();
    if (reader->name == "idx") return;
    table.data->channels = reader->channels == 0 ? 3 : reader->channels;
    table.data->height = table.data->width = 0;
    return;
  }
  context.diagnostics.AddUnknown(entry.value.where, path + ".reader", "reader", entry.value.text, ListDataReaderNames(),
                                 true);
  table.readable = false;
}

// `target` or `version`: one of those that the reader has.
void ReadChoice(const TomlEntry& entry, const std::string& path, std::span<const std::string_view> choices,
                std::string& field, DataTable& table, ReadContext& context) {
  const std::string key = path + "." + entry.key;
  if (FindDataReader(table.data->reader) == nullptr && !context.partial) return;
  field = entry.value.text;
  if (context.partial || std::find(choices.begin(), choices.end(), field) != choices.end()) return;
  table.readable = false;
  if (!choices.empty())
    return context.diagnostics.AddUnknown(entry.value.where, key, entry.key, field, {choices.begin(), choices.end()},
                                          true);
  context.diagnostics.AddError(entry.where, key,
                               "the reader \"" + table.data->reader + "\" has no " + entry.key + "; leave it out");
}

std::vector<double> Numbers(const TomlNode& node) {
  std::vector<double> numbers;
  for (const TomlNode& item : node.items)
    numbers.push_back(item.kind == TomlKind::real ? item.real : static_cast<double>(item.integer));
  return numbers;
}

void ReadScale(const TomlNode& node, const std::string& path, DataTable& table, ReadContext& context) {
  const TomlEntry* mean = node.Find("mean");
  const TomlEntry* std = node.Find("std");
  if (!table.valid || (mean == nullptr && std == nullptr)) return;
  if (mean != nullptr) table.data->mean = Numbers(mean->value);
  if (std != nullptr) table.data->std = Numbers(std->value);
  if (context.partial) return;
  const auto wrong = [&](const TomlEntry& at, const std::string& message) {
    context.diagnostics.AddError(at.value.where, path + "." + at.key, message);
    table.valid = false;
  };
  const TomlEntry& given = mean == nullptr ? *std : *mean;
  if (mean == nullptr || std == nullptr)
    return wrong(given, path + ".mean and " + path + ".std go together: write both, or neither");
  const std::size_t count = table.data->mean.size();
  if (table.data->std.size() != count)
    return wrong(*std, path + ".std holds " + std::to_string(table.data->std.size()) + " values, and mean " +
                           std::to_string(count) + "; give each one a channel");
  if (count != 1 && count != 3)
    wrong(*mean, path + ".mean holds " + std::to_string(count) + " values; write one, or one for each of 3 channels");
}

void ReadSensitiveClasses(const TomlEntry& entry, const std::string& path, DataTable& table, ReadContext& context) {
  std::vector<std::int64_t>& classes = table.data->sensitive_classes;
  for (const TomlNode& item : entry.value.items)
    if (item.kind == TomlKind::integer) classes.push_back(item.integer);
  std::sort(classes.begin(), classes.end());
  const auto twice = std::adjacent_find(classes.begin(), classes.end());
  if (twice == classes.end()) return;
  context.diagnostics.AddError(entry.value.where, path + ".sensitive_classes",
                               path + ".sensitive_classes names class " + std::to_string(*twice) + " twice");
  table.valid = false;
}

}  // namespace

void ReadDataTables(const TomlNode& data, ReadContext& context) {
  if (data.entries.empty() && !context.partial) {
    context.diagnostics.AddError(data.where, "data",
                                 "[data] names no data set: write [data.NAME] with reader, path and split");
  }
  for (const TomlEntry& entry : data.entries) {
    const std::string path = context.prefix + "data." + entry.key;
    if (entry.value.kind != TomlKind::table) {
      context.diagnostics.AddError(entry.value.where, path, path + " takes a table, not " + entry.value.Describe());
      continue;
    }
    DataTable table;
    table.data = std::make_shared<DataSpec>();
    table.data->name = entry.key;
    table.where = entry.where;
    table.valid = CheckSection(entry.value, "data.*", path, context.partial, context.diagnostics);
    const auto with = [&](const char* name, TomlKind kind, const auto& read) {
      const TomlEntry* item = entry.value.Find(name);
      if (item != nullptr && item->value.kind == kind) read(*item);
    };
    with("reader", TomlKind::text, [&](const TomlEntry& item) { ReadReader(item, path, table, context); });
    with("path", TomlKind::text, [&](const TomlEntry& item) { ReadPath(item, path, table, context); });
    with("split", TomlKind::table, [&](const TomlEntry& item) { ReadSplit(item.value, path, table, context); });
    with("budget", TomlKind::table, [&](const TomlEntry& item) { ReadBudget(item.value, path, table, context); });
    const DataReader* reader = FindDataReader(table.data->reader);
    with("target", TomlKind::text, [&](const TomlEntry& item) {
      ReadChoice(item, path, reader == nullptr ? kNone : reader->targets, table.data->target, table, context);
    });
    with("version", TomlKind::text, [&](const TomlEntry& item) {
      ReadChoice(item, path, reader == nullptr ? kNone : reader->versions, table.data->version, table, context);
    });
    with("sensitive_classes", TomlKind::array,
         [&](const TomlEntry& item) { ReadSensitiveClasses(item, path, table, context); });
    ReadScale(entry.value, path, table, context);
    ReadPreprocessing(entry.value, path, table, context);
    with("classes", TomlKind::integer, [&](const TomlEntry& item) { table.data->classes = item.value.integer; });
    with("published_as", TomlKind::text, [&](const TomlEntry& item) { table.data->published_as = item.value.text; });
    table.readable = table.readable && !table.data->reader.empty() && !table.data->path.empty();
    context.document.data.push_back(std::move(table));
  }
}

void CheckDataRanges(DataTable& table, DiagnosticCollector& diagnostics) {
  const DataSpec& data = *table.data;
  for (const std::int64_t label : data.sensitive_classes) {
    if (label < data.classes) continue;
    diagnostics.AddError(table.where, "data." + data.name + ".sensitive_classes",
                         "data." + data.name + ".sensitive_classes names class " + std::to_string(label) +
                             ", and its classes are 0 to " + std::to_string(data.classes - 1));
    table.valid = false;
  }
  if (data.split.train_source != SplitSource()) return;  // inspected with the parts and lists it names
  for (std::size_t i = 0; i < kSplitParts.size(); ++i) {
    const std::string name = kSplitParts[i].name;
    const IndexRange& range = data.split.*kSplitParts[i].range;
    if (range.end <= data.examples) continue;
    diagnostics.AddError(table.*kPartPlaces[i], "data." + data.name + ".split." + name,
                         "the " + name + " range ends at " + std::to_string(range.end) + ", but " + data.path +
                             " holds " + std::to_string(data.examples) + " examples");
    table.valid = false;
  }
}

void AddFileError(const DataTable& table, const std::string& message, DiagnosticCollector& diagnostics) {
  const std::string key = "data." + table.data->name;
  for (std::size_t i = 0; i < kSplitParts.size(); ++i) {
    const std::string part = key + ".split." + kSplitParts[i].name;
    if (message.starts_with(part)) return diagnostics.AddError(table.*kPartPlaces[i], part, message);
  }
  diagnostics.AddError(table.path, key + ".path", message);
}

}  // namespace retort
