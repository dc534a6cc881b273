#include "orchestrator/cli/render/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "experiments/base/json.h"
#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"
#include "experiments/methods/network_layers.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/methods/stated_settings.h"
#include "experiments/sweep/network_tables.h"
#include "orchestrator/cli/render/audit_text.h"
#include "orchestrator/cli/render/claim_text.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/status_text.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/results/trial_names.h"
#include "storage/weights/known_weights.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kNamesOfAGroup = 4;

std::string EstimateText(const std::optional<CostEstimate>& estimate) {
  if (!estimate) return "unknown";
  if (estimate->low == estimate->high) return "~" + FormatDuration(estimate->seconds);
  return fmt::format("~{} ({} to {})", FormatDuration(estimate->seconds), FormatDuration(estimate->low),
                     FormatDuration(estimate->high));
}

std::string DataText(const SweepPlan& plan) {
  if (plan.data.empty()) return "Data: none\n";
  std::string out = "Data\n";
  for (const auto& data : plan.data) {
    const SplitSpec& split = data->split;
    const bool found = !data->digest.empty();
    out += fmt::format("  {}  {} {}: {} examples of {}×{}×{}, {} classes\n", data->name, data->reader,
                       found ? "found" : "MISSING, taken as published", CountText(data->examples), data->channels,
                       data->height, data->width, data->classes);
    out += fmt::format("    {}{}\n", MakeOneLine(data->path), found ? ", sha256 " + data->digest.substr(0, 16) : "");
    const std::string apart = data->ValidationExamples() > 0
                                  ? fmt::format(" and {} for validation", CountText(data->ValidationExamples()))
                                  : "";
    out += fmt::format("    private {}{}, public {}, test {}, shuffle {}\n", CountText(data->PrivateExamples()), apart,
                       CountText(data->PublicExamples()), CountText(split.test.size()), split.shuffle);
    if (data->budget)
      out += fmt::format("    budget over all trials: ε ≤ {} at δ = {}\n", FormatEpsilon(data->budget->epsilon),
                         FormatShortNumber(data->budget->delta));
  }
  return out;
}

// The teachers that are loaded from files; empty when there are none.
std::string LoadedText(const SweepPlan& plan) {
  std::string out;
  for (const TrialSpec& spec : plan.trials) {
    if (spec.role != Role::teacher || spec.weights_digest.empty()) continue;
    const storage::KnownWeights* known = storage::FindKnownWeights(spec.weights_digest);
    out += fmt::format("  {}  {}, {}\n    {}, sha256 {}\n", FormatTrialName(spec), spec.network,
                       known != nullptr ? known->name : "not among the files that torchvision publishes",
                       MakeOneLine(spec.weights.empty() ? spec.torchscript : spec.weights),
                       spec.weights_digest.substr(0, 16));
    if (!spec.outputs.empty())
      out += "    its outputs " + spec.outputs + " are the classes of the data set, in order\n";
  }
  return out.empty() ? out : "Loaded teachers\n" + out;
}

// "  mine  4 layers, 52,170 parameters on digits"
std::string NetworkText(const TrialSpec& spec) {
  const Result<std::vector<NetworkLayer>> layers = ParseNetworkLayers(*spec.layers);
  if (!layers.ok()) return "";
  const DataSpec& data = *spec.data;
  const InputShape picture{data.channels, data.height, data.width};
  const PlannedShapes planned = PlanShapes(*layers, picture, data.classes);
  std::string out = fmt::format("  {}  {} layers", spec.network, layers->size());
  if (!planned.misfit && data.height > 0)
    out +=
        fmt::format(", {} parameters on {}", CountText(CountParameters(*layers, planned.shapes, picture)), data.name);
  return out + "\n";
}

// "  mine  12 layers, 402,817 parameters, from 100 values to pictures of digits"
std::string GeneratorText(const TrialSpec& spec) {
  const Result<std::vector<NetworkLayer>> layers = ParseNetworkLayers(*spec.generator.layers);
  if (!layers.ok()) return "";
  const DataSpec& data = *spec.data;
  const LatentShape latents = FindLatentShape(spec);
  const PlannedShapes planned = PlanGeneratorShapes(*layers, latents, {data.channels, data.height, data.width});
  std::string out = fmt::format("  {}  {} layers", spec.generator.network, layers->size());
  if (!planned.misfit && data.height > 0)
    out += fmt::format(", {} parameters, from {} values to pictures of {}",
                       CountText(CountParameters(*layers, planned.shapes, latents)), latents.values(), data.name);
  return out + "\n";
}

// The networks that the sweep file describes, with each data set that a trial trains one on; empty when there are none.
std::string DescribedText(const SweepPlan& plan) {
  std::string out;
  std::set<std::tuple<const std::string*, const DataSpec*, std::int64_t>> said;
  for (const TrialSpec& spec : plan.trials) {
    const DataSpec* data = spec.data.get();
    if (data == nullptr) continue;
    if (spec.layers && said.emplace(spec.layers.get(), data, 0).second) out += NetworkText(spec);
    const std::string* generator = spec.generator.layers.get();
    if (generator != nullptr && said.emplace(generator, data, FindLatentShape(spec).values()).second)
      out += GeneratorText(spec);
  }
  return out.empty() ? out : "Described networks\n" + out;
}

std::string TrialsText(const PlanReport& report) {
  TextTable table({"trial", "teacher", "plan", "devices", "threads", "time"},
                  {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right});
  const std::size_t shown = std::min(report.trials.size(), kListedTrials);
  for (std::size_t i = 0; i < shown; ++i) {
    const PlannedTrial& trial = report.trials[i];
    const std::string verb = trial.runs ? (trial.stored == nullptr ? "new" : "run") : "skip";
    table.Add({FormatTrialName(*trial.spec), trial.spec->role == Role::teacher ? "" : trial.spec->teacher,
               trial.stored == nullptr ? verb : verb + ", " + FindReason(trial), std::to_string(trial.spec->devices),
               std::to_string(trial.spec->threads), EstimateText(EstimateTrial(report, trial))});
  }
  std::string out = table.Render(2);
  if (report.trials.size() > shown)
    out += fmt::format("  and {} more (--json lists all)\n",
                       CountText(static_cast<std::int64_t>(report.trials.size() - shown)));
  return out;
}

std::string AuditText(const PlanReport& report) {
  return report.audit ? "Audit: " + AuditCostText(*report.audit) + ".\n" : "";
}

std::string CountsText(const PlanReport& report) {
  const auto runs =
      std::count_if(report.trials.begin(), report.trials.end(), [](const PlannedTrial& t) { return t.runs; });
  std::string out = fmt::format("Trials: {}, of which {} to run and {} done",
                                CountText(static_cast<std::int64_t>(report.trials.size())), CountText(runs),
                                CountText(static_cast<std::int64_t>(report.trials.size()) - runs));
  if (!report.dropped.empty()) out += fmt::format("; {} stored ones are not in this plan", report.dropped.size());
  if (runs == 0) return out + ". Nothing is left to run.\n";
  out += ".\n";
  if (report.total) return out + "Time: " + FormatSweepEstimate(*report.total) + ".\n";
  if (report.unknown == 0)
    return out + fmt::format("Time: unknown, since a trial needs more devices than {} (--slots).\n", report.slots);
  return out + fmt::format(
                   "Time and disk: unknown until the first trials of each kind have run on a machine like "
                   "this one ({} of {} to run are of an unmeasured kind).\n",
                   CountText(static_cast<std::int64_t>(report.unknown)), CountText(runs));
}

std::vector<std::string> GroupNames(const std::vector<const TrialSpec*>& specs) {
  std::vector<std::string> names;
  for (const TrialSpec* spec : specs) {
    if (names.size() == kNamesOfAGroup && specs.size() > kNamesOfAGroup + 1) break;
    names.push_back(FormatTrialName(*spec));
  }
  if (names.size() < specs.size()) names.push_back(fmt::format("and {} more", specs.size() - names.size()));
  return names;
}

// Trials with equal claims share one entry: their names stand above each other.
std::string PrivacyText(const PlanReport& report, std::size_t width) {
  std::vector<std::pair<std::vector<privacy::Claim>, std::vector<const TrialSpec*>>> groups;
  const std::size_t claimed = std::min(report.trials.size(), kListedTrials);
  PlannedClaims planned(report.voids);
  for (std::size_t i = 0; i < claimed; ++i) {
    const TrialSpec& spec = *report.trials[i].spec;
    const std::vector<privacy::Claim>& claims = planned.Of(spec, report.trials[i].teacher);
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == claims; });
    if (same == groups.end())
      groups.push_back({claims, {&spec}});
    else
      same->second.push_back(&spec);
  }
  Notes notes;
  TextTable table({"trial", "protects", "neighbours", "δ", "ε", "basis"},
                  {Align::left, Align::left, Align::left, Align::left, Align::right, Align::left});
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g > 0) table.AddRule();
    const auto& [claims, specs] = groups[g];
    const std::vector<std::string> names = GroupNames(specs);
    for (std::size_t i = 0; i + 1 < names.size(); ++i) table.Add({names[i]});
    for (std::size_t i = 0; i < std::max<std::size_t>(claims.size(), 1); ++i) {
      std::vector<std::string> line = {i == 0 ? names.back() : ""};
      if (i < claims.size()) {
        const ClaimCells cells = MakeClaimCells(claims[i], notes, true);
        line.insert(line.end(), {cells.protects, cells.neighbours, cells.delta, cells.epsilon, cells.basis});
      }
      table.Add(line);
    }
  }
  std::string out = report.selection ? "Privacy of one candidate" : "Privacy";
  out += ", if nothing fails (†: the paper's formula, not a guarantee)";
  if (claimed < report.trials.size()) out += fmt::format(", of the first {} trials", claimed);
  out += "\n" + table.Render(2);
  for (std::size_t i = 0; i < notes.texts().size(); ++i)
    out += "  " + Wrap(fmt::format("[{}] {}", i + 1, notes.texts()[i]), width - 2, 6) + "\n";
  return out;
}

// What calibrated trials leave for attempts that are lost; empty when none is calibrated.
std::string RetriesText(const PlanReport& report, std::size_t width) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = -1;
  for (const PlannedTrial& trial : report.trials) {
    if (trial.spec->privacy.calibrate == Calibrate::none) continue;
    least = std::min(least, trial.spec->execution.retries);
    most = std::max(most, trial.spec->execution.retries);
  }
  if (most < 0) return "";
  const std::string room = least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
  const std::string text =
      most == 0 ? "Calibrated trials leave no room for lost attempts (retries = 0): each may charge a block of "
                  "reserve_block releases again, which shows in the ε of the row."
                : fmt::format(
                      "Calibrated trials leave room for {} lost {} (retries), each charged a block of at most "
                      "reserve_block releases again; what is lost beyond that shows in the ε of the row.",
                      room, room == "1" ? "attempt" : "attempts");
  return "  " + Wrap(text, width - 2, 2) + "\n";
}

std::string FormatDimension(const SearchDimension& dimension) {
  std::string text(dimension.key->TrialName());
  if (dimension.choices.empty())
    return text + fmt::format(" in [{}, {}]{}{}", FormatShortNumber(dimension.low), FormatShortNumber(dimension.high),
                              dimension.log ? ", logarithmic" : "", dimension.integer ? ", whole numbers" : "");
  for (std::size_t i = 0; i < dimension.choices.size(); ++i)
    text += (i == 0 ? " of " : ", ") + FormatValue(*dimension.key, dimension.choices[i]);
  return text;
}

// What follows the `planned` suggestions; empty where nothing does.
std::string DescribeMore(const SearchSpec& search, std::size_t planned, bool may_grow) {
  if (search.IsAsynchronous())
    return may_grow ? fmt::format(
                          "  and more while it runs: the best one in {} of each rung, as they end, again on the next, "
                          "else the next of the {} on the first\n",
                          search.reduction, search.trials)
                    : "";
  const std::int64_t more = CountSuggestions(search) - static_cast<std::int64_t>(planned);
  if (!search.IsAdaptive() || more <= 0) return "";
  return fmt::format("  and {} more, {}\n", more,
                     search.HasRungs()
                         ? fmt::format("the best one in {} of each rung, again on the next", search.reduction)
                         : fmt::format("suggested from the scores of these, {} a round", search.batch));
}

// What is searched, what each planned suggestion tries, and what the score costs.
std::string SearchText(const PlanReport& report, std::size_t width) {
  if (!report.search) return "";
  const SearchSpec& search = *report.plan->search;
  std::string out = Wrap(DescribeStanding(*report.search), width, 2) + "\n";
  for (const SearchDimension& dimension : search.space) out += "  " + FormatDimension(dimension) + "\n";
  std::vector<std::string> header = {std::string(kSuggestionKey)};
  for (const std::string& key : report.search->terms.keys) header.push_back(key);
  TextTable table(header, std::vector<Align>(header.size(), Align::right));
  std::optional<std::size_t> last;
  std::size_t shown = 0;
  for (const PlannedTrial& trial : report.trials) {
    const std::optional<std::size_t> number = FindSuggestion(*trial.spec);
    if (!number || number == last || shown == kListedTrials) continue;
    last = number;
    ++shown;
    std::vector<std::string> line = {std::to_string(*number)};
    for (const std::string& key : report.search->terms.keys) line.push_back(FormatKey(*trial.spec, key));
    table.Add(line);
  }
  out += table.Render(2);
  out += DescribeMore(search, last ? *last + 1 : 0, report.search->may_grow);
  return out + "  " + Wrap(DescribeSearchCost(search.score), width - 2, 2) + "\n\n";
}

// What a score on private examples costs, and what noise it has; empty for a public one.
std::string ScoreText(const PlanReport& report, std::size_t width) {
  const SelectSpec& select = *report.plan->select;
  if (select.score_noise == 0 || report.plan->data.empty()) return "";
  const auto examples = static_cast<double>(report.plan->data.front()->ValidationExamples());
  return "  " +
         Wrap(fmt::format("The score is private: how many of {} validation examples the student classifies right, with "
                          "noise of standard deviation {} on that number ({:.2f} % of them). For a validation example "
                          "one candidate's score is {}-GDP; for a training example it costs nothing beyond the "
                          "training. No example is both, so that the worse of the two counts.",
                          CountText(report.plan->data.front()->ValidationExamples()),
                          FormatSixDigits(select.score_noise), 100 * select.score_noise / examples,
                          FormatSixDigits(1 / select.score_noise)),
              width - 2, 4) +
         "\n";
}

// What is left of select.epsilon for each candidate; empty where the trials say their own.
std::string CalibratedText(const PlanReport& report, std::size_t width) {
  const SelectSpec& select = *report.plan->select;
  if (!report.selection->each) return "";
  std::int64_t lost = 0;
  for (const TrialSpec& spec : report.plan->trials) lost = std::max(lost, spec.execution.retries);
  const std::string room = lost == 0 ? ""
                                     : fmt::format(
                                           " Room is left for {} interrupted {} (retries), so that the claim "
                                           "of an undisturbed one is smaller.",
                                           lost, lost == 1 ? "run" : "runs");
  return "  " +
         Wrap(fmt::format("Calibrated: selection over {} candidates in expectation costs {} of ε = {}; each candidate "
                          "runs at ε₀ = {}.{}",
                          FormatSixDigits(select.mean), FormatEpsilon(*select.epsilon - *report.selection->each),
                          FormatEpsilon(*select.epsilon), FormatEpsilon(*report.selection->each), room),
              width - 2, 4) +
         "\n";
}

// What choosing costs: the claim of the best of K beside that of one candidate.
std::string SelectionText(const PlanReport& report, std::size_t width) {
  if (!report.selection) return "";
  const PlannedSelection& planned = *report.selection;
  Notes notes;
  TextTable table({"protects", "neighbours", "δ", "ε", "one candidate", "choosing", "basis"},
                  {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right, Align::left});
  for (std::size_t i = 0; i < planned.claims.size(); ++i) {
    const privacy::Claim& claim = planned.claims[i];
    const ClaimCells cells = MakeClaimCells(claim, notes, true);
    const double alone = planned.candidate[i];
    const bool known = claim.status == privacy::ClaimStatus::proven && std::isfinite(alone);
    table.Add({cells.protects, cells.neighbours, cells.delta, cells.epsilon, known ? FormatEpsilon(alone) : "",
               known ? fmt::format("{:.2f}", std::max(0.0, claim.epsilon - alone)) : "", cells.basis});
  }
  std::string out = fmt::format("Selection: the best alone of K candidates by {}; K: {}\n", report.plan->select->score,
                                planned.draws) +
                    table.Render(2);
  for (std::size_t i = 0; i < notes.texts().size(); ++i)
    out += "  " + Wrap(fmt::format("[{}] {}", i + 1, notes.texts()[i]), width - 2, 6) + "\n";
  for (std::size_t i = 0; i < planned.curves.size(); ++i) {
    if (planned.curves[i].empty()) continue;
    std::string points;
    for (const RdpPoint& point : planned.curves[i])
      points += fmt::format("{}{:g}: {} and {}", points.empty() ? "" : ", ", point.order,
                            FormatSixDigits(point.candidate), FormatSixDigits(point.selection));
    out += "  " +
           Wrap(fmt::format("Rényi divergence of the worst candidate and of the selection ({}, {}), by order: {}",
                            privacy::GetAdjacencyName(planned.claims[i].adjacency),
                            privacy::GetNeighbourName(planned.claims[i].neighbour), points),
                width - 2, 4) +
           "\n";
  }
  return out + CalibratedText(report, width) + ScoreText(report, width) + "  " +
         Wrap(
             "A run that is interrupted and goes on adds a block of reserve_block releases to every candidate. How "
             "many "
             "trials run, and for how long, tells K to whoever watches the machines, and is outside the claim.",
             width - 2, 2) +
         "\n\n";
}

}  // namespace

std::string PlanAsText(const PlanReport& report, std::size_t width) {
  std::string out = fmt::format("Sweep {} ({}), results in {}{}\n\n", report.plan->name, report.plan->file,
                                report.results, report.has_results ? "" : " (new)");
  out += DataText(*report.plan) + DescribedText(*report.plan) + LoadedText(*report.plan) + "\n" + CountsText(report) +
         AuditText(report) + TrialsText(report) + "\n" + SearchText(report, width) + SelectionText(report, width) +
         PrivacyText(report, width) + RetriesText(report, width);
  return out;
}

std::string PlanDiffAsText(const PlanReport& report) {
  std::string out;
  std::size_t same = 0;
  for (const PlannedTrial& trial : report.trials) {
    if (trial.stored == nullptr)
      out += "+ " + FormatTrialName(*trial.spec) + "  new\n";
    else if (trial.runs)
      out += "~ " + FormatTrialName(*trial.spec) + "  " + FindReason(trial) + "\n";
    else
      ++same;
  }
  for (const TrialView* trial : report.dropped)
    out += "- " + FormatTrialName(trial->spec) + "  stored (" + std::string(GetStateName(trial->state)) +
           "), not in this plan\n";
  return out + fmt::format("{} of {} planned trials are already in {}\n", same, report.trials.size(), report.results);
}

namespace {

using nlohmann::ordered_json;

ordered_json EstimateJson(const std::optional<CostEstimate>& estimate) {
  if (!estimate) return {};
  return {{"seconds", estimate->seconds},
          {"low", estimate->low},
          {"high", estimate->high},
          {"measured", estimate->measured}};
}

ordered_json TotalJson(const std::optional<SweepEstimate>& total) {
  if (!total) return {};
  return {{"seconds", total->seconds.mean},
          {"low", total->seconds.low},
          {"high", total->seconds.high},
          {"measured", total->measured},
          {"slots", total->slots},
          {"device_hours",
           {{"mean", total->device_hours.mean}, {"low", total->device_hours.low}, {"high", total->device_hours.high}}}};
}

TrialView UnknownTrial(const TrialSpec& spec) {
  TrialView view;
  view.spec = spec;
  view.state = spec.parent ? TrialState::waiting : TrialState::queued;
  return view;
}

ordered_json DataJson(const SweepPlan& plan) {
  ordered_json data = ordered_json::array();
  for (const auto& set : plan.data)
    data.push_back({{"name", set->name},
                    {"reader", set->reader},
                    {"path", set->path},
                    {"found", !set->digest.empty()},
                    {"digest", set->digest},
                    {"examples", set->examples},
                    {"shape", {set->channels, set->height, set->width}},
                    {"classes", set->classes},
                    {"train", set->PrivateExamples()},
                    {"public", set->PublicExamples()},
                    {"test", set->split.test.size()}});
  for (std::size_t i = 0; i < data.size(); ++i)
    if (const std::int64_t apart = plan.data[i]->ValidationExamples(); apart > 0) data[i]["validation"] = apart;
  return data;
}

ordered_json SelectionJson(const PlanReport& report) {
  const PlannedSelection& planned = *report.selection;
  ordered_json claims = ordered_json::array();
  for (std::size_t i = 0; i < planned.claims.size(); ++i) {
    ordered_json claim = ordered_json::parse(privacy::EncodeClaim(planned.claims[i]));
    claim["candidate_epsilon"] = MakeJsonNumber(planned.candidate[i]);
    claim["rdp"] = ordered_json::array();
    for (const RdpPoint& point : planned.curves[i])
      claim["rdp"].push_back({{"order", point.order},
                              {"candidate", MakeJsonNumber(point.candidate)},
                              {"selection", MakeJsonNumber(point.selection)}});
    claims.push_back(std::move(claim));
  }
  ordered_json json = {{"score", report.plan->select->score}, {"distribution", report.plan->select->distribution},
                       {"mean", report.plan->select->mean},   {"draws", planned.draws},
                       {"candidates", report.trials.size()},  {"costs", planned.costs},
                       {"claims", std::move(claims)}};
  if (report.plan->select->score_noise > 0) json["score_noise"] = report.plan->select->score_noise;
  if (planned.each) {
    json["epsilon"] = *report.plan->select->epsilon;
    json["candidate_epsilon"] = *planned.each;
  }
  return json;
}

std::string TrialEntry(const PlanReport& report, const PlannedTrial& trial, PlannedClaims& claims) {
  return FormatTrialJson(trial.stored != nullptr ? *trial.stored : UnknownTrial(*trial.spec),
                         {{"new", trial.stored == nullptr ? "true" : "false"},
                          {"runs", trial.runs ? "true" : "false"},
                          {"reason", DumpJson(ordered_json(FindReason(trial)))},
                          {"estimate", DumpJson(EstimateJson(EstimateTrial(report, trial)))},
                          {"claims", FormatClaims(claims.Of(*trial.spec, trial.teacher))},
                          {"differs", DumpJson(MakeDifferencesJson(ListDifferences(*trial.spec, trial.teacher)))},
                          {"chosen", DumpJson(MakeChosenJson(ListChosen(*trial.spec)))}});
}

}  // namespace

void WritePlanAsJson(const PlanReport& report, const std::function<void(std::string_view)>& out) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["sweep"] = report.plan->name;
  document["results"] = report.results;
  document["data"] = DataJson(*report.plan);
  document["estimate"] = TotalJson(report.total);
  document["disk_bytes"] =
      report.total && report.total->disk_bytes ? ordered_json(*report.total->disk_bytes) : ordered_json();
  if (report.audit) document["audit"] = AuditCostJson(*report.audit);
  if (report.search) document["search"] = SearchJson(*report.search);
  if (report.selection) document["selection"] = SelectionJson(report);
  document["dropped"] = ordered_json::array();
  for (const TrialView* trial : report.dropped)
    document["dropped"].push_back({{"trial", trial->spec.id.Hex()}, {"name", FormatTrialName(trial->spec)}});
  document["warnings"] = ordered_json::array();
  for (const Diagnostic& warning : report.plan->warnings) document["warnings"].push_back(warning.message);
  PlannedClaims claims(report.voids);
  WriteWithArray(out, document, "trials", report.trials.size(),
                 [&](std::size_t i) { return TrialEntry(report, report.trials[i], claims); });
}

}  // namespace retort::orchestrator::cli
