// [data.NAME] resize, size, crop, crop_top, exif, on_error: how pictures are prepared.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/data_readers.h"
#include "experiments/spec/sweep_document.h"
#include "experiments/spec/value_reader.h"

namespace retort {
namespace {

constexpr std::array<const char*, 6> kKeys = {"resize", "size", "crop", "crop_top", "exif", "on_error"};

const TomlEntry* FirstOf(const TomlNode& node) {
  for (const char* key : kKeys)
    if (const TomlEntry* entry = node.Find(key)) return entry;
  return nullptr;
}

// Is the text the second of the two words?
bool IsSecond(const TomlEntry* entry, const std::string& path, const char* first, const char* second,
              DataTable& table, ReadContext& context) {
  if (entry == nullptr || entry->value.text == first) return false;
  if (entry->value.text == second) return true;
  context.complaints.Unknown(entry->value.where, path + "." + entry->key, entry->key, entry->value.text,
                             {first, second}, true);
  table.valid = false;
  return false;
}

double Real(const TomlNode& node) {
  return node.kind == TomlKind::real ? node.real : static_cast<double>(node.integer);
}

void ReadSize(const TomlEntry& entry, const std::string& path, DataTable& table, ReadContext& context) {
  const std::vector<TomlNode>& sides = entry.value.items;
  if (sides.size() == 2) {
    table.data->preprocessing.height = sides[0].integer;
    table.data->preprocessing.width = sides[1].integer;
    return;
  }
  context.complaints.Error(
      entry.value.where, path + ".size",
      path + ".size takes [height, width], not " + std::to_string(sides.size()) + " numbers");
  table.valid = false;
}

}  // namespace

void ReadPreprocessing(const TomlNode& node, const std::string& path, DataTable& table,
                       ReadContext& context) {
  const TomlEntry* first = FirstOf(node);
  if (first == nullptr || !table.valid) return;
  const DataReader* reader = FindDataReader(table.data->reader);
  if (reader != nullptr && !reader->encoded && !context.partial) {
    context.complaints.Error(first->where, path + "." + first->key,
                             path + "." + first->key +
                                 " is for JPEG and PNG pictures; those of the reader \"" +
                                 table.data->reader + "\" are taken as they are: leave it out");
    table.valid = false;
    return;
  }
  Preprocessing& preprocessing = table.data->preprocessing;
  if (const TomlEntry* resize = node.Find("resize")) preprocessing.resize = resize->value.integer;
  if (const TomlEntry* size = node.Find("size")) ReadSize(*size, path, table, context);
  if (const TomlEntry* crop = node.Find("crop")) preprocessing.crop = crop->value.integer;
  if (const TomlEntry* top = node.Find("crop_top")) preprocessing.crop_top = Real(top->value);
  preprocessing.exif_orientation = IsSecond(node.Find("exif"), path, "ignore", "apply", table, context);
  if (IsSecond(node.Find("on_error"), path, "fail", "skip-and-count", table, context))
    preprocessing.on_error = OnError::skip_and_count;
  if (context.partial || !table.valid) return;
  if (const Status status = CheckPreprocessing(preprocessing); !status.ok()) {
    context.complaints.Error(first->where, path + "." + first->key, path + ": " + status.message());
    table.valid = false;
    return;
  }
  const PreparedSides sides = SidesAfter(preprocessing);
  if (sides.height == 0 && preprocessing.on_error == OnError::skip_and_count) {
    context.complaints.Error(node.Find("on_error")->value.where, path + ".on_error",
                             path + ".on_error = \"skip-and-count\" needs crop or size: without, the first picture "
                                    "says how large all are, and so which of the others are left out");
    table.valid = false;
  }
  if (sides.height == 0) return;
  table.data->height = sides.height;
  table.data->width = sides.width;
}

}  // namespace retort
