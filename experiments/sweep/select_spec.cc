#include "experiments/sweep/select_spec.h"

#include <algorithm>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/sweep/sweep_document.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

void ReadScore(const TomlEntry& score, const std::string& path, ReadContext& context) {
  context.document.select->score = score.value.text;
  if (score.value.text == kPrivateScore) return;
  const std::string wrong = RefuseScore(score.value.text);
  if (!wrong.empty())
    context.diagnostics.AddError(score.value.where, path + ".score", path + ".score: " + wrong,
                                 {std::string(kPublicScore), std::string(kPrivateScore)});
}

// A score on private examples has noise, and no other has.
void ReadScoreNoise(const TomlNode& select, const std::string& path, ReadContext& context) {
  SelectSpec& spec = *context.document.select;
  const TomlEntry *score = select.Find("score"), *noise = select.Find("score_noise");
  if (noise != nullptr) spec.score_noise = noise->value.Number();
  if (context.partial) return;
  const bool hidden = spec.score == kPrivateScore;
  if (hidden && noise == nullptr)
    context.diagnostics.AddError(
        score->value.where, path + ".score_noise",
        path + ".score = \"" + spec.score +
            "\" is measured on private examples, and needs noise: set score_noise, its standard deviation in examples");
  if (!hidden && noise != nullptr)
    context.diagnostics.AddError(noise->where, path + ".score_noise",
                                 path + ".score_noise is that of score = \"" + std::string(kPrivateScore) +
                                     "\"; a score on public examples has none: leave it out, or set that score");
}

void ReadDistribution(const TomlNode& select, const std::string& path, ReadContext& context) {
  SelectSpec& spec = *context.document.select;
  const TomlEntry *name = select.Find("distribution"), *mean = select.Find("mean"), *eta = select.Find("eta");
  if (mean != nullptr) spec.mean = mean->value.Number();
  if (eta != nullptr) spec.eta = eta->value.Number();
  if (name == nullptr) return;
  spec.distribution = name->value.text;
  const auto known = std::find(kDrawDistributions.begin(), kDrawDistributions.end(), spec.distribution);
  if (known == kDrawDistributions.end()) {
    context.diagnostics.AddUnknown(name->value.where, path + ".distribution", "distribution", spec.distribution,
                                   {kDrawDistributions.begin(), kDrawDistributions.end()}, true);
    return;
  }
  const bool shaped = spec.distribution == kDrawDistributions.back();
  if (shaped && eta == nullptr && !context.partial)
    context.diagnostics.AddError(select.where, path + ".eta",
                                 "missing " + path + ".eta: the shape of " + spec.distribution + ", above -1");
  if (!shaped && eta != nullptr)
    context.diagnostics.AddError(eta->where, path + ".eta",
                                 path + ".eta belongs to \"" + std::string(kDrawDistributions.back()) + "\"; " +
                                     spec.distribution + " has none");
}

}  // namespace

std::string RefuseScore(const std::string& score) {
  if (score == kPublicScore) return "";
  if (score.starts_with("test."))
    return score + " reads the test split, on which nothing may be chosen; measure on public examples: \"" +
           std::string(kPublicScore) + "\"";
  if (score.starts_with("validation.") || score.starts_with("train.") || score.starts_with("private."))
    return score +
           " reads private examples, and no claim of a trial covers a score on them; measure on public examples: \"" +
           std::string(kPublicScore) + "\"; [sweep.select] alone can pay for one, \"" + std::string(kPrivateScore) +
           "\" with score_noise";
  if (score.starts_with("audit.") || score.starts_with("synthetic."))
    return score + " is measured after a trial has ended, which is too late to choose by; the score is \"" +
           std::string(kPublicScore) + "\"";
  return "no score is called \"" + score + "\"; it is \"" + std::string(kPublicScore) +
         "\": how many of the labelled public examples the student classifies right";
}

void ReadSelect(const TomlNode& select, ReadContext& context) {
  const std::string path = context.prefix + "sweep.select";
  if (!CheckSection(select, "sweep.select", path, context.partial, context.diagnostics)) return;
  context.document.select.emplace();
  context.document.select->where = select.where;
  if (const TomlEntry* score = select.Find("score")) ReadScore(*score, path, context);
  ReadScoreNoise(select, path, context);
  ReadDistribution(select, path, context);
  if (const TomlEntry* epsilon = select.Find("epsilon")) {
    context.document.select->epsilon = epsilon->value.Number();
    context.document.select->epsilon_where = epsilon->value.where;
  }
}

void CheckBesideSelect(const TomlNode& sweep, ReadContext& context) {
  const std::string path = context.prefix + "sweep";
  if (!context.document.select || context.partial) return;
  if (const TomlEntry* seeds = sweep.Find("seeds"))
    context.diagnostics.AddError(seeds->where, path + ".seeds",
                                 path + ".seeds: every draw of [" + path +
                                     ".select] has a seed of its own, and one trial is released, so that seeds are "
                                     "neither candidates nor repetitions; leave them out");
  const TomlEntry* quota = sweep.Find("quota");
  if (quota == nullptr || quota->value.kind != TomlKind::table) return;
  for (const char* name : {"trials", "wall", "device_hours"})
    if (const TomlEntry* entry = quota->value.Find(name))
      context.diagnostics.AddError(entry->where, path + ".quota." + name,
                                   path + ".quota." + name +
                                       " could end a selection midway, and whether it does would "
                                       "tell how many candidates were drawn; leave it out");
}

void CheckOneEpsilon(const SweepDocument& document, DiagnosticCollector& diagnostics) {
  const auto check = [&](const Assignments& assignments) {
    for (const Assignment& given : assignments) {
      if (given.key->name != "epsilon" || given.value == KeyValue(0.0)) continue;  // 0 asks for none
      diagnostics.AddError(given.where, given.path,
                           given.path + " is that of one candidate, which follows from sweep.select.epsilon = " +
                               FormatExactNumber(*document.select->epsilon) +
                               ", that of the selection: leave one of the two out");
    }
  };
  check(document.trial);
  for (const Axis& axis : document.axes)
    for (const Assignments& row : axis.rows) check(row);
  for (const WhenRule& rule : document.when) check(rule.set);
}

}  // namespace retort
