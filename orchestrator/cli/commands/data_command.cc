#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "experiments/base/diagnostic.h"
#include "experiments/base/number_text.h"
#include "experiments/methods/data_spec.h"
#include "experiments/methods/trial_spec.h"
#include "orchestrator/cli/commands/command_line.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/shell/command_tree.h"
#include "storage/datasets/clients.h"
#include "storage/datasets/data_check.h"
#include "storage/datasets/data_inspection.h"
#include "storage/datasets/readers.h"
#include "storage/files/file_modes.h"

namespace retort::orchestrator::cli {

void AddData(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* data = AddCommand(app, "data", "Data sets on disk: data check NAME PATH, data clients NAME PATH");
  data->require_subcommand(1);
  CLI::App* check = data->add_subcommand("check", "What is there: sizes, digests, classes, what is missing or damaged");
  check->footer("\nExit codes: 0 sound, 1 damaged, 2 an unknown NAME or KEY, 3 a file is missing.");
  CLI::App* clients = data->add_subcommand("clients", "Share examples out among clients: a split list for each");
  clients->footer(
      "\nThen, in the sweep file of the first: split = { train = \"clients/client-0.txt\", test = \"test\" }");
  clients->add_option("--clients", line.data.clients, "How many")->required()->check(CLI::Range(1, 1 << 20));
  clients
      ->add_option("--dirichlet", line.data.concentration,
                   "Concentration of each class's shares; small: few classes each (default: equal shares)")
      ->check(CLI::Range(1e-6, 1e6));
  clients->add_option("--part", line.data.part, "A part that the format sets apart, as train (default: everything)");
  clients->add_option("--held-out", line.data.held_out, "Fraction that no client gets: OUT/held-out.txt")
      ->check(CLI::Range(0.0, 0.999));
  clients->add_option("--seed", line.data.seed, "Number of the division (default 0)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53));
  clients->add_option("--out", line.out, "Folder for the lists")->required()->type_name("FOLDER");
  clients->add_flag("--force", line.force, "In place of the lists that are there");
  std::string names;
  for (const std::string& name : ListDataReaderNames()) names += (names.empty() ? "" : ", ") + name;
  for (CLI::App* of : {check, clients}) {
    of->fallthrough();
    of->add_option("NAME", line.data.reader, "Reader: " + names)->required();
    of->add_option("PATH", line.data.path, "Folder, archive or file, as `path` in a sweep file")->required();
    of->add_option(kOverrideWords, words.rest, "target, version or classes, as in a sweep file");
  }
}

namespace {

Diagnostic Unknown(const std::string& what, const std::string& word, const std::vector<std::string>& choices) {
  Diagnostic error;
  error.key = word;
  error.choices = SortByNearness(word, choices);
  error.message = choices.empty() ? "this reader has no " + what : "there is no " + what + " \"" + word + "\"";
  return error;
}

// KEY=VALUE into `data`; what is wrong with it, if anything.
std::optional<Diagnostic> Apply(const std::string& word, const DataReader& reader, DataSpec& data) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "classes") {
    const auto classes = ParseWholeNumber(value);
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

DataSpec FindSpec(const DataReader& reader, const std::string& path) {
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

// The data set that a command line names: a reader, a path and KEY=VALUE words.
// line.data.reader at line.data.path with target, version and classes of line.overrides; no split. Nothing is opened.
// Else what is wrong, with the choices.
std::variant<DataSpec, Diagnostic> NamedData(const CommandLine& line) {
  const DataReader* reader = FindDataReader(line.data.reader);
  if (reader == nullptr) return Unknown("data set", line.data.reader, ListDataReaderNames());
  DataSpec data = FindSpec(*reader, line.data.path);
  for (const std::string& word : line.overrides)
    if (auto error = Apply(word, *reader, data)) return *std::move(error);
  return data;
}

using nlohmann::ordered_json;

ordered_json ReportJson(const DataSpec& data, const storage::DataReport& report) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["reader"] = data.reader;
  document["path"] = data.path;
  document["target"] = data.target;
  document["version"] = data.version;
  document["examples"] = report.examples;
  document["classes"] = ordered_json::array();
  for (std::size_t i = 0; i < report.class_counts.size(); ++i)
    document["classes"].push_back({{"name", report.class_names[i]}, {"count", report.class_counts[i]}});
  document["parts"] = ordered_json::array();
  for (const storage::DataPart& part : report.parts)
    document["parts"].push_back({{"name", part.name}, {"begin", part.begin}, {"end", part.end}});
  document["channels"] = report.channels;
  document["height"] = report.height;
  document["width"] = report.width;
  document["encoded"] = report.encoded;
  document["digest"] = report.digests.content;
  document["examples_digest"] = report.digests.examples;
  DataSpec shaped = data;
  shaped.channels = report.channels;
  const PixelScale scale = FindPixelScale(shaped);
  document["mean"] = scale.mean;
  document["std"] = scale.std;
  document["sources"] = report.sources;
  document["known_files"] = ordered_json::array();
  for (const storage::FoundFile& file : report.known) {
    document["known_files"].push_back({{"path", file.path}, {"size", file.size}, {"md5", file.md5}});
    document["known_files"].back()["as_published"] =
        file.as_published.empty() ? ordered_json() : ordered_json(file.as_published);
  }
  document["findings"] = report.findings;
  document["warnings"] = report.warnings;
  document["damaged"] = report.damaged;
  document["sound"] = report.damaged_in_all == 0;
  return document;
}

std::string ClassesText(const storage::DataReport& report) {
  const auto& counts = report.class_counts;
  std::string text =
      fmt::format("{} classes, {} to {} examples each\n", counts.size(),
                  *std::min_element(counts.begin(), counts.end()), *std::max_element(counts.begin(), counts.end()));
  constexpr std::size_t kMaxShown = 20;
  for (std::size_t i = 0; i < counts.size() && i < kMaxShown; ++i)
    text += fmt::format("  {:>5}  {:<24} {:>9}\n", i, report.class_names[i], counts[i]);
  if (counts.size() > kMaxShown) text += fmt::format("  and {} more (--json lists all)\n", counts.size() - kMaxShown);
  return text;
}

std::string ReportText(const DataSpec& data, const storage::DataReport& report) {
  std::string text = fmt::format("{}: {}, {} examples, {}{} x {} pixels, {} channel{}\n", data.path, data.reader,
                                 report.examples, report.encoded ? "the first of " : "", report.height, report.width,
                                 report.channels, report.channels == 1 ? "" : "s");
  for (const storage::DataPart& part : report.parts)
    text += fmt::format("  {:<12} {:>9} examples, {} to {}\n", part.name, part.size(), part.begin, part.end - 1);
  text += ClassesText(report);
  text += "digest   " + report.digests.content + "\nexamples " + report.digests.examples + "\n";
  for (const storage::FoundFile& file : report.known)
    text += fmt::format("{}: {} bytes, MD5 {}: {}\n", file.path, file.size, file.md5,
                        file.as_published.empty() ? "differs from what is published under this name"
                                                  : "as published (" + file.as_published + ")");
  for (const std::string& warning : report.warnings) text += "warning: " + warning + "\n";
  for (const std::string& finding : report.findings) text += "note: " + finding + "\n";
  for (const std::string& damage : report.damaged) text += "damaged: " + damage + "\n";
  if (report.damaged_in_all > report.damaged.size())
    text += fmt::format("and {} more are damaged\n", report.damaged_in_all - report.damaged.size());
  return text;
}

}  // namespace

int ExecuteDataCheck(const Invocation& call) {
  const std::variant<DataSpec, Diagnostic> named = NamedData(call.line);
  if (const auto* error = std::get_if<Diagnostic>(&named)) return call.console.Fail({*error});
  const auto& data = std::get<DataSpec>(named);
  const Result<storage::DataReport> report = storage::CheckData(call.env, data, storage::FindDigestCache());
  if (!report.ok()) return call.console.Fail(report.status());
  call.console.Text(call.line.global.json ? FormatDocument(ReportJson(data, *report)) : ReportText(data, *report));
  return report->damaged_in_all == 0 ? 0 : GetExitCode(StatusCode::damage);
}

// retort data clients: split lists of clients
namespace {

using nlohmann::ordered_json;

// One list file: the examples of a client, or of nobody.
struct ClientList {
  std::string path;
  std::vector<std::int64_t> examples;  // indices in the set, rising
  std::vector<std::int64_t> classes;   // how many of each
};

// What is shared out: the set, or a part of it.
Result<storage::DataPart> Shared(const storage::ExampleStore& store, const std::string& part) {
  if (part.empty()) return storage::DataPart{"", 0, store.size()};
  std::string names;
  for (const storage::DataPart& known : store.parts()) {
    if (known.name == part) return known;
    names += (names.empty() ? "\"" : ", \"") + known.name + "\"";
  }
  return UsageError("--part: the set has no part \"" + part + "\"; " +
                    (names.empty() ? "its format sets nothing apart: leave --part out" : "there are " + names));
}

ClientList MakeList(const storage::ExampleStore& store, std::string path, std::vector<std::int64_t> examples) {
  std::sort(examples.begin(), examples.end());
  ClientList list{std::move(path), std::move(examples), {}};
  list.classes.resize(static_cast<std::size_t>(store.classes()));
  for (const std::int64_t example : list.examples)
    ++list.classes[static_cast<std::size_t>(store.labels()[static_cast<std::size_t>(example)])];
  return list;
}

// The clients' lists, then the list of what is held out, if anything is.
Result<std::vector<ClientList>> SharedOut(const CommandLine& line, const storage::ExampleStore& store) {
  RETORT_ASSIGN_OR_RETURN(const storage::DataPart part, Shared(store, line.data.part));
  const auto held = static_cast<std::int64_t>(line.data.held_out * static_cast<double>(part.size()));
  if (line.data.clients > part.size() - held)
    return UsageError(
        fmt::format("--clients {}: there are {} examples to share out", line.data.clients, part.size() - held));
  std::vector<std::int64_t> places = DrawPermutation(part.size(), RngStream(line.data.seed, Purpose::split));
  for (std::int64_t& place : places) place += part.begin;
  const std::vector<std::int64_t> kept(places.begin(), places.begin() + held);
  places.erase(places.begin(), places.begin() + held);
  std::vector<std::int64_t> labels;
  for (const std::int64_t place : places) labels.push_back(store.labels()[static_cast<std::size_t>(place)]);
  const auto count = static_cast<std::int64_t>(places.size());
  const storage::Clients clients = line.data.concentration > 0
                                       ? storage::DrawDirichletClients(labels, store.classes(), line.data.clients,
                                                                       line.data.concentration, line.data.seed)
                                       : storage::DrawEqualClients(count, line.data.clients, line.data.seed);
  std::vector<ClientList> lists;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    std::vector<std::int64_t> examples;
    for (const std::int64_t at : clients[k]) examples.push_back(places[static_cast<std::size_t>(at)]);
    lists.push_back(MakeList(store, fmt::format("{}/client-{}.txt", line.out, k), std::move(examples)));
  }
  if (held > 0) lists.push_back(MakeList(store, line.out + "/held-out.txt", kept));
  return lists;
}

bool IsListName(std::string_view name) {
  constexpr std::string_view kBegin = "client-", kEnd = ".txt";
  if (name == "held-out.txt") return true;
  if (name.size() <= kBegin.size() + kEnd.size() || !name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  const std::string_view number = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  return std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Lists of two divisions side by side would share examples. Nothing is removed where one of them may not be.
Status ClearLists(storage::Env& env, const std::string& folder, bool force) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(folder));
  std::vector<std::string> lists;
  for (const std::string& name : names) {
    if (!IsListName(name)) continue;
    lists.push_back(folder + "/" + name);
    RETORT_RETURN_IF_ERROR(CheckOutput(env, lists.back(), {.force = true}));
    if (!force)
      return UsageError(lists.back() +
                        " is a list of another division; choose another --out, or --force to replace them all");
  }
  for (const std::string& list : lists) RETORT_RETURN_IF_ERROR(env.Remove(list));
  return {};
}

Status WriteLists(const Invocation& call, const std::vector<ClientList>& lists) {
  const CommandLine& line = call.line;
  const storage::UmaskScope users(call.umask);
  RETORT_RETURN_IF_ERROR(call.env.CreateDirectories(line.out));
  RETORT_RETURN_IF_ERROR(ClearLists(call.env, line.out, line.force));
  const std::string how =
      line.data.concentration > 0 ? fmt::format("Dirichlet({})", line.data.concentration) : std::string("equal shares");
  for (const ClientList& list : lists) {
    std::string text = fmt::format("# {} of {}: {} examples; {} clients, {}, seed {}\n", line.data.reader,
                                   line.data.part.empty() ? "the whole set" : line.data.part, list.examples.size(),
                                   line.data.clients, how, line.data.seed);
    for (const std::int64_t example : list.examples) text += std::to_string(example) + "\n";
    RETORT_RETURN_IF_ERROR(WriteOutput(call.env, list.path, text, {}));
  }
  return {};
}

std::string ReportText(const std::vector<ClientList>& lists) {
  std::string text;
  for (const ClientList& list : lists) {
    text += fmt::format("{}: {} examples, by class", list.path, list.examples.size());
    constexpr std::size_t kMaxShown = 12;
    for (std::size_t c = 0; c < std::min(list.classes.size(), kMaxShown); ++c)
      text += fmt::format(" {}", list.classes[c]);
    text += list.classes.size() > kMaxShown ? " ... (--json lists all)\n" : "\n";
  }
  return text;
}

std::string ReportJson(const CommandLine& line, const std::vector<ClientList>& lists) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["reader"] = line.data.reader;
  document["path"] = line.data.path;
  document["part"] = line.data.part;
  document["clients"] = line.data.clients;
  document["concentration"] = line.data.concentration > 0 ? ordered_json(line.data.concentration) : ordered_json();
  document["seed"] = line.data.seed;
  document["lists"] = ordered_json::array();
  for (const ClientList& list : lists)
    document["lists"].push_back({{"path", list.path}, {"examples", list.examples.size()}, {"classes", list.classes}});
  return FormatDocument(document);
}

}  // namespace

int ExecuteDataClients(const Invocation& call) {
  const std::variant<DataSpec, Diagnostic> named = NamedData(call.line);
  if (const auto* error = std::get_if<Diagnostic>(&named)) return call.console.Fail({*error});
  const auto store = storage::OpenExamples(call.env, std::get<DataSpec>(named));
  if (!store.ok()) return call.console.Fail(store.status());
  const Result<std::vector<ClientList>> lists = SharedOut(call.line, **store);
  if (!lists.ok()) return call.console.Fail(lists.status());
  if (const Status written = WriteLists(call, *lists); !written.ok()) return call.console.Fail(written);
  call.console.Text(call.line.global.json ? ReportJson(call.line, *lists) : ReportText(*lists));
  if (call.line.data.concentration > 0)
    call.console.Message("The lists follow from the labels: they are as private as the examples are.");
  return 0;
}

}  // namespace retort::orchestrator::cli
