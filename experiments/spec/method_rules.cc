#include "experiments/spec/method_rules.h"

#include <algorithm>
#include <span>
#include <string>

#include "experiments/spec/methods.h"
#include "experiments/spec/networks.h"
#include "experiments/spec/spec_keys.h"

namespace retort {
namespace {

constexpr KindMask kSoundTeachers = MaskOf(TrialKind::ensemble_teacher) | MaskOf(TrialKind::dpsgd_teacher);

constexpr bool Holds(KindMask kinds, TrialKind kind) { return (kinds & MaskOf(kind)) != 0; }

std::vector<std::string> SourceNames(SourceMask sources) {
  const std::span<const std::string_view> all = FindKey("source", kInTrial)->choices;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((sources >> i & 1U) != 0) names.emplace_back(all[i]);
  return names;
}

// What may be asked: sound students also about public inputs, rona's about nothing else. A teacher that was trained
// privately answers as often as it is asked, and so about mixes of them, too.
SourceMask SourcesOf(const MethodRule& method, const Composition& trial) {
  const bool sound = method.kind == TrialKind::vote_student || trial.spec.reading == Reading::sound;
  if (!sound || method.kind == TrialKind::query_student) return method.sources;
  const SourceMask all =
      MaskOf(QuerySource::generator) | MaskOf(QuerySource::public_split) | MaskOf(QuerySource::procedural);
  return trial.kind == TrialKind::vote_student ? all : all | MaskOf(QuerySource::public_mixes);
}

std::string Quoted(const Composition& trial) {
  return "\"" + trial.teacher->name + "\" is a " + std::string(KindName(trial.teacher->kind));
}

// The value of a key of the teacher's definition, or null.
const KeyValue* TeacherValue(const TeacherDefinition& teacher, std::string_view name) {
  for (const Assignment& assignment : teacher.assignments)
    if (assignment.valid && assignment.key->name == name) return &assignment.value;
  return nullptr;
}

bool IsDirichlet(const TeacherDefinition* teacher) {
  const KeyValue* partition = teacher == nullptr ? nullptr : TeacherValue(*teacher, "partition");
  return partition != nullptr && std::get<std::int64_t>(*partition) == static_cast<std::int64_t>(Partition::dirichlet);
}

// The batch norms that a generator's loss looks at have to be there.
void CheckBatchNorms(const Composition& trial, Judge& judge) {
  if (trial.spec.bn_statistics <= 0 || trial.teacher == nullptr) return;
  const KeyValue* named = TeacherValue(*trial.teacher, "network");
  const std::string name = named != nullptr ? std::get<std::string>(*named) : TrialSpec().network;
  const NamedNetwork* network = FindNetwork(name);
  if (network == nullptr || network->mixes_rows || trial.teacher->kind == TrialKind::ensemble_teacher) return;
  judge.Say({"bn_statistics", "teacher", "method"},
            "bn_statistics compares with the batch norms of the teacher, and \"" + name +
                "\" has none: set bn_statistics = 0, or name a teacher with batch norms");
}

void CheckDiscriminator(const Composition& trial, Judge& judge) {
  const TrialSpec& spec = trial.spec;
  if (spec.source != QuerySource::generator) return;
  if (KindOf(spec) == TrialKind::raw_student) return;
  if (spec.discriminator == Discriminator::teacher) return CheckBatchNorms(trial, judge);
  if (spec.pretrain_steps > 0)
    judge.Say({"pretrain_steps"}, "pretrain_steps train the generator against the teacher: set discriminator = "
                                  "\"teacher\", or remove them", {"teacher"});
  if (spec.bn_statistics > 0)
    judge.Say({"bn_statistics"}, "bn_statistics are those of the teacher: set discriminator = \"teacher\", or remove "
                                 "them", {"teacher"});
}

// What is made for a single teacher.
void CheckEnsemble(const Composition& trial, Judge& judge) {
  const TrialSpec& spec = trial.spec;
  if (trial.kind != TrialKind::gradient_student || trial.teacher == nullptr) return;
  if (trial.teacher->kind != TrialKind::ensemble_teacher) return;
  if (spec.normalization == Normalization::frobenius)
    judge.Say({"normalization"}, "the gradients of an ensemble's members are bounded row by row: normalization must be "
                                 "\"row\" or \"clip\"", {"row", "clip"});
  if (spec.discriminator == Discriminator::teacher)
    judge.Say({"discriminator"}, "an ensemble is no discriminator: remove discriminator", {"student"});
  if (!spec.detach)
    judge.Say({"detach"}, "detach = false follows a single teacher's graph, and \"" + trial.teacher->name +
                              "\" is an ensemble: remove it");
}

void CheckCandidates(const TrialSpec& spec, Judge& judge) {
  const TrialKind kind = KindOf(spec);
  const bool response = kind == TrialKind::response_student;
  const bool generated_votes = kind == TrialKind::vote_student && spec.source == QuerySource::generator &&
                               spec.vote_label == VoteLabel::argmax;
  if (kind != TrialKind::gradient_student && !response && !generated_votes) return;
  const std::int64_t classes = spec.data->classes;
  if (classes > 0 && spec.top_k > classes)
    judge.Say({"top_k", "method", "data"}, "top_k = " + std::to_string(spec.top_k) + " is more than the " +
                                               std::to_string(classes) + " classes of data." + spec.data->name);
  if (response && spec.response_loss == ResponseLoss::likelihood && spec.reading != Reading::working)
    judge.Say({"response_loss", "reading"}, "the printed equations teach the answers as they are: set response_loss = "
                                            "\"label\"", {"label"});
  if (response && spec.top_k == 1)
    judge.Say({"top_k"}, "a response over one class tells nothing and protects nothing: top_k must be at least 2");
  if (response && spec.threshold >= 1)
    judge.Say({"threshold"}, "no class has a probability above 1");
}

void CheckResponses(const TrialSpec& spec, Judge& judge) {
  const TrialKind kind = KindOf(spec);
  if (kind != TrialKind::response_student && kind != TrialKind::label_student) return;
  const bool follows = spec.epsilon > 0 && spec.calibrate == Calibrate::noise;
  if (spec.epsilon0 == 0 && !follows)
    judge.Say({"epsilon0", "method"},
              "a randomised response needs epsilon0, or epsilon with claim and calibrate = \"noise\"",
              {"epsilon0", "epsilon"});
}

// What the other kinds can claim, calibration says.
void CheckClaim(const TrialSpec& spec, Judge& judge) {
  if (spec.claim == ClaimTarget::none) return;
  const TrialKind kind = KindOf(spec);
  const bool labels = kind == TrialKind::label_student;
  if (kind == TrialKind::federated_student || kind == TrialKind::raw_student)
    judge.Say({"claim"}, "method \"" + spec.method + "\" adds no noise: it has no finite claim; remove claim", {"none"});
  else if (labels && spec.claim != ClaimTarget::label)
    judge.Say({"claim"}, "method \"" + spec.method + "\" protects labels only: its claim is \"label\"", {"label"});
  else if (!labels && spec.claim == ClaimTarget::label)
    judge.Say({"claim"}, "claim \"label\" is of methods that release private labels, lp-2st and alibi", {"example"});
}

// That nobody's example decides to which members others go, where an example is what the claim protects. The plan's
// word for ShardsFollowExamples, which reads the teacher's trial.
void CheckShards(const Composition& trial, Judge& judge) {
  const TrialSpec& spec = trial.spec;
  if (spec.claim != ClaimTarget::example || trial.teacher == nullptr) return;
  if (trial.teacher->kind != TrialKind::ensemble_teacher) return;
  const auto say = [&](const std::string& why, const std::string& instead) {
    judge.Say({"claim", "teacher"},
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

void CheckFederation(const Composition& trial, Judge& judge) {
  const TrialSpec& spec = trial.spec;
  if (spec.method != "feddpsd") {
    if (spec.branch != Branch::data) judge.Say({"branch"}, "branch is of method \"feddpsd\": remove it");
    if (spec.trust != Trust::untrusted) judge.Say({"trust"}, "trust is of method \"feddpsd\": remove it");
  }
  CheckShards(trial, judge);
}

// Whether a layer in the middle of the teacher's network could give a hint.
bool GivesHints(const TeacherDefinition& teacher) {
  if (TeacherValue(teacher, "torchscript") != nullptr) return false;
  const KeyValue* network = TeacherValue(teacher, "network");
  const bool logistic = network != nullptr ? std::get<std::string>(*network) == "logistic"
                                           : teacher.kind == TrialKind::ensemble_teacher;
  return !logistic;
}

void CheckRona(const Composition& trial, Judge& judge) {
  const TrialSpec& spec = trial.spec;
  if (KindOf(spec) != TrialKind::query_student) return;
  if (spec.reading == Reading::printed && judge.OwnOf("warm_epochs") != nullptr)
    judge.Say({"warm_epochs"}, "the reading \"printed\" of rona begins with its first round: remove warm_epochs");
  if (spec.hint_epochs > 0 && trial.teacher != nullptr && !GivesHints(*trial.teacher))
    judge.Say({"hint_epochs", "teacher", "method"},
              "hints are what a layer in the middle of a teacher's network says, and \"" + trial.teacher->name +
                  "\" shows none: set hint_epochs = 0, or name another teacher");
  const std::int64_t open = spec.data->PublicExamples();
  if (spec.data->examples > 0 && open == 0)
    judge.Say({"method", "data"}, "rona teaches on public examples, and data." + spec.data->name +
                                      ".split has no public range");
  if (AsksVotes(spec) && spec.data->examples > 0 && spec.queries > open)
    judge.Say({"queries"}, "queries = " + std::to_string(spec.queries) + " is more than the " + std::to_string(open) +
                               " public examples of data." + spec.data->name + "; each is answered once");
}

// Whether a procedure can draw pictures of that shape, as far as it is known.
bool IsDrawable(const DataSpec& data) {
  constexpr std::int64_t kLeastSide = 8;
  return data.examples == 0 || data.height == 0 || (data.height == data.width && data.height >= kLeastSide);
}

// Votes on drawn pictures fit their student to all of them at once, so that they are held together.
void CheckDrawnSize(const TrialSpec& spec, Judge& judge) {
  constexpr double kMostBytes = 8e9;
  const DataSpec& data = *spec.data;
  if (KindOf(spec) != TrialKind::vote_student || data.height == 0) return;
  const double bytes = 4.0 * static_cast<double>(spec.steps) * static_cast<double>(spec.batch) *
                       static_cast<double>(data.channels * data.height * data.width);
  if (bytes <= kMostBytes) return;
  judge.Say({"steps", "batch", "source"},
            "steps times batch are the pictures that are drawn and held in memory: those would be " +
                std::to_string(static_cast<std::int64_t>(bytes / 1e9)) + " GB, and 8 GB is the most; lower steps or batch");
}

void CheckDrawable(const TrialSpec& spec, Judge& judge) {
  const DataSpec& data = *spec.data;
  if (IsDrawable(data)) return;
  judge.Say({"source", "data"}, "a procedure draws square pictures of at least 8 pixels a side; those of data." +
                                    data.name + " are " + std::to_string(data.height) + "x" +
                                    std::to_string(data.width),
            {"generator"});
}

void CheckPublic(const TrialSpec& spec, Judge& judge) {
  if (spec.data->PublicExamples() > 0) return;
  judge.Say({"source", "method"}, "source = \"" + KeyText(spec, "source") + "\" needs public examples, and data." +
                                      spec.data->name + ".split has no public range");
}

// A place among the public pictures, of as many coordinates as they can give.
void CheckSpectral(const TrialSpec& spec, Judge& judge) {
  if (KindOf(spec) != TrialKind::spectral_student) return;
  const DataSpec& data = *spec.data;
  if (spec.neighbours < 1)
    judge.Say({"neighbours"}, "a picture's place is among the public pictures that are nearest to it: neighbours must be "
                              "at least 1");
  const std::int64_t open = data.PublicExamples();
  if (open > 0 && spec.eigenvectors > open)
    judge.Say({"eigenvectors", "data"}, "eigenvectors = " + std::to_string(spec.eigenvectors) + " is more than the " +
                                            std::to_string(open) + " public pictures of data." + data.name);
}

// Oriented gradients tell which public pictures are alike, and what drawn ones show.
void CheckOrientations(const TrialSpec& spec, Judge& judge) {
  const TrialKind kind = KindOf(spec);
  const bool nearest = spec.neighbours > 0 && spec.source == QuerySource::public_split &&
                       (kind == TrialKind::vote_student || kind == TrialKind::labelled_student);
  if (!nearest && kind != TrialKind::spectral_student) return;
  const DataSpec& data = *spec.data;
  const std::int64_t least = LeastExtent("hog-linear");
  if (data.examples == 0 || data.height == 0 || std::min(data.height, data.width) >= least) return;
  judge.Say({"neighbours", "method", "data"},
            "which pictures are near is told by oriented gradients, which need " + std::to_string(least) +
                " pixels a side; those of data." + data.name + " are " + std::to_string(data.height) + "x" +
                std::to_string(data.width));
}

// DP-MERF's features are pairs, and its generator doubles its image twice.
void CheckEmbedding(const TrialSpec& spec, Judge& judge) {
  if (KindOf(spec) != TrialKind::merf_student) return;
  constexpr std::int64_t kMultiple = 4;
  const DataSpec& data = *spec.data;
  if (spec.random_features % 2 != 0)
    judge.Say({"random_features"}, "random_features are cosines and sines in equal number: it must be even");
  if (spec.epochs < 1) judge.Say({"epochs"}, "the student of dp-merf is trained on what is made: epochs must be at least 1");
  if (data.examples > 0 && (data.height % kMultiple != 0 || data.width % kMultiple != 0))
    judge.Say({"method", "data"}, "the generator of dp-merf makes images whose height and width are multiples of 4; those of "
                                  "data." + data.name + " are " + std::to_string(data.height) + "x" +
                                      std::to_string(data.width));
}

// What shifts the labels that neighbours share has nothing to shift where they share none.
void CheckBalance(const TrialSpec& spec, Judge& judge) {
  if (!spec.balance || spec.source != QuerySource::public_split || spec.neighbours > 0) return;
  judge.Say({"balance", "neighbours"}, "balance = true of public pictures shares out what their neighbours say, and "
                                       "neighbours = 0 asks none: set neighbours, or remove balance");
}

void CheckDevices(const TrialSpec& spec, Judge& judge) {
  constexpr KindMask kAlone = MaskOf(TrialKind::query_student) | MaskOf(TrialKind::raw_student);
  if (spec.devices > 1 && Holds(kAlone, KindOf(spec)))
    judge.Say({"devices"}, "method \"" + spec.method + "\" runs on one device: remove devices");
}

}  // namespace

std::vector<std::string> TeachersOf(const SweepDocument& document, KindMask kinds) {
  std::vector<std::string> names;
  for (const TeacherDefinition& teacher : document.teachers) {
    if (Holds(kinds, teacher.kind)) names.push_back(teacher.name);
  }
  return names;
}

void CheckReading(const Composition& trial, Judge& judge) {
  const MethodRule& method = *FindMethod(trial.spec.method);
  if (method.readings == 0) {
    if (judge.OwnOf("reading") != nullptr)
      judge.Say({"reading"}, "method \"" + trial.spec.method + "\" has no readings: remove reading");
    return;
  }
  if ((method.readings & MaskOf(trial.spec.reading)) != 0) return;
  const std::vector<std::string> readings = ReadingsOf(method);
  std::string known;
  for (const std::string& reading : readings) known += (known.empty() ? "\"" : ", \"") + reading + "\"";
  judge.Say({"reading", "method"}, "method \"" + trial.spec.method + "\" has no reading \"" +
                                       KeyText(trial.spec, "reading") + "\"; it has " + known, readings);
}

void CheckTeaching(const Composition& trial, Judge& judge) {
  const TrialSpec& spec = trial.spec;
  const MethodRule& method = *FindMethod(spec.method);
  if (method.teachers == 0) return;
  const bool sound = method.readings != 0 && spec.reading == Reading::sound;
  const KindMask fitting = sound ? kSoundTeachers : method.teachers;
  const std::vector<std::string> choices = TeachersOf(judge.document(), fitting);
  if (trial.teacher == nullptr) {
    judge.Say({"method"}, "method \"" + spec.method + "\" needs a teacher: name one of the [teacher] tables", choices);
  } else if (sound && !Holds(fitting, trial.teacher->kind)) {
    judge.Say({"reading", "teacher"},
              "reading \"sound\" needs a teacher that gives a proven claim, one with private = {...} or with "
              "members > 1; " + Quoted(trial),
              choices);
  } else if (!Holds(fitting, trial.teacher->kind)) {
    const bool ensemble = trial.teacher->kind == TrialKind::ensemble_teacher;
    const std::string subject = method.readings == 0
                                    ? "method \"" + spec.method + "\""
                                    : "the reading \"" + KeyText(spec, "reading") + "\" of " + spec.method;
    const bool has_sound = (method.readings & MaskOf(Reading::sound)) != 0;
    judge.Say({"reading", "teacher", "method"},
              subject + (ensemble ? " asks a single teacher; " : " asks an ensemble, one with members > 1; ") +
                  Quoted(trial) +
                  (ensemble && has_sound ? ": use reading \"sound\", or another teacher" : ": name another teacher"),
              ensemble && has_sound ? std::vector<std::string>{"sound"} : choices);
  }
}

void CheckSource(const Composition& trial, Judge& judge) {
  const TrialSpec& spec = trial.spec;
  const MethodRule& method = *FindMethod(spec.method);
  if (method.teachers == 0) {
    const std::string split = method.source == QuerySource::public_split ? "public" : "private";
    const Assignment* source = judge.OwnOf("source");
    if (source != nullptr && source->value != KeyValue(static_cast<std::int64_t>(method.source)))
      judge.Say({"source"}, "method \"" + spec.method + "\" trains on the " + split + " split: remove source", {split});
    if (ShowsPublicPictures(method.source)) CheckPublic(spec, judge);
    return;
  }
  const SourceMask sources = SourcesOf(method, trial);
  if ((sources & MaskOf(spec.source)) == 0) {
    const std::vector<std::string> names = SourceNames(sources);
    const bool votes = trial.kind == TrialKind::vote_student;
    judge.Say({"source", "method"},
              votes ? "an ensemble is asked about generated, procedural or public inputs"
                    : "the teacher of method \"" + spec.method + "\" is asked about " +
                          (names.front() == "generator" ? "generated" : names.front()) + " inputs here",
              names);
    return;
  }
  const std::int64_t multiple = GeneratorMultiple(spec.data->height, spec.data->width);
  if (spec.source == QuerySource::generator &&
      (spec.data->height % multiple != 0 || spec.data->width % multiple != 0)) {
    judge.Say({"source", "data"}, "the generator makes images whose height and width are multiples of " +
                                      std::to_string(multiple) + "; those of data." + spec.data->name + " are " +
                                      std::to_string(spec.data->height) + "x" + std::to_string(spec.data->width));
  }
  if (spec.source == QuerySource::procedural) {
    CheckDrawable(spec, judge);
    CheckDrawnSize(spec, judge);
  }
  if (ShowsPublicPictures(spec.source) && trial.kind != TrialKind::query_student) CheckPublic(spec, judge);
}

void CheckMethodKeys(const Composition& trial, Judge& judge) {
  CheckClaim(trial.spec, judge);
  CheckDiscriminator(trial, judge);
  CheckEnsemble(trial, judge);
  CheckCandidates(trial.spec, judge);
  CheckResponses(trial.spec, judge);
  CheckFederation(trial, judge);
  CheckRona(trial, judge);
  CheckBalance(trial.spec, judge);
  CheckSpectral(trial.spec, judge);
  CheckOrientations(trial.spec, judge);
  CheckEmbedding(trial.spec, judge);
  CheckDevices(trial.spec, judge);
}

}  // namespace retort
