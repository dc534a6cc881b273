#include "orchestrator/cli/named_data.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "experiments/spec/data_readers.h"
#include "storage/data/text_lines.h"

namespace retort::orchestrator::cli {
namespace {

Diagnostic Unknown(const std::string& what, const std::string& word,
                   const std::vector<std::string>& choices) {
  Diagnostic error;
  error.key = word;
  error.choices = NearestFirst(word, choices);
  error.message =
      choices.empty() ? "this reader has no " + what : "there is no " + what + " \"" + word + "\"";
  return error;
}

// KEY=VALUE into `data`; what is wrong with it, if anything.
std::optional<Diagnostic> Apply(const std::string& word, const DataReader& reader, DataSpec& data) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "classes") {
    const auto classes = storage::WholeNumber(value);
    data.classes = classes.value_or(0);
    if (classes && *classes >= 2 && *classes <= 65536) return std::nullopt;
    Diagnostic error;
    error.key = key;
    error.message = "classes takes an integer in [2, 65536], not \"" + value + "\".";
    return error;
  }
  if (key != "target" && key != "version") return Unknown("key", key, {"target", "version", "classes"});
  const std::span<const std::string_view> choices = key == "target" ? reader.targets : reader.versions;
  (key == "target" ? data.target : data.version) = value;
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return std::nullopt;
  return Unknown(key, value, {choices.begin(), choices.end()});
}

DataSpec SpecOf(const DataReader& reader, const std::string& path) {
  DataSpec data;
  data.name = reader.name;
  data.reader = reader.name;
  data.path = std::filesystem::path(path).lexically_normal().string();
  if (data.path.size() > 1 && data.path.ends_with('/')) data.path.pop_back();
  data.classes = reader.classes;
  if (!reader.targets.empty()) data.target = reader.targets.front();
  if (!reader.versions.empty()) data.version = reader.versions.front();
  return data;
}

}  // namespace

std::variant<DataSpec, Diagnostic> NamedData(const CommandLine& line) {
  const DataReader* reader = FindDataReader(line.reader);
  if (reader == nullptr) return Unknown("data set", line.reader, DataReaderNames());
  DataSpec data = SpecOf(*reader, line.data_path);
  for (const std::string& word : line.overrides)
    if (auto error = Apply(word, *reader, data)) return *std::move(error);
  return data;
}

}  // namespace retort::orchestrator::cli
