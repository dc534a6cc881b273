// One row a key. To add a key: add the field to TrialSpec with its default, and one Row, Choice or
// Duration line to kKeys; the parser, identity, JSON, `retort schema` and KEYS.md follow from it.
//   kinds        the kinds of trials whose result it changes (kGradient, kVotes, ...): part of identity
//                for these, and an error where it reaches none of them
//   Generated    also these kinds, where the source is the generator;  Public: the public split;
//   Procedural: a procedure;  Made: the generator or a procedure
//   Only         where it may be written, when that does not follow from the kinds
//   Inherited    teachers take it from [trial];  Execution: inherited, and not identity
//   Quiet        these kinds' identity holds it only where it is not the default
//   ZeroIs       a count that may be written as a word, which is held as 0
// A default that differs between kinds of trials is one more line in presets.cc. experiments/KEYS.md is
// compared by spec_test, which writes what it expects into the build folder.
#include "experiments/methods/spec_keys.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/networks.h"

namespace retort {
namespace {

// The masks and builders that the rows of the key table are written with.

using namespace kinds;

constexpr KindMask kGenerating =
    kGradient | kResponse | kRaw | kDistilled | kVotes;  // where the source is the generator
constexpr KindMask kDrawing = kGenerating & ~kRaw;       // where the source is procedural
constexpr KindMask kAsking = SelectKinds(AsksTeacher);
constexpr KindMask kPasses = kPlain | kMerf | kLabel | kFederated;  // that go over labelled examples in epochs
constexpr KindMask kTeachers = SelectKinds(IsTeacher);
constexpr KindMask kTrained = kTeachers & ~kLoaded;
constexpr KindMask kStudents = SelectKinds([](TrialKind kind) { return !IsTeacher(kind) && !IsSleeper(kind); });
constexpr KindMask kAll = kTrained | kStudents;  // that train something

// The member that a path of member pointers leads to: <&TrialSpec::release, &ReleaseValues::sigma>.
template <auto... Path>
decltype(auto) Member(auto& spec) {
  return (spec.*....*Path);
}
template <auto... Path>
using FieldType = std::remove_cvref_t<decltype(Member<Path...>(std::declval<TrialSpec&>()))>;

template <auto... Path>
KeyValue Get(const TrialSpec& spec) {
  using T = FieldType<Path...>;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>)
    return Member<Path...>(spec);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(Member<Path...>(spec));
  else
    return static_cast<std::int64_t>(Member<Path...>(spec));
}

template <auto... Path>
void Set(TrialSpec& spec, const KeyValue& value) {
  using T = FieldType<Path...>;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>)
    Member<Path...>(spec) = std::get<T>(value);
  else if constexpr (std::is_floating_point_v<T>)
    Member<Path...>(spec) = static_cast<T>(std::get<double>(value));
  else
    Member<Path...>(spec) = static_cast<T>(std::get<std::int64_t>(value));
}

constexpr std::uint8_t FindPlaces(KindMask kinds) {
  return static_cast<std::uint8_t>(((kinds & (kStudents | kSleep)) != 0 ? kInTrial : kNowhere) |
                                   ((kinds & kTeachers) != 0 ? kInTeacher : kNowhere));
}

template <auto... Path>
constexpr SpecKey Row(std::string_view name, Limits limits, KindMask kinds, std::string_view doc) {
  using T = FieldType<Path...>;
  SpecKey key;
  key.name = name;
  key.type = std::is_same_v<T, bool> ? KeyType::flag : std::is_floating_point_v<T> ? KeyType::number : KeyType::count;
  key.get = Get<Path...>;
  key.set = Set<Path...>;
  key.limits = limits;
  key.kinds = kinds;
  key.places = FindPlaces(kinds);
  key.doc = doc;
  return key;
}

template <auto... Path>
constexpr SpecKey Choice(std::string_view name, std::span<const std::string_view> choices, KindMask kinds,
                         std::string_view doc) {
  SpecKey key = Row<Path...>(name, {}, kinds, doc);
  key.type = KeyType::choice;
  key.choices = choices;
  key.indexed = std::is_enum_v<FieldType<Path...>>;
  return key;
}

template <auto... Path>
constexpr SpecKey Duration(std::string_view name, Limits limits, KindMask kinds, std::string_view doc) {
  SpecKey key = Row<Path...>(name, limits, kinds, doc);
  key.type = KeyType::duration;
  return key;
}

template <auto... Path>
constexpr SpecKey Text(std::string_view name, KeyType type, KindMask kinds, std::string_view doc) {
  SpecKey key = Row<Path...>(name, {}, kinds, doc);
  key.type = type;
  key.identity = type != KeyType::path;
  return key;
}

template <auto... Path>
constexpr SpecKey Indices(std::string_view name, Limits limits, KindMask kinds, std::string_view doc) {
  SpecKey key = Row<Path...>(name, limits, kinds, doc);
  key.type = KeyType::indices;
  return key;
}

constexpr SpecKey Named(std::string_view name, KeyValue (*get)(const TrialSpec&), KindMask kinds,
                        std::string_view doc) {
  SpecKey key;
  key.name = name;
  key.type = KeyType::name;
  key.get = get;
  key.kinds = kinds;
  key.places = kInTrial;
  key.identity = false;  // the digest and the parent's id stand for them
  key.doc = doc;
  return key;
}

constexpr SpecKey As(std::string_view trial_name, SpecKey key) {
  key.trial_name = trial_name;
  return key;
}
constexpr SpecKey Only(std::uint8_t places, SpecKey key) {
  key.places = places;
  return key;
}
constexpr SpecKey ZeroIs(std::string_view word, SpecKey key) {
  key.zero_word = word;
  return key;
}
constexpr SpecKey Inherited(SpecKey key) {
  key.inherited = true;
  return key;
}
constexpr SpecKey Execution(SpecKey key) {
  key.identity = false;
  key.inherited = true;
  return key;
}
// Used by trials of these kinds too, where that is their source.
constexpr SpecKey WithSource(QuerySource source, KindMask kinds, SpecKey key) {
  key.source_kinds.at(static_cast<std::size_t>(source)) = kinds;
  key.places = static_cast<std::uint8_t>(key.places | FindPlaces(kinds));
  return key;
}
constexpr SpecKey Generated(KindMask kinds, SpecKey key) { return WithSource(QuerySource::generator, kinds, key); }
constexpr SpecKey Procedural(KindMask kinds, SpecKey key) { return WithSource(QuerySource::procedural, kinds, key); }
constexpr SpecKey Public(KindMask kinds, SpecKey key) { return WithSource(QuerySource::public_split, kinds, key); }
constexpr SpecKey Mixed(KindMask kinds, SpecKey key) { return WithSource(QuerySource::public_mixes, kinds, key); }
// Used by these kinds too, where their queries are made: by the generator or a procedure.
constexpr SpecKey Made(KindMask kinds, SpecKey key) { return Generated(kinds, Procedural(kinds, key)); }
constexpr SpecKey Quiet(KindMask kinds, SpecKey key) {
  key.quiet = kinds;
  return key;
}
constexpr SpecKey Quiet(SpecKey key) { return Quiet(key.kinds, key); }

// Used by students that are fitted to a set of labelled images, public or drawn.
constexpr SpecKey Fitted(SpecKey key) { return Procedural(kVotes, Public(kVotes | kLabelled | kSpectral, key)); }

constexpr Limits From(double least, double most) { return {least, most, false}; }
constexpr Limits Above(double least, double most) { return {least, most, true}; }
constexpr Limits kCounts = From(1, 1e12);
constexpr Limits kFraction = From(0, 1);
constexpr Limits kWeight = From(0, 1e6);
constexpr Limits kRate = Above(0, 1e6);

KeyValue DataName(const TrialSpec& spec) { return spec.data ? spec.data->name : std::string(); }

// Orders are those of the enumerations.
constexpr auto kMethods = [] {
  std::array<std::string_view, kMethodTraits.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kMethodTraits[i].name;
  return names;
}();
constexpr std::array<std::string_view, 5> kReadings = {"working", "printed", "row-averaged", "sound", "stated"};
constexpr std::array<std::string_view, 2> kNoiseModes = {"secure", "seeded"};
constexpr std::array<std::string_view, 5> kSources = {"generator", "public", "private", "procedural", "public-mixes"};
constexpr std::array<std::string_view, 2> kPictures = {"writing", "natural"};
constexpr std::array<std::string_view, 3> kNormalizations = {"row", "frobenius", "clip"};
constexpr std::array<std::string_view, 8> kClaims = {"none",    "paper",  "answer",  "slot",
                                                     "teacher", "member", "example", "label"};
constexpr std::array<std::string_view, 3> kCalibrations = {"none", "noise", "steps"};
constexpr std::array<std::string_view, 2> kPackModes = {"off", "auto"};
constexpr std::array<std::string_view, 2> kGraphModes = {"off", "auto"};
constexpr std::array<std::string_view, 3> kStopMetrics = {"none", "loss", "test.accuracy"};
constexpr std::array<std::string_view, 4> kLosses = {"dkd", "kd", "ce-hard", "dkd-printed"};
constexpr std::array<std::string_view, 2> kGradientsOf = {"logits", "probabilities"};
constexpr std::array<std::string_view, 2> kGradientTargets = {"step", "gradient"};
constexpr std::array<std::string_view, 2> kResponsesOver = {"candidates", "classes"};
constexpr std::array<std::string_view, 2> kMasksBy = {"magnitude", "value"};
constexpr std::array<std::string_view, 2> kMasksOver = {"row", "batch"};
constexpr std::array<std::string_view, 6> kAugments = {"none",   "shift",  "crop-flip", "random-resized-crop",
                                                       "affine", "elastic"};
constexpr std::array<std::string_view, 3> kPrecisions = {"float32", "bfloat16", "tf32"};
constexpr std::array<std::string_view, 2> kOptimizers = {"adam", "sgd"};
constexpr std::array<std::string_view, 2> kInitialisations = {"as-defined", "xavier"};
constexpr std::array<std::string_view, 3> kSchedules = {"linear", "cosine", "step"};
constexpr std::array<std::string_view, 3> kGeneratorForms = {"dafl", "printed", "printed-sums"};
constexpr std::array<std::string_view, 2> kDiscriminators = {"student", "teacher"};
constexpr std::array<std::string_view, 2> kImageLabels = {"teacher", "true"};
constexpr std::array<std::string_view, 2> kResponseLosses = {"label", "likelihood"};
constexpr std::array<std::string_view, 2> kBranches = {"data", "label"};
constexpr std::array<std::string_view, 2> kTrusts = {"untrusted", "trusted"};
constexpr std::array<std::string_view, 2> kVoteLabels = {"posterior", "argmax"};
constexpr std::array<std::string_view, 2> kClippings = {"flat", "per-layer"};
constexpr std::array<std::string_view, 2> kPartitions = {"shards", "dirichlet"};
constexpr std::array<std::string_view, 3> kTrainedOns = {"private", "all", "public"};
constexpr std::array<std::string_view, 4> kSelections = {"k-centre", "random", "margin", "diverse"};
constexpr std::array<std::string_view, 3> kActivations = {"as-defined", "relu", "tanh"};
constexpr auto kNetworks = [] {
  std::array<std::string_view, kNamedNetworks.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kNamedNetworks[i].name;
  return names;
}();

using S = TrialSpec;
constexpr SpecKey kKeys[] = {
    Only(kInTrial,
         Choice<&S::method>(
             "method", kMethods, kAll | kSleep,
             "how the student is trained; a teacher's follows from its definition (plain, ensemble, dpsgd, dp-gd, "
             "loaded); "
             "sleep: not at all, for tests and benches of the scheduler")),
    Choice<&S::reading>("reading", kReadings, kAsking & ~kRaw, "which reading of the paper's equations"),
    Named(
        "teacher", [](const S& s) -> KeyValue { return s.teacher; }, kAsking, "name of the [teacher] that answers"),
    Named("data", DataName, kAll | kLoaded, "name of the [data] set; may be left out when there is only one"),
    As("student", Choice<&S::network>("network", kNetworks, kAll | kLoaded,
                                      "the network that is trained, or that weights are for")),
    Text<&S::weights>(
        "weights", KeyType::path, kLoaded,
        "file of a network's parameters: state dict of PyTorch (.pth, .pt), .safetensors or .npz; "
        "relative to the sweep file, ${VAR} is expanded; every name and shape has to fit. Or torchvision's "
        "name of a file in the cache of torch.hub, as ResNet34_Weights.IMAGENET1K_V1"),
    Text<&S::torchscript>("torchscript", KeyType::path, kLoaded,
                          "file of a TorchScript module, images to logits, instead of network and weights"),
    Only(kNowhere,
         Text<&S::weights_digest>("weights_digest", KeyType::text, kLoaded, "SHA-256 of that file, as planned")),
    Quiet(Indices<&S::outputs>(
        "outputs", From(0, 1e6), kLoaded,
        "which outputs of the file are the data set's classes, in the order of the classes, where it has others: "
        "the teacher answers with these logits alone; empty: it has one for each class")),
    Only(kNowhere, Row<&S::seed>("seed", From(0, 9e15), kAll | kSleep,
                                 "from sweep.seeds: fixes initialisation, order and latents")),
    Only(kInTrial,
         Inherited(Choice<&S::noise>(
             "noise", kNoiseModes, kGradient | kResponse | kQuery | kVotes | kDpsgd | kMerf | kLabel | kSpectral,
             "where privacy noise comes from; seeded is for tests, and every claim of it is unbounded"))),
    Inherited(Row<&S::threads>("threads", From(1, 1024), kAll | kLoaded,
                               "CPU threads inside an operation; sums depend on it")),
    Row<&S::devices>("devices", From(1, 4096), kAll | kSleep,
                     "gang size, 1 for methods rona and dense; sums depend on it"),

    Only(kInTrial, Inherited(Row<&S::privacy, &PrivacyTarget::delta>("delta", {0, 0x1.fffffffffffffp-1, true},
                                                                     kStudents | kDpsgd, "delta of every claim"))),
    Only(kInTrial, Row<&S::privacy, &PrivacyTarget::epsilon>("epsilon", From(0, 1e6), kStudents | kDpsgd,
                                                             "epsilon asked for; needs claim and calibrate; 0 = none")),
    Only(kInTrial, Choice<&S::privacy, &PrivacyTarget::claim>("claim", kClaims, kStudents | kDpsgd,
                                                              "the claim that epsilon is about")),
    Only(kInTrial, Choice<&S::privacy, &PrivacyTarget::calibrate>(
                       "calibrate", kCalibrations, kStudents | kDpsgd,
                       "what epsilon decides: the noise at the given releases, or the releases at the given noise")),

    Made(kVotes, Row<&S::steps>("steps", kCounts, kGradient | kResponse | kRaw | kDistilled | kDpsgd | kMerf | kSleep,
                                "releases of a batch (votes on drawn pictures: batches that are drawn), optimiser "
                                "steps (dpsgd; dp-merf: of its generator), or naps (sleep)")),
    Row<&S::seconds>("seconds", Above(0, 1e7), kSleep, "how long all steps of a sleeping trial take together"),
    Row<&S::epochs>("epochs", From(0, 1e12), kPasses | kEnsemble,
                    "passes over the training examples, of fedavg in each round; 0 leaves a plain teacher's "
                    "parameters as drawn"),
    ZeroIs("full", Row<&S::batch>("batch", From(1, 1e7), kAll & ~kSpectral,
                                  "rows of one step over all devices; the expected size under Poisson sampling "
                                  "(dpsgd); \"full\", of dp-gd and of teachers with private = {...}: every step takes "
                                  "all private examples")),
    Row<&S::members>("members", From(1, 1e6), kEnsemble,
                     "networks on disjoint shards; more than one makes an ensemble"),
    Quiet(kPlain, Choice<&S::trained_on>("trained_on", kTrainedOns, kPlain,
                                         "the examples that the teacher sees: those of the private split, of the "
                                         "public one, or both")),
    Quiet(Choice<&S::shards, &ShardValues::partition>(
        "partition", kPartitions, kEnsemble,
        "how the private examples are shared out: equal shards by index, or by a Dirichlet draw "
        "a class")),
    Quiet(kEnsemble,
          Row<&S::shards, &ShardValues::dirichlet_alpha>("dirichlet_alpha", Above(0, 1e6), kEnsemble | kFederated,
                                                         "concentration of the Dirichlet draws: small is uneven")),
    Quiet(kEnsemble, Row<&S::shards, &ShardValues::ridge>(
                         "ridge", From(0, 1e9), kEnsemble,
                         "strength of the ridge regression to one-hot labels that fits each member's last "
                         "layer in closed form, of networks whose other layers are frozen; 0 = by gradient "
                         "steps")),
    Row<&S::queries>("queries", From(0, 1e9), kVotes | kQuery, "noisy-vote answers in all"),

    Choice<&S::source>(
        "source", kSources, kStudents,
        "where the inputs come from that the teacher is asked about; public-mixes: public pictures, "
        "alone, blended and patched in pairs; of a method without a teacher what its student sees: public "
        "(dp-spectral) or private"),
    Procedural(kDrawing, Choice<&S::inputs, &InputValues::pictures>(
                             "pictures", kPictures, 0,
                             "that the procedure draws: writing (strokes and blobs; it knows what "
                             "digits look like) or natural (dead leaves and 1/f noise)")),
    Row<&S::release, &ReleaseValues::sigma>("sigma", From(1e-6, 1e6), kGradient | kQuery,
                                            "noise over norm bound, as the papers print it; what can be drawn exactly"),
    Only(kInTrial, Row<&S::release, &ReleaseValues::norm_bound>(
                       "norm_bound", From(1e-9, 1e9), kGradient | kQuery | kDpsgd,
                       "C, the bound on the norm of a gradient; per example for dpsgd; rona: on a loss, "
                       "where adaptive_bound = false")),
    Choice<&S::release, &ReleaseValues::normalization>(
        "normalization", kNormalizations, kGradient,
        "how the bound is kept: each row to norm C, the batch to Frobenius norm C, or clip"),
    Row<&S::release, &ReleaseValues::normalization_floor>(
        "normalization_floor", From(1e-12, 1), kGradient,
        "e in g / (|g| + e); below its least value a gradient of rounding errors would be taken for one"),
    Only(kInTrial, Row<&S::release, &ReleaseValues::noise_multiplier>(
                       "noise_multiplier", From(0, 1e6), kDpsgd | kMerf | kSpectral,
                       "noise over norm bound of a DP-SGD step, or of the one embedding that dp-merf and "
                       "dp-spectral release; 0 = from epsilon by calibrate")),
    Quiet(Choice<&S::release, &ReleaseValues::clipping>(
        "clipping", kClippings, kDpsgd,
        "of an example's gradient: flat to norm C, or each layer's part to C / sqrt(layers)")),
    Quiet(Row<&S::release, &ReleaseValues::augment_multiplicity>(
        "augment_multiplicity", From(1, 1024), kDpsgd,
        "augmented copies of an example, whose mean gradient is clipped once")),
    Quiet(Row<&S::optimization, &OptimizationValues::averaging>(
        "averaging", {0, 0.999999, false}, kDpsgd,
        "weight of the past in a running mean of the parameters, which is what is kept; 0 = the "
        "last parameters")),
    Quiet(Choice<&S::activation>("activation", kActivations, kDpsgd,
                                 "of the trained network, in place of the one its definition says")),
    Row<&S::release, &ReleaseValues::vote_noise>(
        "vote_noise", From(0, 1048576), kVotes | kQuery,
        "standard deviation of the noise on a vote count, in votes of a member; 0 = from epsilon by calibrate"),
    Quiet(Row<&S::release, &ReleaseValues::grain>(
        "grain", From(1, 1024), kVotes | kQuery,
        "parts of a member's vote: 1 = all to its first class (noisy votes), more = "
        "floor(grain * softmax) to every class (noisy probabilities)")),
    Quiet(Row<&S::release, &ReleaseValues::vote_threshold>(
        "vote_threshold", From(0, 1e6), kVotes,
        "votes of the first class, with noise, from which on a query is answered by that class alone "
        "(Confident-GNMax); needs threshold_noise")),
    Quiet(Row<&S::release, &ReleaseValues::threshold_noise>(
        "threshold_noise", From(0, 1048576), kVotes,
        "standard deviation of that noise, which every query pays, in votes; 0 = no threshold: every query is "
        "answered")),
    Quiet(Row<&S::release, &ReleaseValues::answers>(
        "answers", From(0, 1e9), kVotes,
        "most queries that are answered where there is a threshold, and what is charged for; 0 = as many as queries")),
    Quiet(Row<&S::release, &ReleaseValues::vote_cost>(
        "vote_cost", From(0, 1e6), kVotes,
        "most that the answers may cost on the votes at hand, by Renyi differential privacy of order vote_order: "
        "tested "
        "with noise before the first is given; 0 = not tested, and the claims are those of any votes")),
    Quiet(Row<&S::release, &ReleaseValues::vote_order>("vote_order", From(1.01, 1000), kVotes,
                                                       "order at which vote_cost is tested")),
    Quiet(Row<&S::release, &ReleaseValues::cost_noise>(
        "cost_noise", From(0.015625, 256), kVotes,
        "standard deviation of the noise of that test, in smooth sensitivities of the cost")),
    Quiet(kVotes | kLabelled,
          Public(kVotes | kLabelled,
                 Row<&S::labels, &LabelValues::neighbours>(
                     "neighbours", From(0, 1000), kSpectral,
                     "nearest public pictures, by oriented gradients, that share a picture's released "
                     "labels; 0 = labels stay where they were released; dp-spectral: that say where "
                     "among the public pictures a picture lies, at least 1"))),
    Quiet(kVotes | kLabelled, Public(kVotes | kLabelled, Row<&S::labels, &LabelValues::propagation>(
                                                             "propagation", {0, 0.9999, false}, 0,
                                                             "share of a label that comes from the neighbours"))),
    Row<&S::labels, &LabelValues::eigenvectors>(
        "eigenvectors", From(1, 4096), kSpectral,
        "leading ones of the graph that joins every public picture with its neighbours: the coordinates "
        "of the released class sums; fewer bear more noise, more tell pictures apart"),
    Quiet(kVotes,
          Procedural(kVotes,
                     Public(kVotes, Row<&S::labels, &LabelValues::refit>(
                                        "refit", {}, 0,
                                        "relabels every image of the set by votes and student together and fits once "
                                        "more; false: the student sees the answered queries alone")))),
    Row<&S::release, &ReleaseValues::detach>(
        "detach", {}, kGradient, "false lets teacher Jacobians reach the generator: every claim becomes unbounded"),
    Quiet(kGradient | kVotes,
          Generated(kVotes, Row<&S::release, &ReleaseValues::top_k>(
                                "top_k", From(0, 65536), kGradient | kResponse,
                                "entries of a gradient row that are kept, the largest; of responses, and of votes "
                                "that are taught by argmax, how many of the student's classes are candidates; 0 = "
                                "all, or those above threshold"))),
    Quiet(Choice<&S::release, &ReleaseValues::gradient_of>(
        "gradient_of", kGradientsOf, kGradient,
        "what the loss is differentiated by: the student's logits, or its probabilities, each as if it were free")),
    Quiet(Choice<&S::release, &ReleaseValues::mask_by>(
        "mask_by", kMasksBy, kGradient, "which entries top_k keeps: the largest by magnitude, or by value")),
    Quiet(Choice<&S::release, &ReleaseValues::mask_over>(
        "mask_over", kMasksOver, kGradient,
        "where top_k looks for them: in each row, or in the whole batch, which needs normalization = \"frobenius\"")),
    Quiet(kVotes,
          Generated(
              kVotes,
              Row<&S::release, &ReleaseValues::threshold>(
                  "threshold", {0, 1, false}, kResponse,
                  "student probability above which a class is a candidate besides the top_k; 0 = no other, and where "
                  "top_k = 0 1 / (2 classes)"))),
    Choice<&S::labels, &LabelValues::response_loss>(
        "response_loss", kResponseLosses, kResponse,
        "what the student learns: the class answered (label), or by how likely each class made "
        "that answer over those candidates (likelihood)"),
    Only(kInTrial,
         Row<&S::release, &ReleaseValues::epsilon0>("epsilon0", From(0, 1e3), kResponse | kLabel,
                                                    "of one randomised response; 0 = from epsilon by calibrate")),
    Quiet(Choice<&S::release, &ReleaseValues::response_over>(
        "response_over", kResponsesOver, kResponse,
        "over which classes a response is drawn where the teacher's is a candidate: the candidates, or all classes, "
        "whose answers tell that it was one: claims become unbounded unless top_k is all classes")),
    Quiet(kGradient, Choice<&S::release, &ReleaseValues::branch>(
                         "branch", kBranches, kGradient | kResponse,
                         "of feddpsd: noisy gradients (data) or randomised responses (label)")),
    Quiet(Choice<&S::release, &ReleaseValues::trust>(
        "trust", kTrusts, kGradient,
        "of feddpsd: every client adds the noise itself (untrusted), or the server once "
        "(trusted)")),
    Quiet(Choice<&S::labels, &LabelValues::vote_label>(
        "vote_label", kVoteLabels, kVotes,
        "what is taught: the votes as evidence for every class, or their first class")),

    Choice<&S::distill, &DistillValues::loss>("loss", kLosses, kGradient,
                                              "distillation loss; dkd-printed: with the denominators that DPSD's "
                                              "equation 2 prints"),
    Quiet(kGradient,
          WithSource(QuerySource::private_split, kGradient,
                     Choice<&S::distill, &DistillValues::label>(
                         "label", kImageLabels, 0,
                         "of a private image: the class that the teacher says, or its own (true), where no teacher is "
                         "asked and none need be named; needs loss = \"ce-hard\""))),
    Row<&S::distill, &DistillValues::dkd_alpha>("dkd_alpha", kWeight, kGradient, "weight of the target class in dkd"),
    Row<&S::distill, &DistillValues::dkd_beta>("dkd_beta", kWeight, kGradient, "weight of the other classes in dkd"),
    Row<&S::distill, &DistillValues::temperature>(
        "temperature", From(1e-2, 1e3), kGradient | kDistilled | kLabelled | kQuery | kRaw,
        "softmax temperature of the distillation loss; at its least value it is all but the first class"),
    Row<&S::distill, &DistillValues::kappa>("kappa", kWeight, kGradient,
                                            "size of the step injected at the logits (gamma times C), at the start"),
    Row<&S::distill, &DistillValues::kappa_end>("kappa_end", kWeight, kGradient,
                                                "the same at the end, reached linearly"),
    Quiet(Row<&S::distill, &DistillValues::gamma>(
        "gamma", kWeight, kGradient,
        "factor on the noised gradient that the student's prediction loses, throughout; 0 = kappa over norm_bound, "
        "which falls to kappa_end over it")),
    Quiet(Choice<&S::distill, &DistillValues::target>(
        "target", kGradientTargets, kGradient,
        "what the student is taught: its prediction less gamma times the noised gradient (step), or the noised "
        "gradient as it is, as line 15 of FedDPSD's algorithm prints it")),
    Quiet(Row<&S::distill, &DistillValues::project>(
        "project", {}, kGradient,
        "takes the mean of each row from the noised gradient, which a gradient at logits does not have")),
    Row<&S::distill, &DistillValues::replay>("replay", From(0, 1e6), kGradient | kResponse | kRaw | kDistilled,
                                             "batches that the transfer set keeps; of dense, whose student passes "
                                             "over all of them in every round, at least one"),
    Generated(kVotes, Row<&S::distill, &DistillValues::student_steps>(
                          "student_steps", kCounts, kGradient | kResponse | kDistilled,
                          "optimiser steps of the student for each release")),
    Row<&S::distill, &DistillValues::student_batch>("student_batch", From(1, 1e7), kAsking | kMerf | kSpectral,
                                                    "rows of one student step"),
    Row<&S::distill, &DistillValues::replay_fraction>("replay_fraction", kFraction, kGradient | kResponse | kDistilled,
                                                      "part of a student batch that is drawn from earlier releases"),
    Quiet(kGradient | kResponse | kDistilled | kVotes | kLabelled | kSpectral,
          Public(kVotes | kLabelled,
                 Generated(kVotes, Row<&S::distill, &DistillValues::balance>(
                                       "balance", {}, kGradient | kResponse | kDistilled | kSpectral,
                                       "earlier releases are drawn evenly by the first class of what was released; "
                                       "of public pictures: the labels that neighbours share are shifted until every "
                                       "class has as many pictures, which is to be known of them")))),
    Quiet(kEnsemble, Fitted(Row<&S::labels, &LabelValues::smoothing>("smoothing", {0, 0.99, false},
                                                                     kPlain | kEnsemble | kLabel, "label smoothing"))),
    Fitted(Row<&S::labels, &LabelValues::label_steps>("label_steps", From(0, 1e9), 0,
                                                      "optimiser steps on the released labels")),
    Mixed(kDistilled, Fitted(Row<&S::inputs, &InputValues::shift>(
                          "shift", From(0, 64), kPlain | kEnsemble | kDpsgd | kQuery | kLabel | kFederated,
                          "pixels of random translation"))),
    Quiet(kPlain | kEnsemble | kDpsgd | kQuery | kLabel | kFederated | kVotes | kLabelled,
          Mixed(kDistilled,
                Fitted(Choice<&S::inputs, &InputValues::augment>(
                    "augment", kAugments, kPlain | kEnsemble | kDpsgd | kQuery | kLabel | kFederated,
                    "what is done to a training image, or to a public picture before it is mixed: none, shift by up to "
                    "`shift` pixels, crop-flip: padded by 4, cut at random and mirrored, random-resized-crop: a part "
                    "of 8 % or more, scaled and mirrored, affine: turned, scaled, sheared and shifted "
                    "a little, elastic: bent by a smooth field besides")))),
    Quiet(Choice<&S::precision>("precision", kPrecisions,
                                kPlain | kEnsemble | kAsking | kMerf | kLabel | kFederated | kSpectral,
                                "of the arithmetic inside networks: bfloat16 while they are trained, tf32 always, in "
                                "products and convolutions on GPUs (CPUs compute float32); parameters, optimiser and "
                                "releases stay float32")),

    Row<&S::optimization, &OptimizationValues::lr>("lr", kRate, kAll, "learning rate at the start"),
    Row<&S::optimization, &OptimizationValues::lr_hold>("lr_hold", kFraction, kAll,
                                                        "fraction of the steps at the full rate"),
    Row<&S::optimization, &OptimizationValues::lr_end>("lr_end", kFraction, kAll,
                                                       "factor on the rate at the last step, reached by schedule"),
    Quiet(Choice<&S::optimization, &OptimizationValues::schedule>(
        "schedule", kSchedules, kPlain | kEnsemble | kLabel | kFederated,
        "how the rate falls from lr_hold on: linear, cosine (half a wave), or step: from the "
        "start, lr_drops times to a tenth")),
    Quiet(Row<&S::optimization, &OptimizationValues::lr_drops>("lr_drops", From(0, 100),
                                                               kPlain | kEnsemble | kLabel | kFederated,
                                                               "drops of schedule \"step\", evenly spread")),
    Quiet(Choice<&S::optimization, &OptimizationValues::optimizer>(
        "optimizer", kOptimizers, kPlain | kEnsemble | kLabel | kFederated | kRaw,
        "DP-SGD is sgd, and what this key does not apply to is trained by adam")),
    Quiet(Row<&S::optimization, &OptimizationValues::weight_decay>(
        "weight_decay", kFraction, kPlain | kEnsemble | kLabel | kFederated | kRaw,
        "of the parameters: added to the gradient by sgd, apart from it by adam")),
    Quiet(kPlain | kEnsemble | kLabel | kFederated | kRaw,
          Row<&S::optimization, &OptimizationValues::momentum>(
              "momentum", {0, 0.9999, false}, kDpsgd | kPlain | kEnsemble | kLabel | kFederated | kRaw, "of SGD")),
    Quiet(Choice<&S::optimization, &OptimizationValues::initialisation>(
        "initialisation", kInitialisations, kGradient | kResponse,
        "how the weights of student and generator begin: as their networks define it, or xavier: uniform on "
        "+-sqrt(6 / (fan in + fan out))")),

    Generated(kGenerating,
              Row<&S::generator, &GeneratorValues::steps>("generator_steps", From(0, 1e6), 0,
                                                          "optimiser steps of the generator for each release")),
    Generated(kGenerating,
              Row<&S::generator, &GeneratorValues::lr>("generator_lr", kRate, kMerf, "learning rate of the generator")),
    Generated(kGenerating,
              Row<&S::generator, &GeneratorValues::latent>("latent", From(1, 1e6), kMerf, "length of a latent vector")),
    Generated(kGenerating,
              Row<&S::generator, &GeneratorValues::width>("generator_width", From(2, 4096), kMerf,
                                                          "channels of the first layer of a generator of the "
                                                          "zoo")),
    Quiet(kGenerating | kMerf,
          Generated(kGenerating,
                    Choice<&S::generator, &GeneratorValues::network>(
                        "generator", kNamedGenerators, kMerf,
                        "network of the generator: DAFL's, which ends in a batch norm, that of Fast-Datafree and "
                        "DENSE (fast), which ends in a sigmoid and the data's normalisation (generator_width is twice "
                        "their ngf), that of DP-MERF, which is given a class (of dp-merf alone), or one of the file "
                        "with a reshape, from `latent` values, of dp-merf and a value a class, to the pictures"))),
    Generated(kGenerating, Row<&S::generator, &GeneratorValues::one_hot>("one_hot", kWeight, 0,
                                                                         "weight of the generator's one-hot loss")),
    Generated(kGenerating, Row<&S::generator, &GeneratorValues::information_entropy>(
                               "information_entropy", kWeight, 0, "weight of the generator's batch entropy loss")),
    Generated(kGenerating, Row<&S::generator, &GeneratorValues::activation_norm>(
                               "activation_norm", kWeight, 0, "weight of the generator's activation loss")),

    Quiet(kGradient | kResponse,
          Generated(kGradient | kResponse,
                    Choice<&S::generator, &GeneratorValues::form>(
                        "generator_form", kGeneratorForms, 0,
                        "of the entropy and activation terms: dafl (of the mean prediction; less the mean feature), "
                        "printed (of each row, averaged; plus the norm of all features) or printed-sums (of all terms "
                        "sums over the rows, and of each row's features the norm)"))),

    Quiet(kGradient | kResponse | kRaw,
          Generated(kGradient | kResponse | kRaw,
                    Row<&S::generator, &GeneratorValues::bn_statistics>(
                        "bn_statistics", kWeight, 0,
                        "weight of the generator's loss by the statistics that the teacher's batch "
                        "norms hold; needs discriminator = \"teacher\""))),
    Quiet(Row<&S::generator, &GeneratorValues::adversarial>(
        "adversarial", kWeight, kRaw, "weight of the generator's loss by disagreement of student and teacher")),
    Quiet(kGradient | kResponse,
          Generated(kGradient | kResponse,
                    Row<&S::generator, &GeneratorValues::latent_lr>(
                        "latent_lr", kWeight, 0,
                        "learning rate of the latents, which then persist from step to step; 0 = drawn "
                        "afresh"))),
    Quiet(kGradient | kResponse,
          Generated(kGradient | kResponse, Choice<&S::generator, &GeneratorValues::discriminator>(
                                               "discriminator", kDiscriminators, 0,
                                               "whom the generator is trained through; teacher: claims about teachers, "
                                               "members and examples become unbounded"))),
    Quiet(kGradient | kResponse,
          Generated(kGradient | kResponse,
                    Row<&S::generator, &GeneratorValues::pretrain_steps>(
                        "pretrain_steps", kWeight, 0,
                        "generator steps against the fixed teacher before the first release; needs "
                        "discriminator = \"teacher\""))),

    Row<&S::rona, &RonaValues::hint_epochs>("hint_epochs", From(0, 1e6), kQuery, "rona: epochs of hint learning"),
    Row<&S::rona, &RonaValues::distill_epochs>("distill_epochs", From(0, 1e6), kQuery,
                                               "rona: epochs of distillation in each round"),
    Row<&S::rona, &RonaValues::self_epochs>("self_epochs", From(0, 1e6), kQuery,
                                            "rona: epochs of self learning in each round"),
    Row<&S::rona, &RonaValues::warm_epochs>("warm_epochs", From(0, 1e6), kQuery,
                                            "rona: epochs of self learning before the first round"),
    Row<&S::rona, &RonaValues::auxiliary_epochs>("auxiliary_epochs", From(0, 1e6), kQuery,
                                                 "rona: epochs of the auxiliary teacher on the public split"),
    Row<&S::rounds>("rounds", kCounts, kQuery | kFederated, "of distillation and self learning, or of communication"),
    Row<&S::rona, &RonaValues::query_fraction>("query_fraction", Above(0, 1), kQuery,
                                               "of the public examples, which an epoch of rona asks about"),
    Choice<&S::rona, &RonaValues::selection>("selection", kSelections, kQuery, "how these are chosen"),
    Row<&S::rona, &RonaValues::adaptive_bound>(
        "adaptive_bound", {}, kQuery,
        "the bound on the loss is the mean loss against the auxiliary teacher; false: norm_bound"),

    Row<&S::shards, &ShardValues::clients>("clients", From(1, 65536), kFederated,
                                           "that train on a part of the private split each"),
    Row<&S::merf, &MerfValues::random_features>("random_features", From(2, 1e6), kMerf,
                                                "of the kernel, cosines and sines together"),
    Row<&S::merf, &MerfValues::bandwidth>("bandwidth", Above(0, 1e9), kMerf,
                                          "sigma squared of the Gaussian kernel, of pixels in [0, 1]"),
    Row<&S::merf, &MerfValues::synthetic>("synthetic", kCounts, kMerf,
                                          "labelled images that the student is trained on"),
    Row<&S::staged, &StagedLabelValues::stages>("label_stages", From(1, 100), kLabel,
                                                "lp-2st: parts whose labels are released in turn"),
    Row<&S::staged, &StagedLabelValues::prior_temperature>(
        "prior_temperature", Above(0, 1e3), kLabel,
        "lp-2st: of the predictions that a later stage takes for its prior"),

    // Written as the table `stop` (ReadStop in sweep_document.h); part of identity where there is a rule.
    Only(kNowhere,
         Choice<&S::stop, &StopValues::metric>("stop_metric", kStopMetrics, kAll, "what the stop rule looks at")),
    Only(kNowhere,
         Row<&S::stop, &StopValues::above>("stop_above", {}, kAll, "stops above the threshold; false: below")),
    Only(kNowhere,
         Row<&S::stop, &StopValues::threshold>("stop_threshold", From(-1e300, 1e300), kAll, "of the stop rule")),
    Only(kNowhere, Row<&S::stop, &StopValues::after>("stop_after", From(0, 1e12), kAll, "steps before the first look")),
    Only(kNowhere, Row<&S::stop, &StopValues::every>("stop_every", kCounts, kAll, "steps between two looks")),

    Execution(Duration<&S::execution, &ExecutionValues::deadline_seconds>(
        "deadline", From(0, 1e7), kAll | kSleep | kLoaded,
        "longest time without step progress, from 1s on; until the first step at least 10s; 0s = from "
        "the measured step time, 900s for what comes before the first")),
    Execution(Duration<&S::execution, &ExecutionValues::checkpoint_seconds>(
        "checkpoint_every", From(0, 1e7), kAll | kSleep, "least time between two checkpoints")),
    Execution(Row<&S::execution, &ExecutionValues::checkpoint_steps>(
        "checkpoint_steps", From(0, 1e9), kAll, "a checkpoint also after so many steps; 0 = by time alone")),
    Execution(Row<&S::execution, &ExecutionValues::checkpoint_keep>("checkpoint_keep", From(1, 100), kAll,
                                                                    "newest checkpoints that stay on disk")),
    Execution(Row<&S::execution, &ExecutionValues::priority>("priority", From(-1000, 1000), kAll | kSleep | kLoaded,
                                                             "larger is placed first")),
    Execution(Choice<&S::execution, &ExecutionValues::pack>(
        "pack", kPackModes, kAll | kSleep | kLoaded,
        "auto: shares its device with others of its shape while that is measured to be faster")),
    Execution(Choice<&S::execution, &ExecutionValues::graphs>(
        "graphs", kGraphModes, kAll,
        "auto: a GPU records the steps that repeat as CUDA graphs and replays them; what cannot be recorded "
        "runs as it is, and the row's provenance says why. Not measured on a GPU yet; CPUs never record")),
    Execution(Row<&S::execution, &ExecutionValues::reserve_block>("reserve_block", From(1, 1e9), kAll,
                                                                  "releases charged to the ledger at once")),
    Execution(Row<&S::execution, &ExecutionValues::retries>(
        "retries", From(0, 1000), (kAsking & ~kRaw) | kDpsgd,
        "lost attempts that calibration leaves room for: each may charge one more block "
        "of reserve_block releases")),
};

}  // namespace

std::span<const SpecKey> ListSpecKeys() { return kKeys; }

std::string SpecKey::Users() const {
  std::string users;
  for (const TrialKind kind : kTrialKinds) {
    const KindMask mask = MakeMask(kind);
    if ((AllKinds() & mask) == 0) continue;
    users += (users.empty() ? "" : ", ") + std::string(GetKindName(kind));
    if (const std::string sources = SourcesFor(kind); !sources.empty()) users += " (source " + sources + ")";
  }
  return users;
}

std::string SpecKey::SourcesFor(TrialKind kind) const {
  const KindMask mask = MakeMask(kind);
  if ((kinds & mask) != 0) return "";
  std::string sources;
  for (std::size_t i = 0; i < source_kinds.size(); ++i) {
    if ((source_kinds[i] & mask) == 0) continue;
    sources += (sources.empty() ? "\"" : " or \"") +
               FormatValue(*FindKey("source", kInTrial), static_cast<std::int64_t>(i)) + "\"";
  }
  return sources;
}

std::span<const std::uint8_t> GetIdentityOrder() {
  static const std::vector<std::uint8_t> kOrder = [] {
    const std::span<const SpecKey> keys = ListSpecKeys();
    std::vector<std::uint8_t> order;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i].identity) order.push_back(static_cast<std::uint8_t>(i));
    std::sort(order.begin(), order.end(), [keys](auto a, auto b) { return keys[a].name < keys[b].name; });
    return order;
  }();
  return kOrder;
}

const SpecKey* FindKey(std::string_view name, KeyPlace place) {
  for (const SpecKey& key : ListSpecKeys()) {
    const KeyPlace spelling = place == kInTeacher ? kInTeacher : kInTrial;
    if (key.NameIn(spelling) == name && (place == kNowhere || (key.places & place) != 0)) return &key;
  }
  return nullptr;
}

std::vector<std::string> ListKeyNames(KeyPlace place) {
  std::vector<std::string> names;
  for (const SpecKey& key : ListSpecKeys()) {
    if (place == kNowhere)
      names.emplace_back(key.TrialName());
    else if ((key.places & place) != 0)
      names.emplace_back(key.NameIn(place));
  }
  return names;
}

// Values of keys as a person would write them.

std::string FormatValue(const SpecKey& key, const KeyValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&value)) {
    if (*count == 0 && !key.zero_word.empty()) return std::string(key.zero_word);
    return key.indexed ? std::string(key.choices[static_cast<std::size_t>(*count)]) : std::to_string(*count);
  }
  std::string text = FormatReal(std::get<double>(value));
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return key.type == KeyType::duration ? text + "s" : text;
}

namespace {

// Whether only another method of the same kind reads the key.
bool IsOfAnotherMethod(const TrialSpec& spec, std::string_view name) {
  return (name == "branch" || name == "trust") && !HasBranches(spec);
}

}  // namespace

std::string FormatKey(const TrialSpec& spec, std::string_view name) {
  const SpecKey* key = FindKey(name, kNowhere);
  if (key == nullptr || !key->AppliesTo(FindKind(spec), spec.source) || IsOfAnotherMethod(spec, name)) return "";
  return FormatValue(*key, key->get(spec));
}

}  // namespace retort
