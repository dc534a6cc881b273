#include "experiments/sweep/method_rules.h"

#include <algorithm>
#include <span>
#include <string>

#include "experiments/methods/methods.h"
#include "experiments/methods/network_layers.h"
#include "experiments/methods/networks.h"
#include "experiments/methods/spec_keys.h"

namespace retort {
namespace {

constexpr KindMask kSoundTeachers = kinds::kEnsemble | kinds::kDpsgdTeacher;

constexpr bool Holds(KindMask kinds, TrialKind kind) { return (kinds & MakeMask(kind)) != 0; }

std::vector<std::string> SourceNames(SourceMask sources) {
  const std::span<const std::string_view> all = FindKey("source", kInTrial)->choices;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((sources >> i & 1U) != 0) names.emplace_back(all[i]);
  return names;
}

// Returns the inputs that the teacher may be asked about: sound students also ask about public inputs, rona's only
// about them. A teacher that was trained privately answers as often as it is asked, and so about mixes of them, too.
SourceMask ListSources(const MethodTraits& method, const ResolvedTrial& trial) {
  const bool sound = Releases(method.kind, ReleaseKind::votes) || trial.spec.reading == Reading::sound;
  if (!sound || Releases(method.kind, ReleaseKind::losses)) return method.sources;
  const SourceMask all =
      MakeMask(QuerySource::generator) | MakeMask(QuerySource::public_split) | MakeMask(QuerySource::procedural);
  return Releases(trial.kind, ReleaseKind::votes) ? all : all | MakeMask(QuerySource::public_mixes);
}

std::string Quoted(const ResolvedTrial& trial) {
  return "\"" + trial.teacher->name + "\" is a " + std::string(GetKindName(trial.teacher->kind));
}

// Returns the value of a key of the teacher's definition, or null.
const KeyValue* TeacherValue(const TeacherDefinition& teacher, std::string_view name) {
  for (const Assignment& assignment : teacher.assignments)
    if (assignment.valid && assignment.key->name == name) return &assignment.value;
  return nullptr;
}

bool IsDirichlet(const TeacherDefinition* teacher) {
  const KeyValue* partition = teacher == nullptr ? nullptr : TeacherValue(*teacher, "partition");
  return partition != nullptr && std::get<std::int64_t>(*partition) == static_cast<std::int64_t>(Partition::dirichlet);
}

// The teacher must have the batch norms that a generator's loss compares with.
void CheckBatchNorms(const ResolvedTrial& trial, TrialErrors& errors) {
  if (trial.spec.generator.bn_statistics <= 0 || trial.teacher == nullptr) return;
  const KeyValue* named = TeacherValue(*trial.teacher, "network");
  const std::string name = named != nullptr ? std::get<std::string>(*named) : TrialSpec().network;
  const NetworkDefinition* described = errors.document().FindNetwork(name);
  const NamedNetwork* network = FindNetwork(name);
  if (described != nullptr ? HasBatchNorm(described->layers) : network == nullptr || network->mixes_rows) return;
  if (IsEnsemble(trial.teacher->kind)) return;
  errors.Add({"bn_statistics", "teacher", "method"},
             "bn_statistics compares with the batch norms of the teacher, and \"" + name +
                 "\" has none: set bn_statistics = 0, or name a teacher with batch norms");
}

void CheckDiscriminator(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  if (spec.source != QuerySource::generator) return;
  if (TakesRawAnswers(trial.kind)) return;
  if (spec.generator.discriminator == Discriminator::teacher) return CheckBatchNorms(trial, errors);
  if (spec.generator.pretrain_steps > 0)
    errors.Add({"pretrain_steps"},
               "pretrain_steps train the generator against the teacher: set discriminator = "
               "\"teacher\", or remove them",
               {"teacher"});
  if (spec.generator.bn_statistics > 0)
    errors.Add({"bn_statistics"},
               "bn_statistics are those of the teacher: set discriminator = \"teacher\", or remove "
               "them",
               {"teacher"});
}

// Checks keys that work with a single teacher only.
void CheckEnsemble(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  if (trial.teacher == nullptr || !IsEnsemble(trial.teacher->kind)) return;
  if (spec.release.normalization == Normalization::frobenius && spec.reading != Reading::printed)
    errors.Add({"normalization"},
               "the gradients of an ensemble's members are bounded row by row but in the reading \"printed\": "
               "normalization must be \"row\" or \"clip\"",
               {"row", "clip"});
  if (spec.generator.discriminator == Discriminator::teacher)
    errors.Add({"discriminator"}, "an ensemble is no discriminator: remove discriminator", {"student"});
  if (!spec.release.detach)
    errors.Add({"detach"}, "detach = false follows a single teacher's graph, and \"" + trial.teacher->name +
                               "\" is an ensemble: remove it");
}

// An example's own label is a class, which nobody computes.
void CheckOwnLabels(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  if (!TakesOwnLabels(spec)) return;
  if (spec.distill.loss != DistillationLoss::ce_hard)
    errors.Add({"loss", "label"},
               "label = \"true\" is a class, and the other losses are of a teacher's predictions: "
               "set loss = \"ce-hard\"",
               {"ce-hard"});
  if (!spec.release.detach)
    errors.Add({"detach"},
               "detach = false follows a teacher's graph, and with label = \"true\" none is asked: "
               "remove it");
}

// A mask over the batch lets one answer change every row: only the norm of the batch bounds that.
void CheckMask(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  if (spec.release.mask_over == MaskOver::row || spec.release.normalization == Normalization::frobenius) return;
  errors.Add({"mask_over", "normalization"},
             "mask_over = \"batch\" lets one answer decide what is kept of others: it needs normalization = "
             "\"frobenius\"",
             {"row"});
}

void CheckCandidates(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  const bool response = Releases(trial.kind, ReleaseKind::responses);
  const bool taught = spec.source == QuerySource::generator && spec.labels.vote_label == VoteLabel::argmax;
  if (Releases(trial.kind, ReleaseKind::votes) && !taught) return;
  const std::int64_t classes = spec.data->classes;
  if (classes > 0 && spec.release.top_k > classes)
    errors.Add({"top_k", "method", "data"}, "top_k = " + std::to_string(spec.release.top_k) + " is more than the " +
                                                std::to_string(classes) + " classes of data." + spec.data->name);
  if (response && spec.labels.response_loss == ResponseLoss::likelihood && spec.reading != Reading::working)
    errors.Add({"response_loss", "reading"},
               "the printed equations teach the answers as they are: set response_loss = "
               "\"label\"",
               {"label"});
  if (response && spec.release.response_over == ResponseOver::classes &&
      (HasBranches(spec) || spec.labels.response_loss == ResponseLoss::likelihood))
    errors.Add(
        {"response_over", "response_loss", "method"},
        "response_over = \"classes\" is of equation 5 alone: members of an ensemble answer over their candidates, "
        "and so does what response_loss = \"likelihood\" reckons with",
        {"candidates"});
  if (response && spec.release.top_k == 1)
    errors.Add({"top_k"}, "a response over one class tells nothing and protects nothing: top_k must be at least 2");
  if (response && spec.release.threshold >= 1) errors.Add({"threshold"}, "no class has a probability above 1");
}

void CheckResponses(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  const bool follows = spec.privacy.epsilon > 0 && spec.privacy.calibrate == Calibrate::noise;
  if (spec.release.epsilon0 == 0 && !follows)
    errors.Add({"epsilon0", "method"},
               "a randomised response needs epsilon0, or epsilon with claim and calibrate = \"noise\"",
               {"epsilon0", "epsilon"});
}

// Calibration checks what the other kinds can claim.
void CheckClaim(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  if (spec.privacy.claim == ClaimTarget::none) return;
  const bool labels = Releases(trial.kind, ReleaseKind::labels);
  if (FindTraits(trial.kind).unsolvable == kAddsNoNoise)
    errors.Add({"claim"}, "method \"" + spec.method + "\" adds no noise: it has no finite claim; remove claim",
               {"none"});
  else if (labels && spec.privacy.claim != ClaimTarget::label)
    errors.Add({"claim"}, "method \"" + spec.method + "\" protects labels only: its claim is \"label\"", {"label"});
  else if (!labels && spec.privacy.claim == ClaimTarget::label)
    errors.Add({"claim"}, "claim \"label\" is of methods that release private labels, lp-2st and alibi", {"example"});
}

// Checks that no example decides to which members others go, where the claim protects an example.
// ShardsDependOnExamples says the same of the teacher's trial.
void CheckShards(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  if (spec.privacy.claim != ClaimTarget::example || trial.teacher == nullptr) return;
  if (!IsEnsemble(trial.teacher->kind)) return;
  const auto say = [&](const std::string& why, const std::string& instead) {
    errors.Add({"claim", "teacher"},
               "claim \"example\" needs shards that no example decides: " + why +
                   ", so that one example can change several members; ask for claim \"member\", or " + instead,
               {"member"});
  };
  const std::string data = "data." + spec.data->name;
  if (IsDirichlet(trial.teacher)) return say("a Dirichlet partition depends on all labels", "partition = \"shards\"");
  if (!spec.data->sensitive_classes.empty())
    return say(data + ".sensitive_classes move examples into the private split by their labels",
               "remove sensitive_classes");
  if (spec.data->preprocessing.on_error == OnError::skip_and_count)
    say("with " + data + ".on_error = \"skip-and-count\" the examples behind an unreadable picture move up",
        "on_error = \"fail\"");
}

void CheckFederation(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  if (!HasBranches(spec)) {
    if (spec.release.branch != Branch::data) errors.Add({"branch"}, "branch is of method \"feddpsd\": remove it");
    if (spec.release.trust != Trust::untrusted) errors.Add({"trust"}, "trust is of method \"feddpsd\": remove it");
  }
  CheckShards(trial, errors);
}

// Whether a layer in the middle of the teacher's network could give a hint.
bool GivesHints(const TeacherDefinition& teacher) {
  if (TeacherValue(teacher, "torchscript") != nullptr) return false;
  const KeyValue* network = TeacherValue(teacher, "network");
  const bool logistic = network != nullptr ? std::get<std::string>(*network) == "logistic" : IsEnsemble(teacher.kind);
  return !logistic;
}

void CheckRona(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  if (FollowsAlgorithm(spec) && errors.FindOwn("warm_epochs") != nullptr)
    errors.Add({"warm_epochs"}, "the reading \"" + FormatKey(spec, "reading") +
                                    "\" of rona begins with its first round: remove warm_epochs");
  if (spec.rona.hint_epochs > 0 && trial.teacher != nullptr && !GivesHints(*trial.teacher))
    errors.Add({"hint_epochs", "teacher", "method"},
               "hints are what a layer in the middle of a teacher's network says, and \"" + trial.teacher->name +
                   "\" shows none: set hint_epochs = 0, or name another teacher");
  const std::int64_t open = spec.data->PublicExamples();
  if (spec.data->examples > 0 && open == 0)
    errors.Add({"method", "data"},
               "rona teaches on public examples, and data." + spec.data->name + ".split has no public range");
  if (IsTaughtByVotes(spec) && spec.data->examples > 0 && spec.queries > open)
    errors.Add({"queries"}, "queries = " + std::to_string(spec.queries) + " is more than the " + std::to_string(open) +
                                " public examples of data." + spec.data->name + "; each is answered once");
}

// Whether a procedure can draw images of that shape, as far as it is known.
bool IsDrawable(const DataSpec& data) {
  constexpr std::int64_t kMinSide = 8;
  return data.examples == 0 || data.height == 0 || (data.height == data.width && data.height >= kMinSide);
}

// Votes on drawn images fit their student to all of them at once, so that they are held together.
void CheckDrawnSize(const TrialSpec& spec, TrialErrors& errors) {
  constexpr double kMaxBytes = 8e9;
  const DataSpec& data = *spec.data;
  if (!Releases(FindKind(spec), ReleaseKind::votes) || data.height == 0) return;
  const double bytes = 4.0 * static_cast<double>(spec.steps) * static_cast<double>(spec.batch) *
                       static_cast<double>(data.channels * data.height * data.width);
  if (bytes <= kMaxBytes) return;
  errors.Add({"steps", "batch", "source"},
             "steps times batch are the pictures that are drawn and held in memory: those would be " +
                 std::to_string(static_cast<std::int64_t>(bytes / 1e9)) +
                 " GB, and 8 GB is the most; lower steps or batch");
}

void CheckDrawable(const TrialSpec& spec, TrialErrors& errors) {
  const DataSpec& data = *spec.data;
  if (IsDrawable(data)) return;
  errors.Add({"source", "data"},
             "a procedure draws square pictures of at least 8 pixels a side; those of data." + data.name + " are " +
                 std::to_string(data.height) + "x" + std::to_string(data.width),
             {"generator"});
}

void CheckPublic(const TrialSpec& spec, TrialErrors& errors) {
  if (spec.data->PublicExamples() > 0) return;
  errors.Add({"source", "method"}, "source = \"" + FormatKey(spec, "source") + "\" needs public examples, and data." +
                                       spec.data->name + ".split has no public range");
}

// Checks that the public images can give as many coordinates as are asked for.
void CheckSpectral(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  const DataSpec& data = *spec.data;
  if (spec.labels.neighbours < 1)
    errors.Add({"neighbours"},
               "a picture's place is among the public pictures that are nearest to it: neighbours must be "
               "at least 1");
  const std::int64_t open = data.PublicExamples();
  if (open > 0 && spec.labels.eigenvectors > open)
    errors.Add({"eigenvectors", "data"}, "eigenvectors = " + std::to_string(spec.labels.eigenvectors) +
                                             " is more than the " + std::to_string(open) + " public pictures of data." +
                                             data.name);
}

// Oriented gradients decide which public images are alike, and need a least size.
void CheckOrientations(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  const bool nearest = spec.labels.neighbours > 0 && spec.source == QuerySource::public_split;
  if (!nearest && !ReleasesEmbedding(trial.kind)) return;
  const DataSpec& data = *spec.data;
  const std::int64_t least = FindMinExtent("hog-linear");
  if (data.examples == 0 || data.height == 0 || std::min(data.height, data.width) >= least) return;
  errors.Add({"neighbours", "method", "data"}, "which pictures are near is told by oriented gradients, which need " +
                                                   std::to_string(least) + " pixels a side; those of data." +
                                                   data.name + " are " + std::to_string(data.height) + "x" +
                                                   std::to_string(data.width));
}

// DP-MERF's features are pairs, and its generator doubles its image twice.
void CheckEmbedding(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  constexpr std::int64_t kMultiple = 4;
  const DataSpec& data = *spec.data;
  if (spec.merf.random_features % 2 != 0)
    errors.Add({"random_features"}, "random_features are cosines and sines in equal number: it must be even");
  if (spec.epochs < 1)
    errors.Add({"epochs"}, "the student of dp-merf is trained on what is made: epochs must be at least 1");
  if (data.examples > 0 && !spec.generator.layers && (data.height % kMultiple != 0 || data.width % kMultiple != 0))
    errors.Add({"method", "data"},
               "the generator of dp-merf makes images whose height and width are multiples of 4; those of "
               "data." +
                   data.name + " are " + std::to_string(data.height) + "x" + std::to_string(data.width));
}

// `balance` of public images needs labels that neighbours share.
void CheckBalance(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  if (!spec.distill.balance || spec.source != QuerySource::public_split || spec.labels.neighbours > 0) return;
  errors.Add({"balance", "neighbours"},
             "balance = true of public pictures shares out what their neighbours say, and "
             "neighbours = 0 asks none: set neighbours, or remove balance");
}

void CheckDevices(const ResolvedTrial& trial, TrialErrors& errors) {
  if (trial.spec.devices > 1 && FindTraits(trial.kind).one_device)
    errors.Add({"devices"}, "method \"" + trial.spec.method + "\" runs on one device: remove devices");
}

// What is checked of the keys of a trial that reads examples, in this order, and of which kinds.
struct KeyRule {
  KindMask kinds;
  void (*check)(const ResolvedTrial& trial, TrialErrors& errors);
};
constexpr KindMask kEvery = ~KindMask{0};
constexpr KeyRule kKeyRules[] = {
    {kEvery, CheckClaim},
    {kEvery, CheckDiscriminator},
    {kinds::kGradient, CheckEnsemble},
    {kEvery, CheckOwnLabels},
    {kinds::kGradient, CheckMask},
    {kinds::kGradient | kinds::kResponse | kinds::kVotes, CheckCandidates},
    {kinds::kResponse | kinds::kLabel, CheckResponses},
    {kEvery, CheckFederation},
    {kinds::kQuery, CheckRona},
    {kEvery, CheckBalance},
    {kinds::kSpectral, CheckSpectral},
    {kinds::kVotes | kinds::kLabelled | kinds::kSpectral, CheckOrientations},
    {kinds::kMerf, CheckEmbedding},
    {kEvery, CheckDevices},
};

}  // namespace

std::vector<std::string> ListTeachers(const SweepDocument& document, KindMask kinds) {
  std::vector<std::string> names;
  for (const TeacherDefinition& teacher : document.teachers) {
    if (Holds(kinds, teacher.kind)) names.push_back(teacher.name);
  }
  return names;
}

void CheckReading(const ResolvedTrial& trial, TrialErrors& errors) {
  const MethodTraits& method = *FindMethod(trial.spec.method);
  if (method.readings == 0) {
    if (errors.FindOwn("reading") != nullptr)
      errors.Add({"reading"}, "method \"" + trial.spec.method + "\" has no readings: remove reading");
    return;
  }
  if ((method.readings & MakeMask(trial.spec.reading)) != 0) return;
  const std::vector<std::string> readings = ListReadings(method);
  std::string known;
  for (const std::string& reading : readings) known += (known.empty() ? "\"" : ", \"") + reading + "\"";
  errors.Add({"reading", "method"},
             "method \"" + trial.spec.method + "\" has no reading \"" + FormatKey(trial.spec, "reading") +
                 "\"; it has " + known,
             readings);
}

void CheckTeaching(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  const MethodTraits& method = *FindMethod(spec.method);
  if (method.teachers == 0 || TakesOwnLabels(spec)) return;
  const bool sound = method.readings != 0 && spec.reading == Reading::sound;
  const KindMask fitting = sound ? kSoundTeachers : method.teachers;
  const std::vector<std::string> choices = ListTeachers(errors.document(), fitting);
  if (trial.teacher == nullptr) {
    errors.Add({"method"}, "method \"" + spec.method + "\" needs a teacher: name one of the [teacher] tables", choices);
  } else if (sound && !Holds(fitting, trial.teacher->kind)) {
    errors.Add({"reading", "teacher"},
               "reading \"sound\" needs a teacher that gives a proven claim, one with private = {...} or with "
               "members > 1; " +
                   Quoted(trial),
               choices);
  } else if (!Holds(fitting, trial.teacher->kind)) {
    const bool ensemble = IsEnsemble(trial.teacher->kind);
    const std::string subject = method.readings == 0
                                    ? "method \"" + spec.method + "\""
                                    : "the reading \"" + FormatKey(spec, "reading") + "\" of " + spec.method;
    const bool has_sound = (method.readings & MakeMask(Reading::sound)) != 0;
    errors.Add({"reading", "teacher", "method"},
               subject + (ensemble ? " asks a single teacher; " : " asks an ensemble, one with members > 1; ") +
                   Quoted(trial) +
                   (ensemble && has_sound ? ": use reading \"sound\", or another teacher" : ": name another teacher"),
               ensemble && has_sound ? std::vector<std::string>{"sound"} : choices);
  }
}

void CheckSource(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  const MethodTraits& method = *FindMethod(spec.method);
  if (method.teachers == 0) {
    const std::string split = method.source == QuerySource::public_split ? "public" : "private";
    const Assignment* source = errors.FindOwn("source");
    if (source != nullptr && source->value != KeyValue(static_cast<std::int64_t>(method.source)))
      errors.Add({"source"}, "method \"" + spec.method + "\" trains on the " + split + " split: remove source",
                 {split});
    if (ShowsPublicImages(method.source)) CheckPublic(spec, errors);
    return;
  }
  const SourceMask sources = ListSources(method, trial);
  if ((sources & MakeMask(spec.source)) == 0) {
    const std::vector<std::string> names = SourceNames(sources);
    const bool votes = Releases(trial.kind, ReleaseKind::votes);
    errors.Add({"source", "method"},
               votes ? "an ensemble is asked about generated, procedural or public inputs"
                     : "the teacher of method \"" + spec.method + "\" is asked about " +
                           (names.front() == "generator" ? "generated" : names.front()) + " inputs here",
               names);
    return;
  }
  const std::int64_t multiple = ComputeGeneratorMultiple(spec.data->height, spec.data->width);
  if (spec.source == QuerySource::generator && !spec.generator.layers &&
      (spec.data->height % multiple != 0 || spec.data->width % multiple != 0)) {
    errors.Add({"source", "data"}, "the generator makes images whose height and width are multiples of " +
                                       std::to_string(multiple) + "; those of data." + spec.data->name + " are " +
                                       std::to_string(spec.data->height) + "x" + std::to_string(spec.data->width));
  }
  if (spec.source == QuerySource::procedural) {
    CheckDrawable(spec, errors);
    CheckDrawnSize(spec, errors);
  }
  if (ShowsPublicImages(spec.source) && !Releases(trial.kind, ReleaseKind::losses)) CheckPublic(spec, errors);
}

namespace {

std::vector<std::string> ListGenerators(const SweepDocument& document, std::vector<std::string> zoo) {
  for (const NetworkDefinition& network : document.networks)
    if (network.makes_pictures) zoo.push_back(network.name);
  return zoo;
}

bool HasNoRange(const std::string& layers) {
  const Result<std::vector<NetworkLayer>> list = ParseNetworkLayers(layers);
  return list.ok() && EndsInBatchNorm(*list);
}

// DP-MERF gives its generator a class, and compares pixels.
void CheckClassGenerator(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  const Assignment* own = errors.FindOwn("generator");
  const auto* name = own == nullptr ? nullptr : std::get_if<std::string>(&own->value);
  if (name != nullptr && *name != kClassGenerator && IsNamedGenerator(*name))
    errors.Add({"generator"},
               "method \"" + spec.method + "\" gives its generator the class of each picture, and \"" + *name +
                   "\" takes none: name another generator",
               ListGenerators(errors.document(), {std::string(kClassGenerator)}));
  if (spec.generator.layers && HasNoRange(*spec.generator.layers))
    errors.Add({"generator"},
               "method \"" + spec.method + "\" compares pixels between 0 and 1, and those of [network." +
                   spec.generator.network +
                   "] have no such range, as its batch_norm leaves them: end it in \"sigmoid\" or \"tanh\"");
}

}  // namespace

void CheckGenerator(const ResolvedTrial& trial, TrialErrors& errors) {
  const TrialSpec& spec = trial.spec;
  if (ReleasesEmbedding(trial.kind)) {
    CheckClassGenerator(trial, errors);
  } else if (spec.generator.network == kClassGenerator) {
    errors.Add({"generator"},
               "\"" + spec.generator.network + "\" is given the class of each picture, and method \"" + spec.method +
                   "\" asks about pictures whose class nobody knows: name another generator",
               ListGenerators(errors.document(), {"dafl", "fast"}));
  }
  if (spec.generator.layers && errors.FindOwn("generator_width") != nullptr)
    errors.Add({"generator_width"}, "generator_width is of the zoo's generators, and the layers of [network." +
                                        spec.generator.network + "] have widths of their own: remove generator_width");
}

void CheckMethodKeys(const ResolvedTrial& trial, TrialErrors& errors) {
  for (const KeyRule& rule : kKeyRules)
    if (Holds(rule.kinds, trial.kind)) rule.check(trial, errors);
}

}  // namespace retort
