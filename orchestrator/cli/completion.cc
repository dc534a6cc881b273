#include "orchestrator/cli/completion.h"

#include <array>
#include <string_view>
#include <utility>

namespace retort::orchestrator::cli {

ValueSource SourceOf(const Parameter& parameter) {
  using enum ValueSource;
  constexpr std::array<std::pair<std::string_view, ValueSource>, 8> kByName = {{{"--results", results},
                                                                                {"--profile", profiles},
                                                                                {"SWEEP", sweeps},
                                                                                {"TRIAL", trials},
                                                                                {"TRIAL|SWEEP", audited},
                                                                                {"TABLE", tables},
                                                                                {"FIGURE", figures},
                                                                                {"PATH", files}}};
  if (!parameter.choices.empty()) return words;
  for (const auto& [name, source] : kByName)
    if (parameter.names.back() == name) return source;
  if (parameter.value == "DIR" || parameter.value == "FOLDER") return folders;
  return parameter.value.starts_with("FILE") || parameter.value == "PATH" ? files : text;
}

std::string SourceName(ValueSource source) {
  constexpr std::array<std::string_view, 11> kNames = {"text",   "words",   "files",    "folders", "results", "sweeps",
                                                       "trials", "audited", "profiles", "tables",  "figures"};
  return std::string(kNames.at(static_cast<std::size_t>(source)));
}

}  // namespace retort::orchestrator::cli
