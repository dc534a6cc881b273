// retort data clients: split lists of clients
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/named_data.h"
#include "orchestrator/cli/output_file.h"
#include "storage/data/clients.h"
#include "storage/data/example_store.h"
#include "storage/file_modes.h"

namespace retort::orchestrator::cli {
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

ClientList ListOf(const storage::ExampleStore& store, std::string path, std::vector<std::int64_t> examples) {
  std::sort(examples.begin(), examples.end());
  ClientList list{std::move(path), std::move(examples), {}};
  list.classes.resize(static_cast<std::size_t>(store.classes()));
  for (const std::int64_t example : list.examples)
    ++list.classes[static_cast<std::size_t>(store.labels()[static_cast<std::size_t>(example)])];
  return list;
}

// The clients' lists, then the list of what is held out, if anything is.
Result<std::vector<ClientList>> SharedOut(const CommandLine& line, const storage::ExampleStore& store) {
  RETORT_ASSIGN_OR_RETURN(const storage::DataPart part, Shared(store, line.part));
  const auto held = static_cast<std::int64_t>(line.held_out * static_cast<double>(part.size()));
  if (line.clients > part.size() - held)
    return UsageError(fmt::format("--clients {}: there are {} examples to share out", line.clients, part.size() - held));
  std::vector<std::int64_t> places = Permutation(part.size(), RngStream(line.seed, Purpose::split));
  for (std::int64_t& place : places) place += part.begin;
  const std::vector<std::int64_t> kept(places.begin(), places.begin() + held);
  places.erase(places.begin(), places.begin() + held);
  std::vector<std::int64_t> labels;
  for (const std::int64_t place : places) labels.push_back(store.labels()[static_cast<std::size_t>(place)]);
  const auto count = static_cast<std::int64_t>(places.size());
  const storage::Clients clients =
      line.concentration > 0
          ? storage::DirichletClients(labels, store.classes(), line.clients, line.concentration, line.seed)
          : storage::EqualClients(count, line.clients, line.seed);
  std::vector<ClientList> lists;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    std::vector<std::int64_t> examples;
    for (const std::int64_t at : clients[k]) examples.push_back(places[static_cast<std::size_t>(at)]);
    lists.push_back(ListOf(store, fmt::format("{}/client-{}.txt", line.out, k), std::move(examples)));
  }
  if (held > 0) lists.push_back(ListOf(store, line.out + "/held-out.txt", kept));
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
      return UsageError(lists.back() + " is a list of another division; choose another --out, or --force to replace them all");
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
      line.concentration > 0 ? fmt::format("Dirichlet({})", line.concentration) : std::string("equal shares");
  for (const ClientList& list : lists) {
    std::string text = fmt::format("# {} of {}: {} examples; {} clients, {}, seed {}\n", line.reader,
                                   line.part.empty() ? "the whole set" : line.part, list.examples.size(),
                                   line.clients, how, line.seed);
    for (const std::int64_t example : list.examples) text += std::to_string(example) + "\n";
    RETORT_RETURN_IF_ERROR(WriteOutput(call.env, list.path, text, {}));
  }
  return {};
}

std::string ReportText(const std::vector<ClientList>& lists) {
  std::string text;
  for (const ClientList& list : lists) {
    text += fmt::format("{}: {} examples, by class", list.path, list.examples.size());
    constexpr std::size_t kMostShown = 12;
    for (std::size_t c = 0; c < std::min(list.classes.size(), kMostShown); ++c) text += fmt::format(" {}", list.classes[c]);
    text += list.classes.size() > kMostShown ? " ... (--json lists all)\n" : "\n";
  }
  return text;
}

std::string ReportJson(const CommandLine& line, const std::vector<ClientList>& lists) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["reader"] = line.reader;
  document["path"] = line.data_path;
  document["part"] = line.part;
  document["clients"] = line.clients;
  document["concentration"] = line.concentration > 0 ? ordered_json(line.concentration) : ordered_json();
  document["seed"] = line.seed;
  document["lists"] = ordered_json::array();
  for (const ClientList& list : lists)
    document["lists"].push_back({{"path", list.path}, {"examples", list.examples.size()}, {"classes", list.classes}});
  return DocumentText(document);
}

}  // namespace

int DataClientsCommand(const Invocation& call) {
  const std::variant<DataSpec, Diagnostic> named = NamedData(call.line);
  if (const auto* error = std::get_if<Diagnostic>(&named)) return call.console.Fail({*error});
  const auto store = storage::OpenExamples(call.env, std::get<DataSpec>(named));
  if (!store.ok()) return call.console.Fail(store.status());
  const Result<std::vector<ClientList>> lists = SharedOut(call.line, **store);
  if (!lists.ok()) return call.console.Fail(lists.status());
  if (const Status written = WriteLists(call, *lists); !written.ok()) return call.console.Fail(written);
  call.console.Text(call.line.global.json ? ReportJson(call.line, *lists) : ReportText(*lists));
  if (call.line.concentration > 0)
    call.console.Message("The lists follow from the labels: they are as private as the examples are.");
  return 0;
}

}  // namespace retort::orchestrator::cli
