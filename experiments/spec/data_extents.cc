#include "experiments/spec/data_extents.h"

#include <string>
#include <utility>

namespace retort {

void CheckExtents(DataTable& table, Complaints& complaints) {
  const DataSpec& data = *table.data;
  for (const std::int64_t label : data.sensitive_classes) {
    if (label < data.classes) continue;
    complaints.Error(table.where, "data." + data.name + ".sensitive_classes",
                     "data." + data.name + ".sensitive_classes names class " + std::to_string(label) +
                         ", and its classes are 0 to " + std::to_string(data.classes - 1));
    table.valid = false;
  }
  if (data.split.train_source != SplitSource()) return;  // inspected with the parts and lists it names
  const std::pair<const char*, std::pair<IndexRange, Position>> ranges[] = {
      {"train", {data.split.train, table.train}},
      {"public", {data.split.public_range, table.public_range}},
      {"test", {data.split.test, table.test}}};
  for (const auto& [name, range] : ranges) {
    if (range.first.end <= data.examples) continue;
    complaints.Error(range.second, "data." + data.name + ".split." + name,
                     std::string("the ") + name + " range ends at " + std::to_string(range.first.end) +
                         ", but " + data.path + " holds " + std::to_string(data.examples) + " examples");
    table.valid = false;
  }
}

void ComplainOfFiles(const DataTable& table, const std::string& message, Complaints& complaints) {
  const std::string key = "data." + table.data->name;
  const std::pair<const char*, Position> parts[] = {
      {".split.train", table.train}, {".split.public", table.public_range}, {".split.test", table.test}};
  for (const auto& [part, where] : parts)
    if (message.starts_with(key + part)) return complaints.Error(where, key + part, message);
  complaints.Error(table.path, key + ".path", message);
}

}  // namespace retort
