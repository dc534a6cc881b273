#include "orchestrator/results/sweep_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "experiments/base/json.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/request_inbox.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/cost_history.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/shared_examples.h"
#include "storage/datasets/mark_store.h"
#include "storage/files/path_status.h"
#include "storage/formats/byte_codec.h"

namespace retort::orchestrator {
namespace {

using nlohmann::json;

constexpr int kFormatVersion = 3;
constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 20;
constexpr std::size_t kMaxProblems = 1000;  // whoever has more of them reads the journal

// What tells this state of a file from every other; nothing where the file system does not.
std::optional<json> ReadStamp(storage::Env& env, const std::string& path) {
  const Result<bool> there = storage::PathExists(env, path);
  if (!there.ok()) return std::nullopt;
  if (!*there) return json("absent");
  const Result<storage::FileStamp> stamp = env.Stamp(path);
  if (!stamp.ok() || !stamp->telling) return std::nullopt;
  return json{stamp->size, stamp->modified, stamp->inode};
}

// Of every file in a folder of the results root; nothing where that cannot be told.
std::optional<json> FolderStamp(storage::Env& env, const std::string& folder) {
  json all = json::object();
  const Result<bool> there = storage::PathExists(env, folder);
  if (!there.ok()) return std::nullopt;
  if (!*there) return all;
  const Result<std::vector<std::string>> names = env.List(folder);
  if (!names.ok()) return std::nullopt;
  for (const std::string& name : *names) {
    const std::optional<json> stamp = ReadStamp(env, folder + "/" + name);
    if (!stamp) return std::nullopt;
    all[name] = *stamp;
  }
  return all;
}

// Whether some of its data sets have no marks where others of the root have: whom they count for depends on who asks.
bool HasUnmarkedData(storage::Env& env, const ResultsView& view) {
  Result<storage::RootMarks> marks = storage::ReadMarks(env, FindResultsRoot(view.directory));
  if (!marks.ok()) return true;
  if (marks->sets.empty()) return false;
  const SharedExamples shared(*std::move(marks));
  return std::ranges::any_of(view.data, [&](const auto& data) {
    return !shared.HasMarks(FindUnpackedDigest(view.unpacked, data->digest), storage::SplitName(*data));
  });
}

json NumberJson(double value) { return value == std::numeric_limits<double>::infinity() ? json("inf") : json(value); }

double NumberOrInfinity(const json& value) {
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
  return {{"data", spent.data},     {"names", spent.names},   {"digest", spent.digest},
          {"reason", spent.reason}, {"delta", spent.delta},   {"epsilon", NumberJson(spent.epsilon)},
          {"budget", budget},       {"trials", spent.trials}, {"assumptions", spent.assumptions}};
}

DataSpending SpentIn(const json& value) {
  DataSpending spent;
  spent.data = value.at("data");
  spent.names = value.at("names").get<std::vector<std::string>>();
  spent.digest = value.at("digest");
  spent.reason = spent.root_reason = value.at("reason");
  spent.assumptions = value.at("assumptions").get<std::vector<std::string>>();
  spent.epsilon = spent.root_epsilon = NumberOrInfinity(value.at("epsilon"));
  spent.delta = value.at("delta");
  spent.trials = RequireInteger<decltype(spent.trials)>(value.at("trials"));
  if (const json& budget = value.at("budget"); !budget.is_null())
    spent.budget = Budget{budget.at(0).get<double>(), budget.at(1).get<double>()};
  return spent;
}

json IntervalJson(const Interval& interval) { return {interval.mean, interval.low, interval.high}; }

Interval IntervalIn(const json& value) {
  return {value.at(0).get<double>(), value.at(1).get<double>(), value.at(2).get<double>()};
}

json RemainingJson(const std::optional<SweepEstimate>& left) {
  if (!left) return {};
  return {{"seconds", IntervalJson(left->seconds)},
          {"device_hours", IntervalJson(left->device_hours)},
          {"disk_bytes", left->disk_bytes ? json(*left->disk_bytes) : json()},
          {"slots", left->slots},
          {"measured", left->measured},
          {"as_if_alone", left->as_if_alone}};
}

std::optional<SweepEstimate> RemainingIn(const json& value) {
  if (value.is_null()) return std::nullopt;
  SweepEstimate left;
  left.seconds = IntervalIn(value.at("seconds"));
  left.device_hours = IntervalIn(value.at("device_hours"));
  if (const json& bytes = value.at("disk_bytes"); !bytes.is_null())
    left.disk_bytes = RequireInteger<std::uint64_t>(bytes);
  left.slots = RequireInteger<decltype(left.slots)>(value.at("slots"));
  left.measured = value.at("measured");
  left.as_if_alone = value.at("as_if_alone");
  return left;
}

json MakeBody(const ResultsView& view, const TrialsStatus& trials) {
  json problems = json::array(), spending = json::array();
  for (const Problem& problem : trials.problems) problems.push_back(ProblemJson(problem));
  for (const DataSpending& spent : trials.spending) spending.push_back(SpentJson(spent));
  return {{"sweep", view.sweep},
          {"newest_event", view.newest_event},
          {"drained", view.drained},
          {"packed", view.packed},
          {"unpacked", view.unpacked},
          {"noted_root", view.noted_root},
          {"digests", ListDataDigests(view)},
          {"trials", trials.trials},
          {"counts", trials.counts},
          {"problems", problems},
          {"spending", spending},
          {"finished", trials.finished},
          {"remaining", RemainingJson(trials.remaining)}};
}

SweepSummary SummaryIn(const json& body) {
  SweepSummary summary;
  summary.view.sweep = body.at("sweep");
  summary.view.newest_event = body.at("newest_event");
  summary.view.drained = body.at("drained").get<std::vector<std::string>>();
  summary.view.packed = body.at("packed").get<std::vector<std::string>>();
  summary.view.unpacked = body.at("unpacked").get<UnpackedDigests>();
  summary.view.noted_root = body.at("noted_root");
  summary.digests = body.at("digests").get<std::set<std::string>>();
  summary.trials.trials = body.at("trials");
  summary.trials.finished = body.at("finished");
  summary.trials.remaining = RemainingIn(body.at("remaining"));
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
  json document = TryParseJson(line);
  return document.is_object() ? std::optional(std::move(document)) : std::nullopt;
}

bool IsLarge(const json& sources, std::uint64_t least_bytes) {
  const json& journal = sources.at("journal");
  return journal != "absent" && journal.at(0) >= least_bytes;
}

bool WaitsForRetry(const TrialView& trial) { return !IsFinal(trial.state) && trial.retry_at > 0; }

}  // namespace

std::string FindSummaryPath(const std::string& results) { return results + "/summary.json"; }

std::optional<std::string> ComputeSummarySources(storage::Env& env, const std::string& results,
                                                 const CostCache& costs) {
  if (MayBeAudited(env, results) || IsFolderLocked(env, results)) return std::nullopt;
  const std::optional<json> journal = ReadStamp(env, GetJournalPath(results)),
                            ledger = ReadStamp(env, GetLedgerPath(results));
  const std::optional<json> measured = costs.path.empty() ? std::optional<json>("absent") : ReadStamp(env, costs.path);
  const std::string root = FindResultsRoot(results);
  // What data sets share examples, and what audits have refuted.
  const std::optional<json> marks = FolderStamp(env, storage::GetMarksFolder(root)),
                            refuted = FolderStamp(env, GetRefutationsFolder(root));
  if (!journal || !ledger || !measured || !marks || !refuted) return std::nullopt;
  return DumpJson(json{{"journal", *journal},
                       {"ledger", *ledger},
                       {"marks", *marks},
                       {"refuted", *refuted},
                       {"costs", *measured},
                       {"machine", costs.machine}});
}

Status StoreSummary(storage::Env& env, const std::string& sources, const ResultsView& view, const TrialsStatus& trials,
                    const std::string& program, std::uint64_t least_bytes) {
  const json of = ParseJson(sources);
  if (!IsLarge(of, least_bytes)) return {};
  if (view.running || !view.ledger_lost.empty() || HasAudits(env, view) || HasUnmarkedData(env, view)) return {};
  if (trials.search || trials.problems.size() > kMaxProblems || std::ranges::any_of(view.trials, WaitsForRetry))
    return {};
  const json document = {
      {"format_version", kFormatVersion}, {"program", program}, {"of", of}, {"body", MakeBody(view, trials)}};
  return env.WriteFileAtomically(FindSummaryPath(view.directory), Checked(DumpJson(document)));
}

Status StoreSummary(storage::Env& env, const std::string& results, const CostCache& costs, const std::string& program,
                    std::uint64_t least_bytes) {
  // Before anything is read: what is appended meanwhile makes it another journal.
  const std::optional<std::string> sources = ComputeSummarySources(env, results, costs);
  if (!sources || !IsLarge(ParseJson(*sources), least_bytes) || ReadSummary(env, results, *sources, program)) return {};
  RETORT_ASSIGN_OR_RETURN(const ResultsView view, ReadPacked(env, results));
  RootCharges alone;  // of the root, what counts for the sweep's own charges
  alone.shared = ReadRoot(env, view).shared;
  return StoreSummary(env, *sources, view, ComputeTrialsStatus(view, ReadKnownCosts(costs, &view), 0, &alone), program,
                      least_bytes);
}

std::optional<SweepSummary> ReadSummary(storage::Env& env, const std::string& results, const std::string& sources,
                                        const std::string& program) {
  if (!env.Exists(FindSummaryPath(results))) return std::nullopt;
  const Result<std::string> text = env.ReadSmallFile(FindSummaryPath(results), kMaxBytes);
  const std::optional<json> document = text.ok() ? Unchecked(*text) : std::nullopt;
  if (!document) return std::nullopt;
  try {
    if (document->at("format_version") != kFormatVersion || document->at("program") != program ||
        document->at("of") != ParseJson(sources))
      return std::nullopt;
    SweepSummary summary = SummaryIn(document->at("body"));
    summary.view.directory = results;
    summary.view.requests = CountRequests(env, results);
    return summary;
  } catch (const std::exception&) {  // of another form
    return std::nullopt;
  }
}

}  // namespace retort::orchestrator
