#include "experiments/methods/stated_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>
#include <variant>

#include "experiments/base/number_text.h"
#include "experiments/base/status.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_keys.h"

namespace retort {
namespace {

// DPDFD (IJCAI-23)
constexpr std::string_view kConverts = "dpdfd dpdfd-ensemble", kDpdfd = "dpdfd dpdfd-ensemble dpdfd-direct";
// DPSD
constexpr std::string_view kOfGradients = "dpsd-data dpsd-t dpsd-kd", kDpsd = "dpsd-data dpsd-t dpsd-kd dpsd-label",
                           kDpsdAll = "dpsd-data dpsd-t dpsd-kd dpsd-label feddpsd";
constexpr std::string_view kAllOfGradients = "dpdfd dpdfd-ensemble dpdfd-direct dpsd-data dpsd-t dpsd-kd feddpsd";
constexpr std::string_view kDetails = "section IV-A", kReadme = "README of its code",
                           kOfClients = "Appendix D by citation of [56]";
// IV-A names resnet50, and nine networks of which one teaches at a time.
constexpr std::string_view kNine =
    "resnet50 | alexnet | vgg19_bn | wide_resnet50_2 | densenet161 | mobilenet_v2 | shufflenet_v2_x1_0 | "
    "googlenet-transform-input | vit_b_16";

constexpr TextSetting kStated[] = {
    // DPDFD
    {kConverts, "source", "generator", "Algorithm 1"},
    {kConverts, "loss", "dkd", "section 4.2"},
    {kConverts, "dkd_alpha", "1", "by citation of DKD"},
    {kConverts, "dkd_beta", "8", "by citation of DKD"},
    {kConverts, "one_hot", "1", "Eq. 5"},
    {kConverts, "information_entropy", "1", "Eq. 5"},
    {kConverts, "activation_norm", "1", "Eq. 5"},
    {kConverts, "generator_steps", "1", "Algorithm 1"},
    {kConverts, "latent_lr", "0", "Algorithm 1"},
    {kConverts, "discriminator", "student", "Algorithm 1"},
    {kConverts, "pretrain_steps", "0", "Algorithm 1"},
    {"dpdfd-direct", "source", "private", "section 4.4"},
    {"dpdfd-direct", "loss", "ce-hard", "section 4.4"},
    {"dpdfd-direct", "label", "true", "section 4.4"},
    {kDpdfd, "student_steps", "1", "Algorithm 1"},
    {kDpdfd, "student_batch", "= batch", "Algorithm 1"},
    {kDpdfd, "replay", "0", "Algorithm 1"},
    {"dpdfd", "delta", "1e-5", "Figure 2", {}, {}, 0.59, 0.6},
    {kDpdfd, "network", "datalens", "section 5.1"},
    {kDpdfd, "network", "resnet34", "section 5.1", "ImageNet"},

    // DP-DFD
    {"dp-dfd", "source", "generator", "Algorithm 1"},
    {"dp-dfd", "discriminator", "teacher", "section II-B"},
    {"dp-dfd", "pretrain_steps", "> 0", "Algorithm 1"},
    {"dp-dfd", "generator_steps", "> 0", "Algorithm 1"},
    {"dp-dfd", "one_hot", "1", "Eq. 2"},
    {"dp-dfd", "information_entropy", "5", "section III-A"},
    {"dp-dfd", "bn_statistics", "10", "section III-A"},
    {"dp-dfd", "activation_norm", "0", "Eq. 2"},
    {"dp-dfd", "top_k", "0", "Algorithm 1"},
    {"dp-dfd", "threshold", "0", "section III-A", {}, {}, 0, 0, "1 / (2 classes)"},
    {"dp-dfd", "response_loss", "label", "Eq. 3"},
    {"dp-dfd", "replay", "> 0", "section II-C"},
    {"dp-dfd", "network", "datalens | resnet18", "section III-A"},
    {"dp-dfd", "teacher.network", "resnet34", "section III-A"},
    {"dp-dfd", "data.crop", "64", "section III-A", "CelebA-G CelebA-H"},

    // DPSD, of gradients and of labels
    {kDpsdAll, "source", "generator", "Algorithm 1"},
    {"dpsd-data dpsd-t feddpsd", "loss", "dkd", "Eq. 2"},
    {"dpsd-data dpsd-t feddpsd", "dkd_alpha", "1", "Eq. 2"},
    {"dpsd-data dpsd-t feddpsd", "dkd_beta", "8", "Eq. 2"},
    {"dpsd-kd", "loss", "kd", "section IV-F 5"},
    {kDpsdAll, "sigma", "100", kDetails},
    {kDpsdAll, "norm_bound", "0.001", kDetails, {}, {}, 0, 1},
    {kDpsdAll, "norm_bound", "0.005", kDetails, {}, {}, 1, 10},
    {kDpsdAll, "norm_bound", "1e-4", kDetails, "ImageNet"},
    {kOfGradients, "normalization_floor", "1e-4", "Eq. 3"},
    {kOfGradients, "delta", "1e-5", kDetails},
    {"feddpsd", "delta", "1e-5", kDetails, {}, Branch::data},
    {kDpsdAll, "batch", "256", kDetails},
    {kDpsdAll, "steps", "200", kDetails},
    {kDpsd, "top_k", "3", kDetails, "MNIST FMNIST CIFAR10 MedMNIST CelebA-H COVIDx"},
    {kDpsd, "top_k", "50", kDetails, "CIFAR100"},
    {kDpsd, "top_k", "2", kDetails, "CelebA-G"},
    {kDpsd, "top_k", "300", kDetails, "ImageNet"},
    {"feddpsd", "top_k", "3", kDetails, "MNIST FMNIST CIFAR10", Branch::label},
    {"feddpsd", "top_k", "300", kDetails, "ImageNet", Branch::label},
    {"dpsd-label feddpsd", "threshold", "0", "Eq. 5: the top k alone"},
    {"dpsd-label feddpsd", "response_loss", "label", "Eq. 7"},
    {kOfGradients, "gamma", "0.1", "Eq. 3"},
    {kDpsd, "initialisation", "xavier", "Algorithm 1"},
    {kDpsdAll, "lr", "0.1", kDetails},
    {kDpsdAll, "generator_lr", "0.01", kDetails},
    {kDpsd, "latent_lr", "0.01", "Algorithm 1"},
    {"feddpsd", "latent_lr", "0", "Algorithm 2"},
    {"feddpsd", "generator", "fast", "Appendix D by citation of [35]"},
    {"feddpsd", "latent", "256", "Appendix D by citation of [35]"},
    {"feddpsd", "generator_width", "128", "Appendix D by citation of [35]"},
    {kDpsdAll, "one_hot", "1", "Eq. 8"},
    {kDpsdAll, "information_entropy", "1", "Eq. 8"},
    {kDpsdAll, "activation_norm", "1", "Eq. 8"},
    {"dpsd-data dpsd-kd dpsd-label feddpsd", "discriminator", "student", "section III-B 4"},
    {"dpsd-t", "discriminator", "teacher", "section IV-F 3"},
    {kDpsdAll, "pretrain_steps", "0", "Algorithm 1"},
    {kDpsdAll, "student_steps", "1", "Algorithm 1"},
    {kDpsdAll, "student_batch", "= batch", "Algorithm 1"},
    {kDpsdAll, "replay", "0", "Algorithm 1"},
    {kDpsdAll, "generator_steps", "1", "Algorithm 1"},
    {kDpsd, "network", "datalens", kDetails},
    {kDpsd, "network", "resnet34", kDetails, "ImageNet"},
    {kDpsd, "teacher.network", "resnet34", kDetails},
    {kDpsd, "teacher.network", kNine, kDetails, "ImageNet"},
    {"feddpsd", "teacher.members", "5", kDetails},
    {"feddpsd", "teacher.partition", "dirichlet", "section IV-E"},
    {"feddpsd", "teacher.dirichlet_alpha", "0.5", "section IV-E"},
    {"feddpsd", "teacher.optimizer", "sgd", kOfClients},
    {"feddpsd", "teacher.lr", "0.01", kOfClients},
    {"feddpsd", "teacher.momentum", "0.9", kOfClients},
    {"feddpsd", "teacher.batch", "128", kOfClients},
    {"feddpsd", "teacher.epochs", "400", kOfClients},

    // RONA
    {"rona", "source", "public", "Overall Structure"},
    {"rona", "batch", "512", "Effect of Parameters"},
    {"rona", "adaptive_bound", "true", "Privacy Protection"},
    {"rona", "selection", "k-centre", "Algorithm 3"},
    {"rona", "warm_epochs", "0", "Algorithm 1"},
    {"rona", "hint_epochs", "40", kReadme},
    {"rona", "distill_epochs", "8", kReadme},
    {"rona", "self_epochs", "8", kReadme},
    {"rona", "rounds", "5", kReadme},
    {"rona", "student_batch", "128", kReadme},
    {"rona", "sigma", "10", kReadme},
    {"rona", "temperature", "3", kReadme},
    {"rona", "lr", "0.001", kReadme},
    {"rona", "query_fraction", "0.5", kReadme},
    {"rona", "teacher.trained_on", "all", "Introduction"},
    {"rona", "teacher.network", "conv-large", "Effect of Parameters", "CIFAR10"},
    {"rona", "teacher.network", "conv-middle", "Privacy Protection", "SVHN"},
    {"rona", "teacher.network", "conv-small", "Privacy Protection", "MNIST"},
    {"rona", "data.split.public", "0.8", "Effect of Parameters", "CIFAR10"},
};

constexpr OpenSetting kOpen[] = {
    {"dpdfd dpdfd-direct", "batch sigma norm_bound normalization_floor",
     "B, sigma, C and e are not printed: DPSD's, of the same authors"},
    {"dpdfd-ensemble", "batch sigma norm_bound normalization_floor", "B, sigma, C and e are not printed"},
    {kDpdfd, "steps", "T is not printed"},
    {kDpdfd, "kappa kappa_end", "gamma is not printed, and no line lets it fall"},
    {kDpdfd, "lr lr_end generator_lr", "rates and optimiser are not printed: Adam, and no line lets them fall"},
    {"dp-dfd", "steps batch pretrain_steps", "stages, rows and pretraining are not printed"},
    {"dp-dfd", "student_steps student_batch replay replay_fraction",
     "how a stage trains is not printed; section II-C reuses labels, Eq. 3 sums over a stage's own"},
    {"dp-dfd", "lr lr_end generator_lr generator_steps", "rates and optimiser are not printed: Adam"},
    {kDpsdAll, "lr_end", "no line lets the rates fall"},
    {kOfGradients, "steps", "T = 200 and the formula's epsilon exclude each other: where one is asked for, it decides"},
    {"dpsd-label", "replay",
     "Algorithm 1 teaches the batch of its iteration alone, section III-C uses labels again: the algorithm is taken"},
    {"feddpsd", "kappa kappa_end", "no line uses Algorithm 2's gamma", Branch::data},
    {"feddpsd", "trust", "Algorithm 2 lets the server add the noise, section III-D trusts none", Branch::data},
    {"dpdfd dpdfd-ensemble dp-dfd dpsd-data dpsd-t dpsd-kd dpsd-label", "latent generator_width",
     "the generator is not described"},
    {"feddpsd", "initialisation", "Algorithm 2 does not say it"},
    {"dpsd-kd", "temperature", "not printed"},
    {kConverts, "temperature", "DKD softens by 4, no equation here does"},
    {kAllOfGradients, "normalization", "||g|| has no index: that of each row is taken", Branch::data, "frobenius"},
    {kDpdfd, "gradient_of", "the student's outputs are read as its logits", Branch::data, "probabilities"},
    {"dpsd-data dpsd-t dpsd-kd feddpsd", "gradient_of", "p names probabilities; here the loss is derived by logits",
     Branch::data, "probabilities"},
    {kAllOfGradients, "project",
     "no equation takes the mean of a noisy row off, which a gradient at logits does not have", Branch::data, "false"},
    {"dpsd-data dpsd-t feddpsd", "loss", "Eq. 2's denominators as DKD has them", Branch::data, "dkd-printed"},
    {kOfGradients, "mask_by", "largest is read as largest in size", std::nullopt, "value"},
    {"feddpsd", "target", "a step along the gradient, which is line 15's label itself", Branch::data, "gradient"},
    {"dpsd-label", "response_over", "Eq. 4 and 5 draw over all classes, Algorithm 2 over the candidates", std::nullopt,
     "classes"},
    {"dpdfd dpdfd-ensemble dp-dfd", "generator_form", "the signs of the equation are against its prose, which is taken",
     std::nullopt, "printed"},
    {kDpsdAll, "generator_form", "the signs and sums of Eq. 8 are against its prose, which is taken", std::nullopt,
     "printed-sums"},
    {"rona", "norm_bound auxiliary_epochs", "not printed"},
};

// Texts that state delta with these results alone.
struct DeltaPlaces {
  std::string_view methods, places;
};
constexpr DeltaPlaces kDeltaPlaces[] = {
    {kDpdfd, "Tables 1 and 3 and Figure 2"},
    {"rona", "Table 2 and under Privacy Protection"},
};

constexpr std::string_view kSame = "= ", kMore = "> ", kOr = " | ", kOfTeacher = "teacher.", kOfData = "data.";

std::string_view PublishedName(const DataSpec& data) {
  return data.published_as ? std::string_view(*data.published_as) : std::string_view(data.name);
}

// The key, where it applies to the trial.
const SpecKey* FindApplying(const TrialSpec& spec, std::string_view name) {
  for (const SpecKey& key : ListSpecKeys())
    if (key.name == name) return key.AppliesTo(FindKind(spec), spec.source) ? &key : nullptr;
  return nullptr;
}

double AsNumber(const KeyValue& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return static_cast<double>(*count);
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? *number : 0;
}

double ParseStated(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  RETORT_CHECK(error == std::errc() && end == text.data() + text.size());
  return number;
}

// Whether the trial's value of the key is this one of the text's.
bool FitsOne(const TrialSpec& spec, const SpecKey& key, std::string_view text) {
  const KeyValue value = key.get(spec);
  if (text.starts_with(kMore)) return AsNumber(value) > ParseStated(text.substr(kMore.size()));
  if (text.starts_with(kSame)) {
    const SpecKey* other = FindApplying(spec, text.substr(kSame.size()));
    return other == nullptr || AsNumber(value) == AsNumber(other->get(spec));
  }
  if (const auto* number = std::get_if<double>(&value)) return *number == ParseStated(text);
  const std::string here = FormatValue(key, value);
  // A network's text leaves open how it takes small images, and equation 2 is DKD but for its denominators.
  if (key.name == "network" && here == std::string(text) + "-cifar") return true;
  return here == text || (key.name == "loss" && here == std::string(text) + "-printed");
}

// Whether it is one of the text's.
bool Fits(const TrialSpec& spec, const SpecKey& key, std::string_view text) {
  for (;;) {
    const std::size_t end = text.find(kOr);
    if (FitsOne(spec, key, text.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + kOr.size());
  }
}

std::string FormatStated(const TextSetting& setting, const SpecKey& key) {
  const std::string_view text = setting.words.empty() ? setting.value : setting.words;
  if (text.starts_with(kSame)) return std::string(text.substr(kSame.size()));
  if (!setting.words.empty() || text.starts_with(kMore) || key.type != KeyType::number) return std::string(text);
  return FormatValue(key, ParseStated(text));
}

bool DecidedByEpsilon(const TrialSpec& spec, std::string_view key) {
  const Calibrate calibrate = spec.privacy.epsilon > 0 ? spec.privacy.calibrate : Calibrate::none;
  return (key == "steps" && calibrate == Calibrate::steps) || (key == "sigma" && calibrate == Calibrate::noise);
}

std::string HereText(const TrialSpec& spec, const SpecKey& key) {
  if (DecidedByEpsilon(spec, key.name)) return "by epsilon";
  if (key.name == "gamma" && spec.distill.gamma == 0)
    return FormatSixDigits(spec.distill.kappa / spec.release.norm_bound) + " to " +
           FormatSixDigits(spec.distill.kappa_end / spec.release.norm_bound);
  return FormatValue(key, key.get(spec));
}

bool IsWithoutEffect(const TrialSpec& spec, std::string_view key) {
  if (key == "warm_epochs") return FollowsAlgorithm(spec);
  return (key == "kappa" || key == "kappa_end") && spec.distill.gamma > 0;
}

bool IsOfBranch(const TrialSpec& spec, const std::optional<Branch>& branch) {
  return !branch || *branch == spec.release.branch;
}

// How a trial differs from one row of the table; nothing where it does not, and where the row's key has no place in it.
std::optional<Difference> CompareTrial(const TextSetting& setting, const TrialSpec& spec) {
  const SpecKey* key = FindApplying(spec, setting.key);
  if (key == nullptr || (Fits(spec, *key, setting.value) && !DecidedByEpsilon(spec, setting.key))) return std::nullopt;
  return Difference{std::string(key->TrialName()), HereText(spec, *key), FormatStated(setting, *key), setting.place};
}

// `teacher` may be null.
std::optional<Difference> CompareTeacher(const TextSetting& setting, const TrialSpec* teacher) {
  const SpecKey* key = teacher == nullptr ? nullptr : FindApplying(*teacher, setting.key.substr(kOfTeacher.size()));
  if (key == nullptr || Fits(*teacher, *key, setting.value)) return std::nullopt;
  return Difference{std::string(setting.key), FormatValue(*key, key->get(*teacher)), FormatStated(setting, *key),
                    setting.place};
}

// The share of the examples that training may see which is public, to three digits; nothing before they are counted.
std::string FormatPublicShare(const DataSpec& data) {
  const std::int64_t shared = data.split.public_range.size(), all = shared + data.split.train.size();
  if (shared == 0 || data.split.train.size() == 0) return "";
  return FormatSixDigits(std::round(1000.0 * static_cast<double>(shared) / static_cast<double>(all)) / 1000.0);
}

std::optional<Difference> CompareData(const TextSetting& setting, const TrialSpec& spec) {
  if (!spec.data) return std::nullopt;
  const std::string_view name = setting.key.substr(kOfData.size());
  RETORT_CHECK(name == "crop" || name == "split.public");
  const std::string here =
      name == "crop" ? std::to_string(spec.data->preprocessing.crop) : FormatPublicShare(*spec.data);
  if (here.empty() || here == setting.value) return std::nullopt;
  return Difference{std::string(setting.key), here, std::string(setting.value), setting.place};
}

}  // namespace

std::span<const TextSetting> ListTextSettings() { return kStated; }

std::span<const OpenSetting> OpenSettings() { return kOpen; }

bool FollowsPaper(const TrialSpec& spec) {
  if (spec.role != Role::student || spec.reading == Reading::sound) return false;
  const MethodTraits* method = FindMethod(spec.method);
  return method != nullptr && method->readings != 0;
}

bool IsAbout(const TextSetting& setting, const TrialSpec& spec) {
  if (!FollowsPaper(spec) || !HoldsName(setting.methods, spec.method)) return false;
  if (!IsOfBranch(spec, setting.branch)) return false;
  if (!setting.data.empty() && (!spec.data || !HoldsName(setting.data, PublishedName(*spec.data)))) return false;
  return setting.most == 0 || (spec.privacy.epsilon > setting.above && spec.privacy.epsilon <= setting.most);
}

const TextSetting* FindStated(const TrialSpec& spec, std::string_view key) {
  const TextSetting* found = nullptr;
  for (const TextSetting& setting : kStated) {
    if (setting.key != key || !IsAbout(setting, spec)) continue;
    if (found == nullptr || !setting.data.empty()) found = &setting;
  }
  return found;
}

std::string_view FindDeltaPlaces(const TrialSpec& spec) {
  // A response has an epsilon at delta 0, and who asks no teacher spends nothing.
  const bool needs = FollowsPaper(spec) && !TakesResponses(spec) && !AsksNoTeacher(spec);
  if (!needs || FindStated(spec, "delta") != nullptr) return {};
  for (const DeltaPlaces& text : kDeltaPlaces)
    if (HoldsName(text.methods, spec.method)) return text.places;
  return {};
}

std::vector<Difference> ListDifferences(const TrialSpec& spec, const TrialSpec* teacher) {
  std::vector<Difference> found;
  for (const TextSetting& setting : kStated) {
    if (!IsAbout(setting, spec) || IsWithoutEffect(spec, setting.key)) continue;
    if (&setting != FindStated(spec, setting.key)) continue;
    std::optional<Difference> one = setting.key.starts_with(kOfTeacher) ? CompareTeacher(setting, teacher)
                                    : setting.key.starts_with(kOfData)  ? CompareData(setting, spec)
                                                                        : CompareTrial(setting, spec);
    if (one) found.push_back(*std::move(one));
  }
  return found;
}

std::vector<Chosen> ListChosen(const TrialSpec& spec) {
  std::vector<Chosen> found;
  if (!FollowsPaper(spec) || spec.reading != Reading::stated) return found;
  const std::vector<Difference> differences = ListDifferences(spec);
  const auto differs = [&differences](std::string_view name) {
    return std::any_of(differences.begin(), differences.end(),
                       [name](const Difference& one) { return one.key == name; });
  };
  for (const OpenSetting& setting : kOpen) {
    if (!HoldsName(setting.methods, spec.method) || !IsOfBranch(spec, setting.branch)) continue;
    VisitNames(setting.keys, [&](std::string_view name) {
      const SpecKey* key = FindApplying(spec, name);
      if (key == nullptr || IsWithoutEffect(spec, name) || differs(key->TrialName())) return;
      const std::string here = HereText(spec, *key);
      if (here != setting.letter) found.push_back({std::string(key->TrialName()), here, setting.reason});
    });
  }
  return found;
}

}  // namespace retort
