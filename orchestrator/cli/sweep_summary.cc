#include "orchestrator/cli/sweep_summary.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "orchestrator/audit_store.h"
#include "orchestrator/folder_lock.h"
#include "orchestrator/journal.h"
#include "orchestrator/refuted_claims.h"
#include "orchestrator/request_inbox.h"
#include "storage/crc32.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::json;

constexpr int kFormatVersion = 1;
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
constexpr std::size_t kMostProblems = 1000;  // whoever has more of them reads the journal

// What tells this state of a file from every other; nothing where the file system does not.
std::optional<json> StampOf(storage::Env& env, const std::string& path) {
  if (!env.Exists(path)) return json("absent");
  const Result<storage::FileStamp> stamp = env.Stamp(path);
  if (!stamp.ok() || !stamp->telling) return std::nullopt;
  return json{stamp->size, stamp->modified, stamp->inode};
}

std::optional<json> StampsOf(storage::Env& env, const std::string& results) {
  std::optional<json> journal = StampOf(env, JournalPath(results));
  std::optional<json> ledger = StampOf(env, LedgerPath(results));
  if (!journal || !ledger) return std::nullopt;
  return json{{"journal", *std::move(journal)}, {"ledger", *std::move(ledger)}};
}

json NumberJson(double value) { return value == std::numeric_limits<double>::infinity() ? json("inf") : json(value); }

double NumberIn(const json& value) {
  return value == "inf" ? std::numeric_limits<double>::infinity() : value.get<double>();
}

json ProblemJson(const Problem& problem) {
  json trials = json::array();
  for (const TrialId trial : problem.trials) trials.push_back(trial.Hex());
  return {{"severity", problem.severity}, {"what", problem.what}, {"remedy", problem.remedy}, {"trials", trials}};
}

Problem ProblemIn(const json& value) {
  Problem problem{value.at("severity"), value.at("what"), value.at("remedy"), {}};
  for (const json& trial : value.at("trials"))
    problem.trials.push_back(TrialId::FromHex(trial.get<std::string>()).value());
  return problem;
}

json SpentJson(const DataSpending& spent) {
  json budget;
  if (spent.budget) budget = {spent.budget->epsilon, spent.budget->delta};
  return {{"data", spent.data},   {"digest", spent.digest}, {"epsilon", NumberJson(spent.epsilon)},
          {"delta", spent.delta}, {"budget", budget},       {"trials", spent.trials}};
}

DataSpending SpentIn(const json& value) {
  DataSpending spent;
  spent.data = value.at("data");
  spent.digest = value.at("digest");
  spent.epsilon = spent.root_epsilon = NumberIn(value.at("epsilon"));
  spent.delta = value.at("delta");
  spent.trials = value.at("trials");
  if (const json& budget = value.at("budget"); !budget.is_null())
    spent.budget = Budget{budget.at(0).get<double>(), budget.at(1).get<double>()};
  return spent;
}

json BodyOf(const ResultsView& view, const TrialsStatus& trials) {
  json problems = json::array(), spending = json::array();
  for (const Problem& problem : trials.problems) problems.push_back(ProblemJson(problem));
  for (const DataSpending& spent : trials.spending) spending.push_back(SpentJson(spent));
  return {{"sweep", view.sweep},         {"newest_event", view.newest_event}, {"drained", view.drained},
          {"packed", view.packed},       {"unpacked", view.unpacked},         {"charged", ChargedDigests(view)},
          {"trials", trials.trials},     {"counts", trials.counts},           {"problems", problems},
          {"spending", spending}};
}

SweepSummary SummaryIn(const json& body) {
  SweepSummary summary;
  summary.view.sweep = body.at("sweep");
  summary.view.newest_event = body.at("newest_event");
  summary.view.drained = body.at("drained").get<std::vector<std::string>>();
  summary.view.packed = body.at("packed").get<std::vector<std::string>>();
  summary.view.unpacked = body.at("unpacked").get<UnpackedDigests>();
  summary.charged = body.at("charged").get<std::set<std::string>>();
  summary.trials.trials = body.at("trials");
  summary.trials.finished = true;
  summary.trials.counts = body.at("counts").get<std::vector<std::pair<std::string, int>>>();
  for (const json& problem : body.at("problems")) summary.trials.problems.push_back(ProblemIn(problem));
  for (const json& spent : body.at("spending")) summary.trials.spending.push_back(SpentIn(spent));
  return summary;
}

std::string Checked(const std::string& line) {
  return line + "\n" + fmt::format("{:08x}", storage::ExtendCrc32(0, line)) + "\n";
}

// Nothing where it is not what Checked made.
std::optional<json> Unchecked(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  if (Checked(line) != text) return std::nullopt;
  json document = json::parse(line, nullptr, false);
  return document.is_object() ? std::optional(std::move(document)) : std::nullopt;
}

}  // namespace

std::string SummaryPath(const std::string& results) { return results + "/summary.json"; }

Status KeepSummary(storage::Env& env, const std::string& results, const std::string& program,
                   std::uint64_t least_bytes) {
  // Before anything is read: what is appended meanwhile makes the stamps those of another journal.
  const std::optional<json> stamps = StampsOf(env, results);
  if (!stamps || (*stamps)["journal"] == "absent" || (*stamps)["journal"][0] < least_bytes) return {};
  if (ReadSummary(env, results, program)) return {};
  RETORT_ASSIGN_OR_RETURN(const ResultsView view, ReadPacked(env, results));
  if (view.running || !view.ledger_lost.empty() || AnyAudit(env, view)) return {};
  const TrialsStatus trials = TrialsStatusOf(view);
  if (!trials.finished || trials.problems.size() > kMostProblems) return {};
  const json document = {
      {"format_version", kFormatVersion}, {"program", program}, {"of", *stamps}, {"body", BodyOf(view, trials)}};
  return env.WriteFileAtomically(SummaryPath(results),
                                 Checked(document.dump(-1, ' ', false, json::error_handler_t::replace)));
}

std::optional<SweepSummary> ReadSummary(storage::Env& env, const std::string& results, const std::string& program) {
  if (HasAuditMark(env, results) || !env.Exists(SummaryPath(results)) || FolderIsLocked(env, results))
    return std::nullopt;
  const Result<std::string> text = env.ReadSmallFile(SummaryPath(results), kMostBytes);
  const std::optional<json> document = text.ok() ? Unchecked(*text) : std::nullopt;
  const std::optional<json> stamps = StampsOf(env, results);
  if (!document || !stamps) return std::nullopt;
  try {
    if (document->at("format_version") != kFormatVersion || document->at("program") != program ||
        document->at("of") != *stamps)
      return std::nullopt;
    SweepSummary summary = SummaryIn(document->at("body"));
    summary.view.directory = results;
    summary.view.requests = CountRequests(env, results);
    return summary;
  } catch (const std::exception&) {  // of another form
    return std::nullopt;
  }
}

}  // namespace retort::orchestrator::cli
