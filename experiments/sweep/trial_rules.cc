#include "experiments/sweep/trial_rules.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "experiments/methods/network_layers.h"
#include "experiments/methods/networks.h"
#include "experiments/methods/teacher_outputs.h"
#include "experiments/sweep/method_rules.h"
#include "experiments/sweep/network_tables.h"

namespace retort {
namespace {

// A teacher that is loaded from a file has no claim that depends on its training.
void CheckLoadedClaim(const ResolvedTrial& trial, TrialErrors& errors) {
  const bool loaded = trial.teacher != nullptr && IsLoaded(trial.teacher->kind);
  if (!loaded || trial.spec.privacy.claim != ClaimTarget::example) return;
  errors.Add({"claim", "teacher"},
             "claim \"example\" rests on how the teacher was trained, which nobody recorded for \"" +
                 trial.teacher->name + "\", loaded from a file: ask for another claim, or train the teacher here",
             {"teacher", "slot", "answer", "paper"});
}

// Returns why the network cannot take the images; empty when it can, or nothing is known of them.
std::string Unfit(const TrialSpec& spec) {
  const NamedNetwork* network = FindNetwork(spec.network);
  const DataSpec& data = *spec.data;
  if (network == nullptr || data.examples == 0 || data.height == 0) return "";
  const std::string subject = "the network \"" + spec.network + "\" needs images ";
  const std::string extents = " pixels a side; those of data." + data.name + " are " + std::to_string(data.height) +
                              "x" + std::to_string(data.width);
  if (data.height < network->min_extent || data.width < network->min_extent)
    return subject + "of at least " + std::to_string(network->min_extent) + extents;
  const std::int64_t most = network->max_extent;
  if (most > 0 && std::max(data.height, data.width) > most)
    return subject + "of at most " + std::to_string(most) + extents + ": shrink them, by resize and crop or by size";
  if (data.height % network->multiple != 0 || data.width % network->multiple != 0)
    return subject + "of a multiple of " + std::to_string(network->multiple) + extents;
  if (network->channels != 0 && data.channels != network->channels)
    return subject + "of " + std::to_string(network->channels) + " channels; those of data." + data.name + " have " +
           std::to_string(data.channels);
  return "";
}

// Returns why the outputs that are named are not the data set's classes; empty when they are as many, or nothing is
// known of them.
std::string CountsOtherClasses(const TrialSpec& spec) {
  const std::int64_t named = static_cast<std::int64_t>(ParseOutputs(spec.outputs).value().size());
  const std::int64_t classes = spec.data->classes;
  if (named == 0 || classes == 0 || named == classes) return "";
  return "teacher." + spec.teacher + ".outputs names " + std::to_string(named) + " of the file's outputs, but data." +
         spec.data->name + " has " + std::to_string(classes) +
         " classes: name one output for each class, in the order of the classes";
}

// Of a described network; none of a network of the zoo.
std::vector<NetworkLayer> ListDescribed(const TrialSpec& spec) {
  if (!spec.layers) return {};
  Result<std::vector<NetworkLayer>> layers = ParseNetworkLayers(*spec.layers);
  return layers.ok() ? std::move(*layers) : std::vector<NetworkLayer>();
}

// Empty unless DP-SGD is to train a network with batch norms; `choices` are networks that will do.
std::string MixesExamples(const ResolvedTrial& trial, std::vector<std::string>& choices) {
  const bool dpsgd = TrainsByDpSgd(trial.kind);
  const NamedNetwork* network = FindNetwork(trial.spec.network);
  if (dpsgd && HasBatchNorm(ListDescribed(trial.spec)))
    return "DP-SGD needs each example's own gradient, and the batch norms of \"" + trial.spec.network +
           "\" mix the examples: write group_norm in [network." + trial.spec.network + "] (norm = \"group\" of blocks)";
  if (!dpsgd || network == nullptr || !network->mixes_rows) return "";
  const std::string apart = trial.spec.network + "-gn";
  choices = FindNetwork(apart) != nullptr ? std::vector<std::string>{apart}
                                          : std::vector<std::string>{"resnet18-cifar-gn", "wrn16-1-gn"};
  return "DP-SGD needs each example's own gradient, and the batch norms of \"" + trial.spec.network +
         "\" mix the examples: name a network with group norms";
}

// Empty unless an activation is asked for of layers that have none.
std::string NothingToActivate(const TrialSpec& spec) {
  const NamedNetwork* network = FindNetwork(spec.network);
  if (spec.layers && spec.activation != Activation::as_defined && !HasActivation(ListDescribed(spec)))
    return "[network." + spec.network + "] has no activations to replace: remove activation";
  if (network == nullptr || !network->frozen || spec.activation == Activation::as_defined) return "";
  return "\"" + spec.network +
         "\" is frozen but for a linear layer, and has no activations to replace: remove activation";
}

// Empty unless DP-SGD is to average over copies of an example that are all alike.
std::string CopiesAlike(const ResolvedTrial& trial) {
  const bool dpsgd = TrainsByDpSgd(trial.kind);
  const TrialSpec& spec = trial.spec;
  if (!dpsgd || spec.release.augment_multiplicity == 1 || AugmentsImages(spec)) return "";
  return "augment_multiplicity = " + std::to_string(spec.release.augment_multiplicity) +
         " needs augment or shift: the copies of an example are all alike without";
}

constexpr const char* kNoFullBatch =
    "batch = \"full\" is of training by noisy gradients of all private examples: method \"dp-gd\", or a teacher with "
    "private = {...}";

void CheckFullBatch(const ResolvedTrial& trial, TrialErrors& errors) {
  if (TakesFullBatches(trial.spec)) {
    if (!trial.full_batch)
      errors.Add({"batch", "method"},
                 "method \"" + trial.spec.method +
                     "\" takes every private example in every step: set batch = \"full\", or method = "
                     "\"dpsgd\", which samples a batch",
                 {"full"});
  } else if (trial.full_batch) {
    errors.Add({"batch", "method"}, kNoFullBatch, {"dp-gd"});
  }
}

// Checks that there are inputs for all queries.
void CheckQueryCount(const TrialSpec& spec, bool solved, TrialErrors& errors) {
  const std::string count =
      solved ? "epsilon = " + FormatKey(spec, "epsilon") +
                   " with calibrate = \"steps\" asks for queries = " + std::to_string(spec.queries) + ", which"
             : "queries = " + std::to_string(spec.queries);
  const std::string_view key = solved ? "calibrate" : "queries";
  const std::int64_t open = spec.data->PublicExamples();
  if (spec.source == QuerySource::public_split && open > 0 && spec.queries > open) {
    errors.Add({key, "source"}, count + " is more than the " + std::to_string(open) + " public examples of data." +
                                    spec.data->name + "; each is answered once");
  }
  if (spec.source != QuerySource::public_split && spec.queries / spec.batch >= spec.steps &&
      spec.queries > spec.batch * spec.steps) {
    errors.Add({key, "steps", "batch"},
               count + " is more than batch times steps, " + std::to_string(spec.batch * spec.steps) +
                   ", which are made: raise steps, or ask fewer",
               {});
  }
}

void CheckQueries(const ResolvedTrial& trial, TrialErrors& errors) {
  const bool rona = Releases(trial.kind, ReleaseKind::losses);
  const bool votes = Releases(trial.kind, ReleaseKind::votes);
  const bool ensemble = trial.teacher != nullptr && IsEnsemble(trial.teacher->kind);
  if ((votes || (rona && ensemble)) && trial.spec.queries < 1) {
    errors.Add({"queries"}, "an ensemble teaches by noisy-vote answers: queries must be at least 1");
  }
  const bool fitted = (MakeMask(trial.kind) & (kinds::kVotes | kinds::kLabelled | kinds::kSpectral)) != 0;
  if (fitted && trial.spec.source != QuerySource::generator && trial.spec.labels.label_steps < 1) {
    errors.Add({"label_steps"}, "the student is fitted to what is released: label_steps must be at least 1");
  }
  if (rona && !ensemble && trial.spec.queries > 0)
    errors.Add({"queries"},
               "queries are votes of an ensemble (members > 1), which \"" + trial.spec.teacher + "\" is not",
               ListTeachers(errors.document(), kinds::kEnsemble));
  if (errors.FindOwn("queries") != nullptr && !votes && !rona && trial.teacher != nullptr) {
    errors.Add({"queries"}, "queries needs reading \"sound\" and a teacher that is an ensemble (members > 1)",
               ListTeachers(errors.document(), kinds::kEnsemble));
  }
}

// Checks what goes with a threshold on votes: first classes alone leave, of public queries that are known beforehand.
void CheckThreshold(const TrialSpec& spec, TrialErrors& errors) {
  if (!Releases(FindKind(spec), ReleaseKind::votes)) return;
  if (spec.release.threshold_noise == 0) {
    if (spec.release.vote_threshold > 0 || spec.release.answers > 0 || spec.release.vote_cost > 0)
      errors.Add(
          {"vote_threshold", "answers", "vote_cost", "threshold_noise"},
          "vote_threshold, answers and vote_cost need threshold_noise: without noise a threshold tells who voted how",
          {"threshold_noise"});
    return;
  }
  if (spec.release.vote_threshold == 0)
    errors.Add({"threshold_noise"}, "threshold_noise is that of a threshold: set vote_threshold", {"vote_threshold"});
  if (spec.release.threshold_noise < kMinVoteNoise)
    errors.Add({"threshold_noise"}, "threshold_noise is at least 0.015625, the least that can be drawn exactly");
  if (spec.release.answers > spec.queries && spec.privacy.calibrate != Calibrate::steps)
    errors.Add({"answers", "queries"}, "answers is at most queries: no more are asked", {"queries"});
  if (spec.labels.vote_label != VoteLabel::argmax)
    errors.Add({"vote_label", "threshold_noise"},
               "behind a threshold the first class alone is released: set vote_label = \"argmax\"", {"argmax"});
  if (spec.release.grain != 1)
    errors.Add({"grain", "threshold_noise"}, "a threshold is held against whole votes: set grain = 1");
  if (spec.labels.neighbours > 0)
    errors.Add({"neighbours", "threshold_noise"},
               "neighbours spread histograms, and behind a threshold the first class alone is released: set neighbours "
               "= 0");
  if (spec.source != QuerySource::public_split)
    errors.Add({"source", "threshold_noise"},
               "a threshold needs queries that are there before the first answer: set source = \"public\"", {"public"});
  if (spec.release.vote_cost > 0 && spec.privacy.calibrate != Calibrate::none)
    errors.Add({"vote_cost", "calibrate"},
               "vote_cost fixes what the answers may cost: set vote_noise and queries by hand, and remove calibrate");
  if (spec.stop.metric != StopMetric::none)
    errors.Add({"stop_metric", "threshold_noise"},
               "a stop rule charges what is left to one mechanism, and behind a threshold there are two: remove stop");
}

void CheckPrivacy(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  const bool asked = spec.privacy.epsilon > 0;
  if (asked && (spec.privacy.claim == ClaimTarget::none || spec.privacy.calibrate == Calibrate::none)) {
    errors.Add({"epsilon"}, "epsilon needs to know what it is about: set claim, and calibrate = \"noise\" or \"steps\"",
               {"claim", "calibrate"});
  }
  if (!asked && spec.privacy.calibrate != Calibrate::none) {
    errors.Add({"calibrate"}, "calibrate needs an epsilon above 0 to solve for", {"epsilon"});
  }
  const bool noise_follows = asked && spec.privacy.calibrate == Calibrate::noise;
  const bool multiplies = TrainsByDpSgd(trial.kind) || ReleasesEmbedding(trial.kind);
  if (multiplies && spec.release.noise_multiplier == 0 && !noise_follows) {
    errors.Add({"noise_multiplier", "calibrate", "method"},
               "method \"" + spec.method +
                   "\" needs noise: set noise_multiplier, or epsilon with claim and calibrate = \"noise\"",
               {"noise_multiplier", "epsilon"});
  }
  if (IsTaughtByVotes(spec) && spec.release.vote_noise == 0 && !noise_follows) {
    errors.Add({"vote_noise", "calibrate", "reading", "teacher"},
               "noisy votes need noise: set vote_noise, or epsilon with claim and calibrate = \"noise\"",
               {"vote_noise", "epsilon"});
  }
  CheckThreshold(spec, errors);
  if (!IsTaughtByVotes(spec)) return;
  const double drawn = spec.release.vote_noise * static_cast<double>(spec.release.grain);
  if (drawn > kMaxVoteNoise)
    errors.Add({"grain", "vote_noise"}, "vote_noise times grain is at most 1048576: lower grain", {});
  if (spec.release.vote_noise > 0 && drawn < kMinVoteNoise && !noise_follows)
    errors.Add({"vote_noise"}, "vote_noise times grain is at least 0.015625, the least that can be drawn exactly", {});
}

// A loss on private examples says more about them than the noise allows, and so would the step it stops at.
constexpr const char* kNoPrivateLoss =
    "a stop rule may not look at the loss of DP-SGD, which is of private examples: use metric = "
    "\"test.accuracy\"";

// All members' examples, or a test split that sees all members, would decide how long each is trained.
constexpr const char* kMembersApart =
    "the members of an ensemble are trained apart: a stop rule would let one example change all of them; "
    "remove stop";

bool StopsByPrivateLoss(const ResolvedTrial& trial) {
  return trial.spec.stop.metric == StopMetric::loss && TrainsByDpSgd(trial.kind);
}

bool DeadlineIsTooShort(const TrialSpec& spec) {
  return spec.execution.deadline_seconds > 0 && spec.execution.deadline_seconds < kMinDeadlineSeconds;
}
constexpr const char* kShortDeadline =
    "a deadline below 1 s ends trials that are well on a busy machine: raise it, or 0s, which follows the "
    "measured steps";

// A silent worker is killed; the time that is allowed before any step was measured is two minutes.
void CheckSleep(const TrialSpec& spec, TrialErrors& errors) {
  constexpr double kMaxStep = 60;
  const double step = spec.seconds / static_cast<double>(spec.steps);
  if (spec.execution.deadline_seconds == 0 && step > kMaxStep) {
    errors.Add({"seconds", "steps"},
               "seconds / steps is more than 60 s, and a trial that shows no progress is ended: raise steps, or "
               "set deadline",
               {"steps", "deadline"});
  }
}

}  // namespace

bool CheckStudent(const ResolvedTrial& trial, const Layers& layers, const SweepDocument& document,
                  DiagnosticCollector& diagnostics) {
  TrialErrors errors(layers, document, diagnostics);
  const TrialSpec& spec = trial.spec;
  if (DeadlineIsTooShort(spec)) errors.Add({"deadline"}, kShortDeadline);
  if (IsSleeper(trial.kind)) {
    CheckSleep(spec, errors);
    return errors.good();
  }
  CheckReading(trial, errors);
  if (!errors.good()) return false;
  CheckTeaching(trial, errors);
  CheckPrivacy(trial, errors);
  CheckLoadedClaim(trial, errors);
  if (StopsByPrivateLoss(trial)) errors.Add({"stop_metric"}, kNoPrivateLoss, {"test.accuracy"});
  if (trial.data == nullptr) {
    errors.Add({"data"},
               document.data.empty() ? "missing data: method \"" + spec.method + "\" needs a [data.NAME] table"
                                     : "no data set chosen: set trial.data",
               document.DataNames());
    return false;
  }
  if (const std::string unfit = Unfit(spec); !unfit.empty()) errors.Add({"student", "data"}, unfit);
  if (!CheckDescribedNetwork(spec, document, diagnostics)) return false;
  CheckGenerator(trial, errors);
  if (!CheckDescribedGenerator(spec, document, diagnostics)) return false;
  std::vector<std::string> apart;
  if (const std::string mixed = MixesExamples(trial, apart); !mixed.empty()) errors.Add({"student"}, mixed, apart);
  if (const std::string alike = CopiesAlike(trial); !alike.empty())
    errors.Add({"augment_multiplicity"}, alike, {"augment", "shift"});
  if (const std::string idle = NothingToActivate(spec); !idle.empty()) errors.Add({"activation"}, idle);
  CheckSource(trial, errors);
  CheckQueries(trial, errors);
  if (errors.good()) CheckMethodKeys(trial, errors);
  if (Releases(trial.kind, ReleaseKind::votes) && spec.privacy.calibrate != Calibrate::steps)
    CheckQueryCount(spec, false, errors);
  CheckFullBatch(trial, errors);
  const std::int64_t examples = spec.data->PrivateExamples();
  if (TrainsByDpSgd(trial.kind) && spec.batch > examples && !trial.full_batch) {
    errors.Add({"batch"}, "batch = " + std::to_string(spec.batch) + " is more than the " + std::to_string(examples) +
                              " private examples of data." + spec.data->name);
  }
  const Assignment* delta = FindStrongest(layers, "delta");
  if (errors.good()) WarnAboutLargeDelta(trial, delta != nullptr ? delta->where : document.trial_where, diagnostics);
  return errors.good();
}

bool CheckSolved(const ResolvedTrial& trial, const Layers& layers, const SweepDocument& document,
                 DiagnosticCollector& diagnostics) {
  TrialErrors errors(layers, document, diagnostics);
  if (Releases(trial.kind, ReleaseKind::votes) && trial.spec.privacy.calibrate == Calibrate::steps)
    CheckQueryCount(trial.spec, true, errors);
  return errors.good();
}

namespace {

// Returns the networks that ridge regression can fit.
std::vector<std::string> FrozenNetworks() {
  std::vector<std::string> names;
  for (const NamedNetwork& network : kNamedNetworks)
    if (network.frozen) names.emplace_back(network.name);
  return names;
}

// Returns keys that are not used when members are fitted in closed form.
std::vector<std::string_view> UnusedByRidge(const TeacherDefinition& teacher) {
  constexpr std::array<std::string_view, 14> kOfSteps = {
      "lr",       "lr_hold",      "lr_end",    "lr_drops", "epochs", "batch",   "optimizer",
      "momentum", "weight_decay", "smoothing", "schedule", "shift",  "augment", "precision"};
  std::vector<std::string_view> unused;
  for (const Assignment& assignment : teacher.assignments)
    if (std::find(kOfSteps.begin(), kOfSteps.end(), assignment.key->name) != kOfSteps.end())
      unused.push_back(assignment.key->name);
  return unused;
}

// Returns keys that are not used by members that are softmax regressions on equal shards, trained in one tensor.
std::vector<std::string_view> UnusedByLogistic(const TrialSpec& spec) {
  std::vector<std::string_view> unused;
  if (spec.network != "logistic" || spec.shards.partition != Partition::shards) return unused;
  const TrialSpec fresh;
  if (spec.optimization.optimizer != fresh.optimization.optimizer) unused.emplace_back("optimizer");
  if (spec.optimization.weight_decay != fresh.optimization.weight_decay) unused.emplace_back("weight_decay");
  if (spec.optimization.schedule != fresh.optimization.schedule) unused.emplace_back("schedule");
  if (spec.labels.smoothing != fresh.labels.smoothing) unused.emplace_back("smoothing");
  if (spec.inputs.augment != fresh.inputs.augment) unused.emplace_back("augment");
  if (spec.precision != fresh.precision) unused.emplace_back("precision");
  return unused;
}

}  // namespace

bool CheckTeacher(const ResolvedTrial& trial, const TeacherDefinition& teacher, DiagnosticCollector& diagnostics) {
  const TrialSpec& spec = trial.spec;
  const std::int64_t examples = spec.data->PrivateExamples();
  bool good = true;
  const auto say = [&](std::string_view key, std::string message, std::vector<std::string> choices) {
    Position where = teacher.where;
    for (const Assignment& assignment : teacher.assignments) {
      if (assignment.key->name == key) where = assignment.where;
    }
    diagnostics.AddError(where, "teacher." + teacher.name + "." + std::string(key), std::move(message),
                         std::move(choices));
    good = false;
  };
  const auto fits = [&](std::string_view key, std::int64_t value) {
    if (value <= examples) return;
    say(key,
        std::string(key) + " = " + std::to_string(value) + " is more than the " + std::to_string(examples) +
            " private examples of data." + spec.data->name,
        {});
  };
  if (const std::string unfit = Unfit(spec); !unfit.empty()) say("network", unfit, {});
  if (const std::string other = CountsOtherClasses(spec); !other.empty()) say("outputs", other, {});
  std::vector<std::string> apart;
  if (const std::string mixed = MixesExamples(trial, apart); !mixed.empty()) say("network", mixed, apart);
  if (const std::string alike = CopiesAlike(trial); !alike.empty())
    say("augment_multiplicity", alike, {"augment", "shift"});
  if (const std::string idle = NothingToActivate(spec); !idle.empty()) say("activation", idle, {});
  const bool dpsgd = TrainsByDpSgd(trial.kind);
  if (dpsgd && !trial.full_batch) fits("batch", spec.batch);
  if (!dpsgd && trial.full_batch) say("batch", kNoFullBatch, {});
  const TrialSpec fresh;
  const bool takes_steps = spec.shards.ridge == 0;
  const bool chooses = takes_steps && !dpsgd && !IsLoaded(trial.kind);
  if (chooses && spec.optimization.optimizer == Optimizer::adam &&
      spec.optimization.momentum != fresh.optimization.momentum)
    say("momentum", "momentum is of sgd: set optimizer = \"sgd\", or remove momentum", {});
  if (takes_steps && spec.optimization.schedule != Schedule::step &&
      spec.optimization.lr_drops != fresh.optimization.lr_drops)
    say("lr_drops", "lr_drops is of schedule = \"step\": set it, or remove lr_drops", {});
  if (spec.shards.partition != Partition::dirichlet && spec.shards.dirichlet_alpha != fresh.shards.dirichlet_alpha)
    say("dirichlet_alpha", "dirichlet_alpha is of partition = \"dirichlet\": set it, or remove dirichlet_alpha", {});
  if (spec.trained_on == TrainedOn::public_split && spec.data->examples > 0 && spec.data->PublicExamples() == 0)
    say("trained_on", "data." + spec.data->name + ".split has no public examples to train on", {"private", "all"});
  if (StopsByPrivateLoss(trial)) say("stop_metric", kNoPrivateLoss, {"test.accuracy"});
  if (DeadlineIsTooShort(spec)) say("deadline", kShortDeadline, {});
  if (IsEnsemble(trial.kind)) {
    fits("members", spec.members);
    if (spec.shards.partition == Partition::dirichlet && spec.members <= examples &&
        spec.members > examples / kMinDirichletExamples)
      say("members",
          "members = " + std::to_string(spec.members) + " of a Dirichlet partition need " +
              std::to_string(kMinDirichletExamples) + " examples each, and data." + spec.data->name + " has " +
              std::to_string(examples) + " private ones: " + std::to_string(examples / kMinDirichletExamples) +
              " members at most",
          {});
    if (takes_steps && spec.epochs == 0)
      say("epochs", "the members of an ensemble are trained: epochs must be at least 1", {});
    if (spec.stop.metric != StopMetric::none) say("stop_metric", kMembersApart, {});
    const NamedNetwork* network = FindNetwork(spec.network);
    if (spec.shards.ridge > 0 && (network == nullptr || !network->frozen))
      say("ridge",
          "ridge fits the last layer of a network that is frozen but for it, which \"" + spec.network +
              "\" is not: name another network, or remove ridge",
          FrozenNetworks());
    for (const std::string_view key : takes_steps ? std::vector<std::string_view>() : UnusedByRidge(teacher))
      say(key, std::string(key) + " is not used: ridge fits each member in closed form; remove it, or ridge", {});
    for (const std::string_view key : UnusedByLogistic(spec))
      say(key,
          std::string(key) +
              " is not used: \"logistic\" members of equal shards are trained together, by Adam "
              "with a decay of their own; remove it, or name another network",
          {});
  }
  return good;
}

void WarnAboutLargeDelta(const ResolvedTrial& trial, Position where, DiagnosticCollector& diagnostics) {
  const TrialSpec& spec = trial.spec;
  const auto examples = static_cast<double>(spec.data->PrivateExamples());
  if (examples <= 0 || spec.privacy.delta * examples <= 1) return;
  diagnostics.AddWarning(where, "trial.delta",
                         "delta = " + FormatKey(spec, "delta") + " is more than 1/" +
                             std::to_string(spec.data->PrivateExamples()) + ", one over the private examples of data." +
                             spec.data->name + ": a claim may then say nothing about a single person");
}

}  // namespace retort
