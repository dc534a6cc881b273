// One row a key. To add a key: add the field to TrialSpec with its default, and one Row, Choice or
// Duration line to kKeys; the parser, identity, JSON, `retort schema` and KEYS.md follow from it.
//   kinds        the kinds of trials whose result it changes (kGradient, kVotes, ...): part of identity
//                for these, and an error where it reaches none of them
//   Generated    also these kinds, where the source is the generator;  Public: the public split
//   Only         where it may be written, when that does not follow from the kinds
//   Inherited    teachers take it from [trial];  Execution: inherited, and not identity
//   Quiet        these kinds' identity holds it only where it is not the default
// A default that differs between kinds of trials is one more line in presets.cc. experiments/KEYS.md is
// compared by spec_test, which writes what it expects into the build folder.
#include "experiments/spec/spec_keys.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "experiments/spec/networks.h"
#include "experiments/spec/toml_tree.h"

namespace retort {
namespace {

constexpr KindMask kPlain = MaskOf(TrialKind::plain_teacher);
constexpr KindMask kEnsemble = MaskOf(TrialKind::ensemble_teacher);
constexpr KindMask kDpsgd = MaskOf(TrialKind::dpsgd_teacher) | MaskOf(TrialKind::dpsgd_student);
constexpr KindMask kGradient = MaskOf(TrialKind::gradient_student);
constexpr KindMask kDistilled = MaskOf(TrialKind::distilled_student);
constexpr KindMask kVotes = MaskOf(TrialKind::vote_student);
constexpr KindMask kDpdfd = kGradient | kDistilled | kVotes;
constexpr KindMask kLoaded = MaskOf(TrialKind::loaded_teacher);
constexpr KindMask kTrained = kPlain | kEnsemble | MaskOf(TrialKind::dpsgd_teacher);
constexpr KindMask kTeachers = kTrained | kLoaded;
constexpr KindMask kStudents = kDpdfd | MaskOf(TrialKind::dpsgd_student);
constexpr KindMask kAll = kTrained | kStudents;  // that train something
constexpr KindMask kSleep = MaskOf(TrialKind::sleeper);

template <auto Field>
using FieldOf = std::remove_cvref_t<decltype(std::declval<TrialSpec&>().*Field)>;

template <auto Field>
KeyValue Get(const TrialSpec& spec) {
  using T = FieldOf<Field>;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>)
    return spec.*Field;
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(spec.*Field);
  else
    return static_cast<std::int64_t>(spec.*Field);
}

template <auto Field>
void Set(TrialSpec& spec, const KeyValue& value) {
  using T = FieldOf<Field>;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>)
    spec.*Field = std::get<T>(value);
  else if constexpr (std::is_floating_point_v<T>)
    spec.*Field = static_cast<T>(std::get<double>(value));
  else
    spec.*Field = static_cast<T>(std::get<std::int64_t>(value));
}

constexpr std::uint8_t PlacesOf(KindMask kinds) {
  return static_cast<std::uint8_t>(((kinds & (kStudents | kSleep)) != 0 ? kInTrial : kNowhere) |
                                   ((kinds & kTeachers) != 0 ? kInTeacher : kNowhere));
}

template <auto Field>
constexpr SpecKey Row(std::string_view name, Limits limits, KindMask kinds, std::string_view doc) {
  using T = FieldOf<Field>;
  SpecKey key;
  key.name = name;
  key.type = std::is_same_v<T, bool>       ? KeyType::flag
             : std::is_floating_point_v<T> ? KeyType::number
                                           : KeyType::count;
  key.get = Get<Field>;
  key.set = Set<Field>;
  key.limits = limits;
  key.kinds = kinds;
  key.places = PlacesOf(kinds);
  key.doc = doc;
  return key;
}

template <auto Field>
constexpr SpecKey Choice(std::string_view name, std::span<const std::string_view> choices, KindMask kinds,
                         std::string_view doc) {
  SpecKey key = Row<Field>(name, {}, kinds, doc);
  key.type = KeyType::choice;
  key.choices = choices;
  key.indexed = std::is_enum_v<FieldOf<Field>>;
  return key;
}

template <auto Field>
constexpr SpecKey Duration(std::string_view name, Limits limits, KindMask kinds, std::string_view doc) {
  SpecKey key = Row<Field>(name, limits, kinds, doc);
  key.type = KeyType::duration;
  return key;
}

template <auto Field>
constexpr SpecKey Text(std::string_view name, KeyType type, KindMask kinds, std::string_view doc) {
  SpecKey key = Row<Field>(name, {}, kinds, doc);
  key.type = type;
  key.identity = type != KeyType::path;
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
constexpr SpecKey Inherited(SpecKey key) {
  key.inherited = true;
  return key;
}
constexpr SpecKey Execution(SpecKey key) {
  key.identity = false;
  key.inherited = true;
  return key;
}
// Used by trials of these kinds too, where their source is the generator.
constexpr SpecKey Generated(KindMask kinds, SpecKey key) {
  key.generator_kinds = kinds;
  key.places = static_cast<std::uint8_t>(key.places | PlacesOf(kinds));
  return key;
}
constexpr SpecKey Quiet(KindMask kinds, SpecKey key) {
  key.quiet = kinds;
  return key;
}
constexpr SpecKey Quiet(SpecKey key) { return Quiet(key.kinds, key); }
constexpr SpecKey Public(KindMask kinds, SpecKey key) {
  key.public_kinds = kinds;
  key.places = static_cast<std::uint8_t>(key.places | PlacesOf(kinds));
  return key;
}

KeyValue DataName(const TrialSpec& spec) { return spec.data ? spec.data->name : std::string(); }

constexpr Limits From(double least, double most) { return {least, most, false}; }
constexpr Limits Above(double least, double most) { return {least, most, true}; }
constexpr Limits kCounts = From(1, 1e12);
constexpr Limits kFraction = From(0, 1);
constexpr Limits kWeight = From(0, 1e6);
constexpr Limits kRate = Above(0, 1e6);

// Orders are those of the enumerations.
constexpr std::array<std::string_view, 3> kMethods = {"dpdfd", "dpsgd", "sleep"};
constexpr std::array<std::string_view, 4> kReadings = {"working", "printed", "row-averaged", "sound"};
constexpr std::array<std::string_view, 2> kNoiseModes = {"secure", "seeded"};
constexpr std::array<std::string_view, 3> kSources = {"generator", "public", "private"};
constexpr std::array<std::string_view, 3> kNormalizations = {"row", "frobenius", "clip"};
constexpr std::array<std::string_view, 7> kClaims = {"none",    "paper",  "answer", "slot",
                                                     "teacher", "member", "example"};
constexpr std::array<std::string_view, 3> kCalibrations = {"none", "noise", "steps"};
constexpr std::array<std::string_view, 2> kPackModes = {"off", "auto"};
constexpr std::array<std::string_view, 3> kStopMetrics = {"none", "loss", "test.accuracy"};
constexpr std::array<std::string_view, 3> kLosses = {"dkd", "kd", "ce-hard"};
constexpr std::array<std::string_view, 4> kAugments = {"none", "shift", "crop-flip", "random-resized-crop"};
constexpr std::array<std::string_view, 2> kPrecisions = {"float32", "bfloat16"};
constexpr std::array<std::string_view, 2> kOptimizers = {"adam", "sgd"};
constexpr std::array<std::string_view, 3> kSchedules = {"linear", "cosine", "step"};
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
             "how the student is trained; a teacher's follows from its definition (plain, ensemble, dpsgd, loaded); "
             "sleep: not at all, for tests and benches of the scheduler")),
    Choice<&S::reading>("reading", kReadings, kDpdfd, "which reading of the paper's equations"),
    Named(
        "teacher", [](const S& s) -> KeyValue { return s.teacher; }, kDpdfd,
        "name of the [teacher] that answers"),
    Named("data", DataName, kAll | kLoaded, "name of the [data] set; may be left out when there is only one"),
    As("student", Choice<&S::network>("network", kNetworks, kAll | kLoaded,
                                    "the network that is trained, or that weights are for")),
    Text<&S::weights>("weights", KeyType::path, kLoaded,
                      "file of a network's parameters: state dict of PyTorch (.pth, .pt), .safetensors or .npz; "
                      "relative to the sweep file, ${VAR} is expanded; every name and shape has to fit"),
    Text<&S::torchscript>("torchscript", KeyType::path, kLoaded,
                          "file of a TorchScript module, images to logits, instead of network and weights"),
    Only(kNowhere, Text<&S::weights_digest>("weights_digest", KeyType::text, kLoaded,
                                            "SHA-256 of that file, as planned")),
    Only(kNowhere, Row<&S::seed>("seed", From(0, 9e15), kAll | kSleep,
                                 "from sweep.seeds: fixes initialisation, order and latents")),
    Only(kInTrial,
         Inherited(Choice<&S::noise>(
             "noise", kNoiseModes, kGradient | kVotes | kDpsgd,
             "where privacy noise comes from; seeded is for tests, and every claim of it is unbounded"))),
    Inherited(Row<&S::threads>("threads", From(1, 1024), kAll | kLoaded,
                               "CPU threads inside an operation; sums depend on it")),
    Row<&S::devices>("devices", From(1, 4096), kAll | kSleep, "gang size; sums depend on it"),

    Only(kInTrial,
         Inherited(Row<&S::delta>("delta", {0, 0x1.fffffffffffffp-1, true}, kStudents | kDpsgd, "delta of every claim"))),
    Only(kInTrial, Row<&S::epsilon>("epsilon", From(0, 1e6), kStudents | kDpsgd,
                                    "epsilon asked for; needs claim and calibrate; 0 = none")),
    Only(kInTrial,
         Choice<&S::claim>("claim", kClaims, kStudents | kDpsgd, "the claim that epsilon is about")),
    Only(kInTrial,
         Choice<&S::calibrate>(
             "calibrate", kCalibrations, kStudents | kDpsgd,
             "what epsilon decides: the noise at the given releases, or the releases at the given noise")),

    Generated(kVotes,
              Row<&S::steps>("steps", kCounts, kGradient | kDistilled | kDpsgd | kSleep,
                             "releases of a batch (dpdfd), optimiser steps (dpsgd), or naps (sleep)")),
    Row<&S::seconds>("seconds", Above(0, 1e7), kSleep,
                     "how long all steps of a sleeping trial take together"),
    Row<&S::epochs>("epochs", From(0, 1e12), kPlain | kEnsemble,
                    "passes over the training examples; 0 leaves a plain teacher's parameters as drawn"),
    Row<&S::batch>("batch", From(1, 1e7), kAll,
                   "rows of one step over all devices; the expected size under Poisson sampling (dpsgd)"),
    Row<&S::members>("members", From(1, 1e6), kEnsemble,
                     "networks on disjoint shards; more than one makes an ensemble"),
    Row<&S::queries>("queries", From(0, 1e9), kVotes, "noisy-vote answers in all"),

    Choice<&S::source>("source", kSources, kStudents,
                       "where the inputs come from that the teacher is asked about; dpsgd: always private"),
    Row<&S::sigma>("sigma", Above(0, 1e9), kGradient, "noise over norm bound, as the papers print it"),
    Only(kInTrial, Row<&S::norm_bound>("norm_bound", Above(0, 1e9), kGradient | kDpsgd,
                                       "C, the bound on the norm of a gradient; per example for dpsgd")),
    Choice<&S::normalization>(
        "normalization", kNormalizations, kGradient,
        "how the bound is kept: each row to norm C, the batch to Frobenius norm C, or clip"),
    Row<&S::normalization_floor>("normalization_floor", Above(0, 1), kGradient, "e in g / (|g| + e)"),
    Only(kInTrial,
         Row<&S::noise_multiplier>("noise_multiplier", From(0, 1e6), kDpsgd,
                                   "noise over norm bound of a DP-SGD step; 0 = from epsilon by calibrate")),
    Row<&S::vote_noise>("vote_noise", From(0, 1048576), kVotes,
                        "standard deviation of the noise on a vote count; 0 = from epsilon by calibrate"),
    Quiet(Row<&S::grain>("grain", From(1, 1024), kVotes,
                         "parts of a member's vote: 1 = all to its first class (noisy votes), more = "
                         "floor(grain * softmax) to every class (noisy probabilities)")),
    Row<&S::detach>("detach", {}, kGradient,
                    "false lets teacher Jacobians reach the generator: every claim becomes unbounded"),

    Choice<&S::loss>("loss", kLosses, kGradient, "distillation loss"),
    Row<&S::dkd_alpha>("dkd_alpha", kWeight, kGradient, "weight of the target class in dkd"),
    Row<&S::dkd_beta>("dkd_beta", kWeight, kGradient, "weight of the other classes in dkd"),
    Row<&S::temperature>("temperature", Above(0, 1e3), kGradient | kDistilled,
                         "softmax temperature of the distillation loss"),
    Row<&S::kappa>("kappa", kWeight, kGradient,
                   "size of the step injected at the logits (gamma times C), at the start"),
    Row<&S::kappa_end>("kappa_end", kWeight, kGradient, "the same at the end, reached linearly"),
    Row<&S::replay>("replay", From(0, 1e6), kGradient | kDistilled, "batches that the transfer set keeps"),
    Generated(kVotes, Row<&S::student_steps>("student_steps", kCounts, kGradient | kDistilled,
                                             "optimiser steps of the student for each release")),
    Row<&S::student_batch>("student_batch", From(1, 1e7), kDpdfd, "rows of one student step"),
    Row<&S::replay_fraction>("replay_fraction", kFraction, kGradient | kDistilled,
                             "part of a student batch that is drawn from earlier releases"),
    Public(kVotes, Row<&S::smoothing>("smoothing", {0, 0.99, false}, kPlain, "label smoothing")),
    Public(kVotes,
           Row<&S::label_steps>("label_steps", From(0, 1e9), 0, "optimiser steps on the released labels")),
    Public(kVotes,
           Row<&S::shift>("shift", From(0, 64), kPlain | kEnsemble | kDpsgd, "pixels of random translation")),
    Quiet(Choice<&S::augment>("augment", kAugments, kPlain | kDpsgd,
                              "what is done to a training image: none, shift by up to `shift` pixels, crop-flip: "
                              "padded by 4, cut at random and mirrored, random-resized-crop: a part of 8 % or more, "
                              "scaled and mirrored")),
    Quiet(Choice<&S::precision>("precision", kPrecisions, kPlain | kGradient | kDistilled | kVotes,
                                "of the arithmetic inside networks that are trained; parameters, optimiser and "
                                "releases stay float32")),

    Row<&S::lr>("lr", kRate, kAll, "learning rate at the start"),
    Row<&S::lr_hold>("lr_hold", kFraction, kAll, "fraction of the steps at the full rate"),
    Row<&S::lr_end>("lr_end", kFraction, kAll, "factor on the rate at the last step, reached by schedule"),
    Quiet(Choice<&S::schedule>("schedule", kSchedules, kPlain,
                               "how the rate falls from lr_hold on: linear, cosine (half a wave), or step: from the "
                               "start, lr_drops times to a tenth")),
    Quiet(Row<&S::lr_drops>("lr_drops", From(0, 100), kPlain, "drops of schedule \"step\", evenly spread")),
    Quiet(Choice<&S::optimizer>("optimizer", kOptimizers, kPlain,
                                "of a plain teacher; DP-SGD is sgd, and everything else is trained by adam")),
    Quiet(Row<&S::weight_decay>("weight_decay", kFraction, kPlain,
                             "of the parameters: added to the gradient by sgd, apart from it by adam")),
    Quiet(kPlain, Row<&S::momentum>("momentum", {0, 0.9999, false}, kDpsgd | kPlain, "of SGD")),

    Generated(kDpdfd, Row<&S::generator_steps>("generator_steps", From(0, 1e6), 0,
                                               "optimiser steps of the generator for each release")),
    Generated(kDpdfd, Row<&S::generator_lr>("generator_lr", kRate, 0, "learning rate of the generator")),
    Generated(kDpdfd, Row<&S::latent>("latent", From(1, 1e6), 0, "length of a latent vector")),
    Generated(kDpdfd, Row<&S::generator_width>("generator_width", From(2, 4096), 0,
                                               "channels of the generator's first layer")),
    Generated(kDpdfd, Row<&S::one_hot>("one_hot", kWeight, 0, "weight of the generator's one-hot loss")),
    Generated(kDpdfd, Row<&S::information_entropy>("information_entropy", kWeight, 0,
                                                   "weight of the generator's batch entropy loss")),
    Generated(kDpdfd, Row<&S::activation_norm>("activation_norm", kWeight, 0,
                                               "weight of the generator's activation loss")),

    // Written as the table `stop` (stop_table.cc); part of identity where there is a rule.
    Only(kNowhere, Choice<&S::stop_metric>("stop_metric", kStopMetrics, kAll, "what the stop rule looks at")),
    Only(kNowhere, Row<&S::stop_above>("stop_above", {}, kAll, "stops above the threshold; false: below")),
    Only(kNowhere, Row<&S::stop_threshold>("stop_threshold", From(-1e300, 1e300), kAll, "of the stop rule")),
    Only(kNowhere, Row<&S::stop_after>("stop_after", From(0, 1e12), kAll, "steps before the first look")),
    Only(kNowhere, Row<&S::stop_every>("stop_every", kCounts, kAll, "steps between two looks")),

    Execution(Duration<&S::deadline_seconds>(
        "deadline", From(0, 1e7), kAll | kSleep | kLoaded,
        "longest time without step progress, from 1s on; until the first step at least 10s; 0s = from "
        "the measured step time")),
    Execution(Duration<&S::checkpoint_seconds>("checkpoint_every", From(0, 1e7), kAll | kSleep,
                                               "least time between two checkpoints")),
    Execution(Row<&S::checkpoint_steps>("checkpoint_steps", From(0, 1e9), kAll,
                                        "a checkpoint also after so many steps; 0 = by time alone")),
    Execution(Row<&S::checkpoint_keep>("checkpoint_keep", From(1, 100), kAll,
                                       "newest checkpoints that stay on disk")),
    Execution(Row<&S::priority>("priority", From(-1000, 1000), kAll | kSleep | kLoaded, "larger is placed first")),
    Execution(Choice<&S::pack>("pack", kPackModes, kAll | kSleep | kLoaded,
                               "auto: shares its device with others of its shape while that is measured to be faster")),
    Execution(Row<&S::reserve_block>("reserve_block", From(1, 1e9), kAll,
                                     "releases charged to the ledger at once")),
    Execution(Row<&S::retries>("retries", From(0, 1000), kDpdfd | kDpsgd,
                               "lost attempts that calibration leaves room for: each may charge one more block "
                               "of reserve_block releases")),
};
constexpr std::size_t kKeyCount = std::size(kKeys);

constexpr auto kIdentityOrder = [] {
  std::array<std::uint8_t, kKeyCount> order{};
  for (std::size_t i = 0; i < kKeyCount; ++i) order[i] = static_cast<std::uint8_t>(i);
  std::sort(order.begin(), order.end(), [](auto a, auto b) { return kKeys[a].name < kKeys[b].name; });
  return order;
}();
constexpr std::size_t kIdentityCount = static_cast<std::size_t>(
    std::count_if(std::begin(kKeys), std::end(kKeys), [](const SpecKey& key) { return key.identity; }));
constexpr auto kIdentity = [] {
  std::array<std::uint8_t, kIdentityCount> order{};
  std::copy_if(kIdentityOrder.begin(), kIdentityOrder.end(), order.begin(),
               [](std::uint8_t index) { return kKeys[index].identity; });
  return order;
}();

}  // namespace

std::string SpecKey::Users() const {
  std::string users;
  for (const TrialKind kind : kTrialKinds) {
    const KindMask mask = MaskOf(kind);
    if (((kinds | generator_kinds | public_kinds) & mask) == 0) continue;
    users += (users.empty() ? "" : ", ") + std::string(KindName(kind));
    if ((kinds & mask) == 0)
      users += (generator_kinds & mask) != 0 ? " (source \"generator\")" : " (source \"public\")";
  }
  return users;
}

std::span<const SpecKey> SpecKeys() { return kKeys; }
std::span<const std::uint8_t> IdentityOrder() { return kIdentity; }

const SpecKey* FindKey(std::string_view name, KeyPlace place) {
  for (const SpecKey& key : kKeys) {
    const KeyPlace spelling = place == kInTeacher ? kInTeacher : kInTrial;
    if (key.NameIn(spelling) == name && (place == kNowhere || (key.places & place) != 0)) return &key;
  }
  return nullptr;
}

std::vector<std::string> KeyNames(KeyPlace place) {
  std::vector<std::string> names;
  for (const SpecKey& key : kKeys) {
    if (place == kNowhere)
      names.emplace_back(key.TrialName());
    else if ((key.places & place) != 0)
      names.emplace_back(key.NameIn(place));
  }
  return names;
}

}  // namespace retort
