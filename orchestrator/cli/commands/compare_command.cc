#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orchestrator/cli/commands/archive_commands.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/load_sweep.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/comparison_text.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/stored_plan.h"
#include "orchestrator/results/tables/comparison.h"
#include "orchestrator/results/tables/table_lines.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator::cli {
namespace {

constexpr const char* kShippedSweeps = "experiments/configs";
constexpr const char* kShippedRows = "experiments/results";

// What is compared of one table, under the names of its keys.
struct ComparedTable {
  std::vector<std::string> keys;
  std::vector<ComparedValue> values;
};

// Sweep files below `folder`, in the order of their paths. Error: environment, for a folder that cannot be listed.
Result<std::vector<std::string>> ListSweepFiles(storage::Env& env, const std::string& folder) {
  RETORT_ASSIGN_OR_RETURN(std::vector<std::string> names, env.List(folder));
  std::sort(names.begin(), names.end());
  std::vector<std::string> files;
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    RETORT_ASSIGN_OR_RETURN(const bool is_folder, storage::IsFolder(env, path));
    if (is_folder) {
      RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> below, ListSweepFiles(env, path));
      files.insert(files.end(), below.begin(), below.end());
    } else if (name.ends_with(".toml")) {
      files.push_back(path);
    }
  }
  return files;
}

struct KnownSweep {
  SweepPlan plan;
  AbsentFiles absent;
};

// What cannot run here, from the warnings about files that are not there.
AbsentFiles NameAbsent(const std::vector<Diagnostic>& absent, const SweepPlan& plan) {
  AbsentFiles names;
  for (const Diagnostic& one : absent) {
    for (const auto& data : plan.data)
      if (one.key == "data." + data->name + ".path" || data->path.find("${" + one.key + "}") != std::string::npos)
        names.data.emplace(data->name, "the files of data set " + data->name + " are not here");
    for (const TrialSpec& spec : plan.trials)
      if (one.key.starts_with("teacher." + spec.teacher + "."))
        names.teachers.emplace(spec.teacher, "the weights of teacher " + spec.teacher + " are not here");
  }
  return names;
}

// A value is the exit code of what went wrong, which is told.
std::variant<KnownSweep, int> Load(const Invocation& call, const std::string& file) {
  LoadedSweep loaded = LoadWithData(
      call.env, {file, call.line.overrides, call.line.global.profile, false, true, "", ReadArchivedInputs(call)});
  if (!loaded.plan) return call.console.Fail(loaded.errors, loaded.code);
  AbsentFiles absent = NameAbsent(loaded.absent, *loaded.plan);
  return KnownSweep{*std::move(loaded.plan), std::move(absent)};
}

// Adds the tables of the sweep with published values, the named one alone where one is named.
Status AddSweepTables(const Invocation& call, const KnownSweep& loaded, const std::string& results,
                      std::vector<ComparedTable>& compared) {
  const std::string& name = call.line.table.name;
  RETORT_ASSIGN_OR_RETURN(const ResultsView view, ReadShownResults(call.env, results, Plans::every));
  const SweepPlan plan = AdoptReleased(loaded.plan, view);
  RETORT_RETURN_IF_ERROR(CheckBelongs(call, plan, view));
  for (const TableSpec& spec : plan.tables) {
    const std::vector<PublishedValue> published = FindPublishedTable(spec.published);
    if (published.empty() || (!name.empty() && spec.name != name)) continue;
    const ResultTable table = BuildTable(plan, spec, view, published);
    compared.push_back({ListKeyNames(table), CompareTable(plan, table, published, loaded.absent)});
  }
  return {};
}

std::vector<ComparedValue> JoinValues(const std::vector<ComparedTable>& tables) {
  std::vector<ComparedValue> all;
  for (const ComparedTable& table : tables) all.insert(all.end(), table.values.begin(), table.values.end());
  return all;
}

void PrintJson(const Invocation& call, const std::vector<ComparedTable>& tables,
               const std::vector<PaperCount>& counts) {
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["papers"] = nlohmann::ordered_json::array();
  for (const PaperCount& count : counts) document["papers"].push_back(CountJson(count));
  document["values"] = nlohmann::ordered_json::array();
  for (const ComparedTable& table : tables)
    for (const ComparedValue& one : table.values) document["values"].push_back(MakeComparedJson(one, table.keys));
  document["retort"] = FormatVersion();
  call.console.Data(FormatDocument(document));
}

// The published values of the tables that were compared.
std::vector<PublishedValue> ListCompared(const std::vector<ComparedValue>& values) {
  std::vector<PublishedValue> all = ReadAllPublished();
  std::erase_if(all, [&](const PublishedValue& value) {
    return std::none_of(values.begin(), values.end(), [&](const ComparedValue& one) {
      return one.value.paper == value.paper && one.value.table == value.table;
    });
  });
  return all;
}

Status NothingToCompare(const Invocation& call, const SweepPlan& plan) {
  std::vector<std::string> names;
  for (const TableSpec& spec : plan.tables)
    if (!spec.published.empty()) names.push_back(spec.name);
  if (names.empty()) return UsageError(plan.file + " has no table with `published`: there is nothing to compare with.");
  names = SortByNearness(call.line.table.name, names);
  return UsageError(
      plan.file + " has no [table." + call.line.table.name + "] with `published`; nearest: " + names.front() + ".",
      names);
}

int CompareOne(const Invocation& call) {
  const std::variant<KnownSweep, int> loaded = Load(call, call.line.sweep);
  if (const int* code = std::get_if<int>(&loaded)) return *code;
  const SweepPlan& plan = std::get<KnownSweep>(loaded).plan;
  std::vector<ComparedTable> tables;
  const std::string results = FindResultsPath(call.line.global.results, plan.name);
  if (const Status added = AddSweepTables(call, std::get<KnownSweep>(loaded), results, tables); !added.ok())
    return call.console.Fail(added);
  if (tables.empty()) return call.console.Fail(NothingToCompare(call, plan));
  const std::vector<ComparedValue> values = JoinValues(tables);
  if (call.line.global.json) {
    PrintJson(call, tables, CountByPaper(ListCompared(values), values));
    return 0;
  }
  std::string text;
  for (const ComparedTable& table : tables)
    text += (text.empty() ? "" : "\n") + FormatComparison(table.values, table.keys);
  call.console.Text(text);
  return 0;
}

int TellFailure(const Invocation& call, const Status& status) { return status.ok() ? 0 : call.console.Fail(status); }

// Adds what the archive beside a shipped sweep holds. Value: whether it was added, and not left out since the sweep was
// run below `root`; or the exit code of what went wrong, which is told.
std::variant<bool, int> AddArchived(const Invocation& call, const std::string& file, const std::string& archive,
                                    const std::string& root, std::vector<ComparedTable>& tables) {
  const Result<std::unique_ptr<UnpackedArchive>> unpacked = UnpackedArchive::Read(call.env, archive);
  if (!unpacked.ok()) {
    // Where the sweep was run here, nothing of the archive is compared.
    const std::variant<KnownSweep, int> own = Load(call, file);
    if (const int* code = std::get_if<int>(&own)) return *code;
    const std::string results = root + "/" + std::get<KnownSweep>(own).plan.name;
    if (storage::MayExist(call.env, results + "/journal.log")) return false;
    return call.console.Fail(unpacked.status());
  }
  CommandLine line = call.line;
  line.from = archive;
  line.global.results = (*unpacked)->results();
  const Invocation there{line, call.environment, call.console, call.env, call.umask};
  const std::variant<KnownSweep, int> loaded = Load(there, file);
  if (const int* code = std::get_if<int>(&loaded)) return *code;
  const KnownSweep& sweep = std::get<KnownSweep>(loaded);
  const Result<bool> run_here = storage::PathExists(call.env, root + "/" + sweep.plan.name + "/journal.log");
  if (!run_here.ok()) return call.console.Fail(run_here.status());
  if (*run_here) return false;
  const int code = TellFailure(call, AddSweepTables(there, sweep, line.global.results, tables));
  if (code != 0) return code;
  return true;
}

// Adds what the sweep's own results folder holds; where there is none, what the archive does. A sweep is planned once,
// but for one that has both: the archive says what its rows were measured on. Returns the exit code of what went wrong,
// which is told, or 0.
int AddFound(const Invocation& call, const std::string& file, const std::string& archive, const std::string& root,
             std::vector<ComparedTable>& tables) {
  const Result<bool> archived = storage::PathExists(call.env, archive);
  if (!archived.ok()) return call.console.Fail(archived.status());
  if (*archived) {
    const std::variant<bool, int> added = AddArchived(call, file, archive, root, tables);
    if (const int* code = std::get_if<int>(&added)) return *code;
    if (std::get<bool>(added)) return 0;
  }
  const std::variant<KnownSweep, int> loaded = Load(call, file);
  if (const int* code = std::get_if<int>(&loaded)) return *code;
  const KnownSweep& sweep = std::get<KnownSweep>(loaded);
  return TellFailure(call, AddSweepTables(call, sweep, root + "/" + sweep.plan.name, tables));
}

int CompareAll(const Invocation& call) {
  const std::string folder = call.line.sweep.empty() ? kShippedSweeps : call.line.sweep;
  const Result<std::vector<std::string>> files = ListSweepFiles(call.env, folder);
  if (!files.ok()) return call.console.Fail(files.status());
  const std::string root = call.line.global.results.empty() ? "results" : call.line.global.results;
  std::vector<ComparedTable> tables;
  for (const std::string& file : *files) {
    const std::string name = file.substr(folder.size(), file.size() - folder.size() - std::string_view(".toml").size());
    if (const int code = AddFound(call, file, kShippedRows + name + ".rows", root, tables); code != 0) return code;
  }
  const std::vector<PaperCount> counts = CountByPaper(ReadAllPublished(), JoinValues(tables));
  if (call.line.global.json)
    PrintJson(call, tables, counts);
  else
    call.console.Text(FormatCounts(counts));
  return 0;
}

}  // namespace

void AddCompare(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* compare =
      AddCommand(app, "compare", "Say of every published value whether what was measured agrees with it");
  compare->add_option(
      "SWEEP", words.sweep,
      "The sweep file (TOML); with --all a folder of them (default " + std::string(kShippedSweeps) + ")");
  compare->add_option("TABLE", words.rest, "Name of one table, and KEY=VALUE overrides as given to `run`");
  AddFrom(*compare, line);
  compare->add_flag(
      "--all", line.all,
      "Every sweep file of the folder, as one page: how many values of each paper agree; --results names "
      "the folder that holds their results folders (default results); a sweep without one is read from its archive in "
      "experiments/results");
}

int ExecuteCompare(const Invocation& call) {
  if (call.line.all && (!call.line.table.name.empty() || !call.line.overrides.empty()))
    return call.console.Fail(
        UsageError("--all compares every table as its file has it: name no table and no override."));
  if (call.line.all) return CompareAll(call);
  if (call.line.sweep.empty())
    return call.console.Fail(UsageError("`retort compare` needs a sweep file, or --all for every shipped one."));
  return CompareOne(call);
}

}  // namespace retort::orchestrator::cli
