#include "experiments/methods/stated_settings.h"

#include <algorithm>
#include <charconv>
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
constexpr std::string_view kDetails = "section IV-A", kReadme = "README of its code";

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

    // DPSD, of gradients and of labels
    {kDpsdAll, "source", "generator", "Algorithm 1"},
    {"dpsd-data dpsd-t feddpsd", "loss", "dkd", "Eq. 2"},
    {"dpsd-data dpsd-t", "dkd_alpha", "1", "Eq. 2"},
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

constexpr std::string_view kSame = "= ", kMore = "> ";

bool IsStudentOfReading(const TrialSpec& spec) {
  if (spec.role != Role::student || spec.reading == Reading::sound) return false;
  const MethodTraits* method = FindMethod(spec.method);
  return method != nullptr && method->readings != 0;
}

std::string_view PublishedName(const DataSpec& data) {
  return data.published_as ? std::string_view(*data.published_as) : std::string_view(data.name);
}

// The key, where it applies to the trial.
const SpecKey* FindApplying(const TrialSpec& spec, std::string_view name) {
  for (const SpecKey& key : SpecKeys())
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

// Whether the trial's value of the key is the text's.
bool Fits(const TrialSpec& spec, const SpecKey& key, std::string_view text) {
  const KeyValue value = key.get(spec);
  if (text.starts_with(kMore)) return AsNumber(value) > ParseStated(text.substr(kMore.size()));
  if (text.starts_with(kSame)) {
    const SpecKey* other = FindApplying(spec, text.substr(kSame.size()));
    return other == nullptr || AsNumber(value) == AsNumber(other->get(spec));
  }
  if (const auto* number = std::get_if<double>(&value)) return *number == ParseStated(text);
  const std::string here = ValueText(key, value);
  // A network's text leaves open how it takes small pictures, and equation 2 is DKD but for its denominators.
  if (key.name == "network" && here == std::string(text) + "-cifar") return true;
  return here == text || (key.name == "loss" && here == std::string(text) + "-printed");
}

std::string FormatStated(const TextSetting& setting, const SpecKey& key) {
  const std::string_view text = setting.words.empty() ? setting.value : setting.words;
  if (text.starts_with(kSame)) return std::string(text.substr(kSame.size()));
  if (!setting.words.empty() || text.starts_with(kMore) || key.type != KeyType::number) return std::string(text);
  return ValueText(key, ParseStated(text));
}

bool DecidedByEpsilon(const TrialSpec& spec, std::string_view key) {
  return key == "steps" && spec.privacy.epsilon > 0 && spec.privacy.calibrate == Calibrate::steps;
}

std::string HereText(const TrialSpec& spec, const SpecKey& key) {
  if (DecidedByEpsilon(spec, key.name)) return "by epsilon";
  if (key.name == "gamma" && spec.distill.gamma == 0)
    return SixDigitNumber(spec.distill.kappa / spec.release.norm_bound) + " to " +
           SixDigitNumber(spec.distill.kappa_end / spec.release.norm_bound);
  return ValueText(key, key.get(spec));
}

bool IsWithoutEffect(const TrialSpec& spec, std::string_view key) {
  if (key == "warm_epochs") return FollowsAlgorithm(spec);
  return (key == "kappa" || key == "kappa_end") && spec.distill.gamma > 0;
}

bool IsOfBranch(const TrialSpec& spec, const std::optional<Branch>& branch) {
  return !branch || *branch == spec.release.branch;
}

}  // namespace

std::span<const TextSetting> TextSettings() { return kStated; }

std::span<const OpenSetting> OpenSettings() { return kOpen; }

bool IsAbout(const TextSetting& setting, const TrialSpec& spec) {
  if (!IsStudentOfReading(spec) || !HoldsName(setting.methods, spec.method)) return false;
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
  const bool needs = IsStudentOfReading(spec) && !TakesResponses(spec) && !AsksNoTeacher(spec);
  if (!needs || FindStated(spec, "delta") != nullptr) return {};
  for (const DeltaPlaces& text : kDeltaPlaces)
    if (HoldsName(text.methods, spec.method)) return text.places;
  return {};
}

std::vector<Difference> ListDifferences(const TrialSpec& spec) {
  std::vector<Difference> found;
  for (const TextSetting& setting : kStated) {
    if (!IsAbout(setting, spec) || IsWithoutEffect(spec, setting.key)) continue;
    if (&setting != FindStated(spec, setting.key)) continue;
    const SpecKey* key = FindApplying(spec, setting.key);
    if (key == nullptr || (Fits(spec, *key, setting.value) && !DecidedByEpsilon(spec, setting.key))) continue;
    found.push_back({std::string(key->TrialName()), HereText(spec, *key), FormatStated(setting, *key), setting.place});
  }
  return found;
}

std::vector<Chosen> ListChosen(const TrialSpec& spec) {
  std::vector<Chosen> found;
  if (!IsStudentOfReading(spec) || spec.reading != Reading::stated) return found;
  const std::vector<Difference> differences = ListDifferences(spec);
  const auto differs = [&differences](std::string_view name) {
    return std::any_of(differences.begin(), differences.end(),
                       [name](const Difference& one) { return one.key == name; });
  };
  for (const OpenSetting& setting : kOpen) {
    if (!HoldsName(setting.methods, spec.method) || !IsOfBranch(spec, setting.branch)) continue;
    ForEachName(setting.keys, [&](std::string_view name) {
      const SpecKey* key = FindApplying(spec, name);
      if (key == nullptr || IsWithoutEffect(spec, name) || differs(key->TrialName())) return;
      found.push_back({std::string(key->TrialName()), HereText(spec, *key), setting.reason});
    });
  }
  return found;
}

namespace {

constexpr std::size_t kMaxShown = 4;  // values of a key in one line

// What trials of one method, branch and reading say of a key.
struct KeyLine {
  std::string key, text;
  std::string_view place;           // or the reason
  std::vector<std::string> values;  // distinct ones, in the trials' order
};

void AddValue(std::vector<KeyLine>& lines, const KeyLine& line, const std::string& value) {
  auto found = std::find_if(lines.begin(), lines.end(), [&](const KeyLine& other) {
    return other.key == line.key && other.text == line.text && other.place == line.place;
  });
  if (found == lines.end()) found = lines.insert(lines.end(), line);
  if (std::find(found->values.begin(), found->values.end(), value) == found->values.end())
    found->values.push_back(value);
}

// "20, 50, 200", or "20, 50, 100, ... 500".
std::string ValuesText(const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool left_out = values.size() > kMaxShown && i + 1 >= kMaxShown && i + 1 < values.size();
    if (left_out) continue;
    if (!text.empty()) text += values.size() > kMaxShown && i + 1 == values.size() ? ", ... " : ", ";
    text += values[i];
  }
  return text;
}

struct SettingsGroup {
  std::string subject;  // "working dpdfd", "stated feddpsd, branch label"
  bool stated = false;
  std::vector<KeyLine> differs, chosen;
};

std::string Subject(const TrialSpec& spec) {
  std::string subject = KeyText(spec, "reading") + " " + spec.method;
  if (HasBranches(spec)) subject += ", branch " + KeyText(spec, "branch");
  return subject;
}

void Gather(const TrialSpec& spec, SettingsGroup& group) {
  for (Difference& difference : ListDifferences(spec))
    AddValue(group.differs, {difference.key, difference.text, difference.place, {}}, difference.here);
  for (const Chosen& chosen : ListChosen(spec))
    AddValue(group.chosen, {chosen.key, "", chosen.reason, {}}, chosen.here);
}

// Lines of one place, or one reason, stand together, in the order of the first.
std::vector<KeyLine> Together(const std::vector<KeyLine>& lines) {
  std::vector<KeyLine> sorted;
  for (const KeyLine& line : lines) {
    const auto same = [&](const KeyLine& other) { return other.place == line.place; };
    const auto last = std::find_if(sorted.rbegin(), sorted.rend(), same);
    sorted.insert(last == sorted.rend() ? sorted.end() : last.base(), line);
  }
  return sorted;
}

// The keys with their values, each with what `about` says of it; behind those of one place, or one reason, what
// `behind` makes of it.
template <typename About, typename Behind>
std::string JoinByPlace(const std::vector<KeyLine>& lines, About about, Behind behind) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const KeyLine& line = lines[i];
    if (i > 0) text += lines[i - 1].place == line.place ? ", " : "; ";
    text += line.key + " " + ValuesText(line.values) + about(line);
    if (i + 1 == lines.size() || lines[i + 1].place != line.place) text += behind(std::string(line.place));
  }
  return text;
}

// "dkd_beta 1 (8), by citation of DKD; information_entropy 20 (1), activation_norm 0.1 (1), Eq. 5"
std::string DiffersText(const std::vector<KeyLine>& lines) {
  return JoinByPlace(
      lines, [](const KeyLine& line) { return " (" + line.text + ")"; },
      [](const std::string& place) { return ", " + place; });
}

// "steps 160 (T is not printed); lr 0.001, generator_lr 0.001 (rates are not printed)"
std::string ChosenText(const std::vector<KeyLine>& lines) {
  return JoinByPlace(
      lines, [](const KeyLine&) { return ""; }, [](const std::string& reason) { return " (" + reason + ")"; });
}

std::string GroupText(const SettingsGroup& group) {
  const std::string differs = group.differs.empty()
                                  ? " is as its text"
                                  : " differs from its text (in brackets): " + DiffersText(Together(group.differs));
  const std::string chosen = group.chosen.empty() ? "" : " Not in it: " + ChosenText(Together(group.chosen)) + ".";
  return group.subject + differs + "." + chosen;
}

}  // namespace

std::vector<std::string> DescribeSettings(std::span<const TrialSpec* const> trials) {
  std::vector<SettingsGroup> groups;
  for (const TrialSpec* spec : trials) {
    if (!IsStudentOfReading(*spec)) continue;
    std::string subject = Subject(*spec);
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const SettingsGroup& group) { return group.subject == subject; });
    if (found == groups.end())
      found = groups.insert(groups.end(), {std::move(subject), spec->reading == Reading::stated, {}, {}});
    Gather(*spec, *found);
  }
  std::vector<std::string> lines;
  for (const SettingsGroup& group : groups)
    if (group.stated || !group.differs.empty()) lines.push_back(GroupText(group));
  return lines;
}

}  // namespace retort
