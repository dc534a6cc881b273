#include "orchestrator/results/tables/published.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "experiments/base/number_text.h"

namespace retort::orchestrator {
namespace {

// One line of RFC 4180 text without line breaks inside quotes.
std::vector<std::string> SplitCsvLine(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

// Counts are printed as 4.97K and 0.15M; their digits are exact in decimal, so the unit moves the exponent.
std::optional<double> ParseCount(const std::string& text) {
  if (text.ends_with('K')) return ParseFiniteNumber(text.substr(0, text.size() - 1) + "e3");
  if (text.ends_with('M')) return ParseFiniteNumber(text.substr(0, text.size() - 1) + "e6");
  return ParseFiniteNumber(text);
}

}  // namespace

std::vector<PublishedValue> ParsePublished(std::string_view csv) {
  std::vector<PublishedValue> values;
  bool header = true;
  while (!csv.empty()) {
    const std::size_t end = std::min(csv.find('\n'), csv.size());
    std::string_view line = csv.substr(0, end);
    csv.remove_prefix(std::min(end + 1, csv.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::exchange(header, false) || line.empty()) continue;
    const std::vector<std::string> fields = SplitCsvLine(line);
    if (fields.size() != 10) continue;
    const std::optional<double> number = ParseCount(fields[8]);
    if (!number) continue;
    values.push_back({fields[0], fields[1], fields[2], fields[3], ParseFiniteNumber(fields[4]),
                      ParseFiniteNumber(fields[5]), fields[6], fields[7], *number, fields[9], fields[8]});
  }
  return values;
}

const std::vector<PublishedValue>& ReadAllPublished() {
  static const std::vector<PublishedValue> all = ParsePublished(GetPublishedCsv());
  return all;
}

std::vector<PublishedValue> FindPublishedTable(std::string_view paper_and_table) {
  if (paper_and_table.empty()) return {};
  std::vector<PublishedValue> values = ReadAllPublished();
  std::erase_if(values,
                [&](const PublishedValue& value) { return value.paper + "/" + value.table != paper_and_table; });
  return values;
}

std::vector<std::string> ListPublishedTables() {
  std::set<std::string> names;
  for (const PublishedValue& value : ReadAllPublished()) names.insert(value.paper + "/" + value.table);
  return {names.begin(), names.end()};
}

privacy::Adjacency FindAdjacency(const PublishedValue& value) {
  constexpr std::array<std::string_view, 5> kOfLabels = {"ALIBI", "ClusterRR", "DP-DFD", "LP-2ST", "Protocol"};
  constexpr std::array<std::string_view, 2> kForLabels = {"label DP", "label-sensitive"};
  const bool approach = std::find(kOfLabels.begin(), kOfLabels.end(), value.approach) != kOfLabels.end();
  const bool setting = std::any_of(kForLabels.begin(), kForLabels.end(),
                                   [&](std::string_view words) { return value.setting.starts_with(words); });
  return approach || setting ? privacy::Adjacency::label : privacy::Adjacency::example;
}

bool RoundsToPrinted(const PublishedValue& value, double measured) {
  const std::size_t point = value.printed.find('.');
  const std::size_t digits = point == std::string::npos ? value.printed.size() : point + 1;
  const auto decimals =
      static_cast<int>(std::min(value.printed.find_first_not_of("0123456789", digits), value.printed.size()) - digits);
  double unit = std::pow(10.0, -decimals);
  if (value.printed.ends_with('K')) unit *= 1e3;
  if (value.printed.ends_with('M')) unit *= 1e6;
  return std::abs(measured - value.value) < unit;  // some papers round, and some cut off
}

std::string FormatPublishedName(const PublishedValue& value) {
  std::string name = value.approach;
  if (!value.setting.empty()) name += ", " + value.setting;
  if (!value.dataset.empty()) name += ", " + value.dataset;
  if (value.epsilon) name += ", ε = " + FormatShortNumber(*value.epsilon);
  return name + " in " + value.paper + "/" + value.table;
}

std::string FormatPublishedNote(const PublishedValue& value) {
  return value.note.empty() ? "" : value.paper + "/" + value.table + ": " + value.note;
}

namespace {

// Conditions are written "KEY/OTHER-KEY = VALUE|OTHER-VALUE; KEY != VALUE; KEY on; KEY off".

// Of the data set alone, where one is named. `formula`: as PublishedScope.
struct ApproachRule {
  std::string_view approach, dataset, conditions;
  bool formula = false;
};
constexpr std::array kApproaches = {
    ApproachRule{"Teacher", "", "method = plain|loaded; trained_on != public"},
    ApproachRule{"DPDFD", "", "method = dpdfd", true},
    ApproachRule{"DP-DFD", "", "method = dp-dfd", true},
    ApproachRule{"DPSD", "", "method = dpsd-data|dpsd-label", true},
    ApproachRule{"DPSD-T", "", "method = dpsd-t", true},
    ApproachRule{"FedDPSD", "", "method = feddpsd; branch = data", true},
    ApproachRule{"FedAVG", "", "method = fedavg"},
    ApproachRule{"DENSE", "", "method = dense"},
    ApproachRule{"RONA", "", "method = rona", true},
    ApproachRule{"RONA-S1", "CIFAR10", "method = rona; student = conv-small", true},
    ApproachRule{"RONA-S1", "SVHN", "method = rona; student = conv-small-svhn", true},
    ApproachRule{"RONA-S1", "MNIST", "method = rona; student = conv-small-mnist", true},
    ApproachRule{"RONA-S2", "CIFAR10", "method = rona; student = conv-small-s2", true},
    ApproachRule{"DPSGD", "", "method = dpsgd; activation != tanh; clipping != per-layer"},
    ApproachRule{"TSADP", "", "method = dpsgd; activation = tanh; clipping != per-layer"},
    ApproachRule{"GM-DP", "", "method = dpsgd; clipping = per-layer"},
    ApproachRule{"PATE-2018", "", "method = pate"},
    ApproachRule{"DP-MERF", "", "method = dp-merf"},
    ApproachRule{"LP-2ST", "", "method = lp-2st"},
    ApproachRule{"ALIBI", "", "method = alibi"},
};

constexpr std::string_view kSeparators = " ,;";  // between the phrases of a setting

// A phrase of a setting. The first row counts that has the value's approach and data set, or none. A condition on a key
// takes the place of the approach's condition on it.
struct PhraseRule {
  std::string_view phrase, approach, dataset, conditions;
  bool joins = true;
};
constexpr std::array kPhrases = {
    PhraseRule{"data-sensitive", "DPSD", "", "method = dpsd-data"},
    PhraseRule{"data-sensitive", "", "", ""},
    PhraseRule{"label-sensitive", "DPSD", "", "method = dpsd-label"},
    PhraseRule{"label-sensitive", "", "", ""},
    PhraseRule{"label DP", "", "", ""},
    PhraseRule{"direct training on private data", "DPDFD", "", "method = dpdfd-direct"},
    PhraseRule{"direct training on private data", "", "", ""},
    // DPSD §F.3 and Fig. 4 are of the branch with delta = 1e-5, which protects data.
    PhraseRule{"discriminator=student", "DPSD", "", "method = dpsd-data; discriminator = student"},
    PhraseRule{"discriminator=teacher", "DPSD-T", "", ""},
    PhraseRule{"5 clients, Dirichlet 0.5", "", "",
               "clients/teacher.members = 5; dirichlet_alpha/teacher.dirichlet_alpha = 0.5; "
               "teacher.partition != shards"},
    PhraseRule{"public fraction 0.8", "", "", "public_fraction = 0.8"},
    PhraseRule{"public fraction 0.4 (MNIST, SVHN), 0.8 (CIFAR10)", "", "CIFAR10", "public_fraction = 0.8"},
    PhraseRule{"public fraction 0.4 (MNIST, SVHN), 0.8 (CIFAR10)", "", "", "public_fraction = 0.4"},
    PhraseRule{"digits 6 and 9 sensitive; overall", "", "", "data.sensitive_classes = 6,9"},
    PhraseRule{"digits 6 and 9 sensitive; unseen classes 6 and 9", "", "",
               "data.sensitive_classes = 6,9; metric = test.sensitive_accuracy"},
    PhraseRule{"100 images, ARM Cortex-A53 phone", "", "", "", false},
    PhraseRule{"ResNet34 to three-layer CNN, 20 iterations, three RTX 3090", "", "", "", false},
};

// teacher=NAME of a setting, and the networks that it may be.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kTeachers = {
    {{"AlexNet", "alexnet"},
     {"VGGNet", "vgg19_bn"},
     {"ResNet", "resnet50"},
     {"WideResNet", "wide_resnet50_2"},
     {"DenseNet", "densenet161"},
     {"MobileNet", "mobilenet_v2"},
     {"ShuffleNet", "shufflenet_v2_x1_0"},
     {"GoogleNet", "googlenet|googlenet-transform-input"},
     {"ViT", "vit_b_16"}}};

// generator_loss=TERM+TERM: the keys of each term. Papers that match batch-norm statistics call that "Norm", too.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLossTerms = {
    {{"CE", "one_hot"}, {"IE", "information_entropy"}, {"Norm", "activation_norm/bn_statistics"}}};

// What a metric of published.csv is called in rows, where a setting does not say.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kMetrics = {
    {{"accuracy", "test.accuracy"}, {"parameters", "student.parameters"}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kDataAliases = {{{"fashionmnist", "fmnist"},
                                                                                        {"celebagender", "celebag"},
                                                                                        {"celebahair", "celebah"},
                                                                                        {"ilsvrc2012", "imagenet"},
                                                                                        {"imagenet1k", "imagenet"},
                                                                                        {"covidxcxr", "covidx"}}};

std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '-' && c != '_' && c != ' ') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return plain;
}

std::string PlainDataSet(std::string_view name) {
  const std::string plain = Plain(name);
  for (const auto& [alias, known] : kDataAliases)
    if (plain == alias) return std::string(known);
  return plain;
}

template <typename Table>
std::string_view Look(const Table& table, std::string_view name) {
  for (const auto& [known, meaning] : table)
    if (known == name) return meaning;
  return {};
}

std::vector<std::string> Split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + separator.size(), text.size()));
  }
  return parts;
}

TrialCondition ParseCondition(const std::string& text) {
  const std::vector<std::string> words = Split(text, " ");
  TrialCondition condition;
  condition.keys = Split(words.at(0), "/");
  if (words.at(1) == "on" || words.at(1) == "off") {
    condition.relation = words[1] == "on" ? Relation::on : Relation::off;
  } else {
    condition.relation = words[1] == "=" ? Relation::is : Relation::is_not;
    condition.values = Split(words.at(2), "|");
  }
  return condition;
}

void Put(std::string_view conditions, PublishedScope& scope) {
  for (const std::string& text : Split(conditions, "; ")) {
    TrialCondition condition = ParseCondition(text);
    const auto same = std::find_if(scope.conditions.begin(), scope.conditions.end(),
                                   [&](const TrialCondition& known) { return known.keys == condition.keys; });
    if (same == scope.conditions.end())
      scope.conditions.push_back(std::move(condition));
    else
      *same = std::move(condition);
  }
}

// The row of the longest phrase that `text` begins with, up to a separator.
const PhraseRule* PhraseAt(std::string_view text, const PublishedValue& value) {
  const PhraseRule* best = nullptr;
  for (const PhraseRule& rule : kPhrases) {
    if (!text.starts_with(rule.phrase)) continue;
    const std::string_view after = text.substr(rule.phrase.size());
    if (!after.empty() && kSeparators.find(after.front()) == std::string_view::npos) continue;
    if (!rule.approach.empty() && rule.approach != value.approach) continue;
    if (!rule.dataset.empty() && !IsSameDataSet(rule.dataset, value.dataset)) continue;
    if (best == nullptr || rule.phrase.size() > best->phrase.size()) best = &rule;
  }
  return best;
}

bool PutLossTerms(std::string_view terms, PublishedScope& scope) {
  const std::vector<std::string> named = Split(terms, "+");
  for (const std::string& term : named)
    if (Look(kLossTerms, term).empty()) return false;
  for (const auto& [term, keys] : kLossTerms) {
    const bool on = std::find(named.begin(), named.end(), term) != named.end();
    Put(std::string(keys) + (on ? " on" : " off"), scope);
  }
  return true;
}

// KEY=VALUE: a key of the trial by its own name, but for teachers and loss terms.
bool PutAssignment(std::string_view word, const PublishedValue& value, PublishedScope& scope) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == word.size()) return false;
  const std::string key(word.substr(0, equals)), text(word.substr(equals + 1));
  if (key == "generator_loss") return PutLossTerms(text, scope);
  if (key != "teacher") {
    Put(key + " = " + text, scope);
    return true;
  }
  const std::string_view networks = Look(kTeachers, text);
  if (networks.empty()) return false;
  // A TorchScript module has no network of this program; its name in the sweep says what it is.
  Put("teacher.network = " + std::string(networks) + "|torchscript:" + text, scope);
  if (value.approach == "DPSD") Put("method = dpsd-data", scope);
  return true;
}

bool PutSetting(const PublishedValue& value, PublishedScope& scope) {
  std::string_view left = value.setting;
  while (!left.empty()) {
    if (kSeparators.find(left.front()) != std::string_view::npos) {
      left.remove_prefix(1);
      continue;
    }
    if (const PhraseRule* rule = PhraseAt(left, value)) {
      if (!rule->joins) return false;
      Put(rule->conditions, scope);
      left.remove_prefix(rule->phrase.size());
      continue;
    }
    const std::string_view word = left.substr(0, std::min(left.find_first_of(kSeparators), left.size()));
    if (!PutAssignment(word, value, scope)) return false;
    left.remove_prefix(word.size());
  }
  return true;
}

}  // namespace

PublishedScope FindScope(const PublishedValue& value) {
  PublishedScope scope;
  const auto found = [&](const auto& same) {
    return std::find_if(kApproaches.begin(), kApproaches.end(), [&](const ApproachRule& known) {
      return same(known.approach, value.approach) &&
             (known.dataset.empty() || IsSameDataSet(known.dataset, value.dataset));
    });
  };
  // DPDFD and DP-DFD are two methods: as it is spelled comes before what reads alike.
  auto rule = found(std::equal_to<std::string_view>());
  if (rule == kApproaches.end()) rule = found(IsSameApproach);
  const std::string_view metric = Look(kMetrics, value.metric);
  const bool native = rule != kApproaches.end();
  if (!metric.empty()) Put("metric = " + std::string(metric), scope);
  Put(native && rule->approach == "Teacher" ? "role = teacher" : "role = student", scope);
  if (native) Put(rule->conditions, scope);
  scope.formula = native && rule->formula;
  scope.joins = PutSetting(value, scope) && native && !metric.empty();
  return scope;
}

bool IsSameDataSet(std::string_view a, std::string_view b) { return PlainDataSet(a) == PlainDataSet(b); }

bool IsSameApproach(std::string_view a, std::string_view b) { return Plain(a) == Plain(b); }

}  // namespace retort::orchestrator
