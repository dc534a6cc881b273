#include "orchestrator/results/tables/published_join.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "orchestrator/results/trial_fields.h"

namespace retort::orchestrator {
namespace {

// Papers print a formula's value to three digits or so, some cut off and some rounded.
constexpr double kPrintedDigits = 5e-3;

bool SameNumber(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

// Of a network that a file describes: the name that the sweep gives it.
std::string NetworkFact(const TrialSpec& spec) {
  return spec.network == kTorchScript ? "torchscript:" + spec.teacher : spec.network;
}

std::string PublicFraction(const TrialSpec& spec) {
  if (!spec.data) return "";
  const auto open = static_cast<double>(spec.data->PublicExamples());
  const auto all = open + static_cast<double>(spec.data->PrivateExamples());
  return all > 0 ? fmt::format("{:.3f}", open / all) : "";  // splits are of whole examples
}

std::string SensitiveClasses(const TrialSpec& spec) {
  return spec.data ? fmt::format("{}", fmt::join(spec.data->sensitive_classes, ",")) : "";
}

bool Stands(const PublishedValue& value, const std::string& column, const std::string& text) {
  if (column == "dataset") return IsSameDataSet(value.dataset, text);
  if (column == "approach") return IsSameApproach(value.approach, text);
  if (column == "setting") return value.setting == text;
  if (column == "metric") return value.metric == text;
  const std::optional<double> asked = ParseFiniteNumber(text);
  const std::optional<double> there = column == "epsilon" ? value.epsilon : value.delta;
  return asked && there && SameNumber(*asked, *there, 1e-9);
}

std::string Shown(const TrialSpec& spec) {
  std::string text = spec.role == Role::teacher ? "teacher " + spec.teacher : spec.method;
  for (const auto& [key, value] : spec.axes)
    if (key != "method" && !value.empty()) text += fmt::format(", {} = {}", key, value);
  return text;
}

}  // namespace

bool HasSameDelta(const PublishedValue& value, const TrialSpec& spec) {
  return !value.epsilon || value.delta.value_or(0) == 0 || SameNumber(*value.delta, spec.privacy.delta, 1e-9);
}

PublishedJoiner::PublishedJoiner(const SweepPlan& plan, const TableSpec& table,
                                 const std::vector<PublishedValue>& values)
    : table_(table), values_(values), used_rules_(table.joins.size(), false) {
  for (const PublishedValue& value : values_) scopes_.push_back(FindScope(value));
  for (const TrialSpec& spec : plan.trials)
    if (spec.role == Role::teacher) teachers_.emplace(spec.id, &spec);
}

const std::vector<std::size_t>& PublishedJoiner::OfData(const std::string& published_as) {
  const auto [entry, fresh] = of_data_.try_emplace(published_as);
  for (std::size_t i = 0; fresh && i < values_.size(); ++i)
    if (IsSameDataSet(values_[i].dataset, published_as)) entry->second.push_back(i);
  return entry->second;
}

void PublishedJoiner::Warn(std::string sentence) {
  if (std::find(warnings_.begin(), warnings_.end(), sentence) == warnings_.end())
    warnings_.push_back(std::move(sentence));
}

std::string PublishedJoiner::Fact(const TrialSpec& spec, const std::string& key) const {
  constexpr std::string_view kOfTeacher = "teacher.";
  if (key == "metric") return table_.metric;
  if (key == "public_fraction") return PublicFraction(spec);
  if (key == "data.sensitive_classes") return SensitiveClasses(spec);
  if (!key.starts_with(kOfTeacher)) return FindSpecField(spec, key).value_or("");
  const std::string rest = key.substr(kOfTeacher.size());
  const TrialSpec* teacher = &spec;
  if (spec.role == Role::student) {
    const auto found = spec.parent ? teachers_.find(*spec.parent) : teachers_.end();
    if (found == teachers_.end()) return "";
    teacher = found->second;
  }
  return rest == "network" ? NetworkFact(*teacher) : FindSpecField(*teacher, rest).value_or("");
}

bool PublishedJoiner::Holds(const TrialSpec& spec, const TrialCondition& condition) const {
  const bool counts = condition.relation == Relation::on || condition.relation == Relation::off;
  for (const std::string& key : condition.keys) {
    const std::string fact = Fact(spec, key);
    if (fact.empty()) continue;
    if (counts) {
      if (ParseFiniteNumber(fact).value_or(0) > 0) return condition.relation == Relation::on;
      continue;
    }
    const bool among = std::any_of(condition.values.begin(), condition.values.end(),
                                   [&](const std::string& value) { return IsSameText(fact, value); });
    return among == (condition.relation == Relation::is);
  }
  return condition.relation == Relation::is_not || condition.relation == Relation::off;
}

bool PublishedJoiner::MetricFits(std::size_t value) const {
  for (const TrialCondition& condition : scopes_[value].conditions)
    if (condition.keys.front() == "metric") return condition.values.front() == table_.metric;
  return values_[value].metric == table_.metric;
}

bool PublishedJoiner::InScope(const TrialSpec& spec, const PublishedScope& scope) const {
  return scope.joins && std::all_of(scope.conditions.begin(), scope.conditions.end(),
                                    [&](const TrialCondition& condition) { return Holds(spec, condition); });
}

std::optional<double> PublishedJoiner::ComputeFormulaEpsilon(const TrialSpec& spec,
                                                             const std::vector<privacy::Claim>& claims) {
  const auto formula = [](const std::vector<privacy::Claim>& list) -> std::optional<double> {
    for (const privacy::Claim& claim : list)
      if (claim.status == privacy::ClaimStatus::paper_formula && std::isfinite(claim.epsilon)) return claim.epsilon;
    return std::nullopt;
  };
  if (!claims.empty()) return formula(claims);
  const Result<std::vector<privacy::PrivacyEvent>> events = privacy::PlanEvents(spec);
  return events.ok() ? formula(accountant_.ComputeClaims({&spec, {}}, *events)) : std::nullopt;
}

bool PublishedJoiner::ClaimFits(const TrialSpec& spec, std::size_t value) const {
  const bool asked = spec.privacy.claim != ClaimTarget::none && spec.privacy.claim != ClaimTarget::paper;
  if (scopes_[value].formula) return spec.reading != Reading::sound && !asked;
  if (!asked) return true;
  const bool of_label = FindAdjacency(values_[value]) == privacy::Adjacency::label;
  return spec.privacy.claim == (of_label ? ClaimTarget::label : ClaimTarget::example);
}

bool PublishedJoiner::EpsilonFits(const TrialSpec& spec, const std::vector<privacy::Claim>& claims, std::size_t value) {
  if (!values_[value].epsilon) return true;
  if (!ClaimFits(spec, value) || !HasSameDelta(values_[value], spec)) return false;
  const double epsilon = *values_[value].epsilon;
  if (spec.privacy.epsilon > 0) return SameNumber(spec.privacy.epsilon, epsilon, 1e-9);
  if (spec.role == Role::teacher) return false;
  if (const std::optional<double> answer = ParseFiniteNumber(FindSpecField(spec, "epsilon0").value_or(""));
      answer && *answer > 0)
    return SameNumber(*answer, epsilon, 1e-9);
  const std::optional<double> formula = ComputeFormulaEpsilon(spec, claims);
  return formula && SameNumber(*formula, epsilon, kPrintedDigits);
}

const PublishedValue* PublishedJoiner::Only(const std::vector<const PublishedValue*>& candidates,
                                            const TrialSpec& spec) {
  if (candidates.empty()) return nullptr;
  const bool same = std::all_of(candidates.begin(), candidates.end(), [&](const PublishedValue* value) {
    return value->value == candidates.front()->value && value->note == candidates.front()->note;
  });
  if (same) return candidates.front();
  std::string names;
  for (const PublishedValue* value : candidates) names += (names.empty() ? "" : "; ") + FormatPublishedName(*value);
  Warn(fmt::format("several published values fit {}, and none is shown: {}. `joins` of [table.{}] says which.",
                   Shown(spec), names, table_.name));
  return nullptr;
}

bool PublishedJoiner::IsOfTeacher(std::size_t value) const {
  return std::any_of(
      scopes_[value].conditions.begin(), scopes_[value].conditions.end(), [](const TrialCondition& condition) {
        return orchestrator::Holds(condition.keys, "role") && orchestrator::Holds(condition.values, "teacher");
      });
}

std::vector<const PublishedValue*> PublishedJoiner::FindNamed(const TrialSpec& spec, const PublishedJoin& rule) const {
  const bool names_role = std::any_of(rule.conditions.begin(), rule.conditions.end(),
                                      [](const KeyCondition& condition) { return condition.key == "role"; });
  const bool names_data = std::any_of(rule.columns.begin(), rule.columns.end(),
                                      [](const auto& column) { return column.first == "dataset"; });
  std::vector<const PublishedValue*> named;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const PublishedValue& value = values_[i];
    const bool own_data =
        names_data || (spec.data && spec.data->published_as && IsSameDataSet(value.dataset, *spec.data->published_as));
    const bool own_role = names_role || spec.role == Role::student || IsOfTeacher(i);
    if (own_data && own_role && std::all_of(rule.columns.begin(), rule.columns.end(), [&](const auto& column) {
          return Stands(value, column.first, column.second);
        }))
      named.push_back(&value);
  }
  return named;
}

Join PublishedJoiner::For(const TrialSpec& spec, const std::vector<privacy::Claim>& claims) {
  for (std::size_t i = 0; i < table_.joins.size(); ++i) {
    const PublishedJoin& rule = table_.joins[i];
    if (!Fits(spec, rule.conditions)) continue;
    const std::vector<const PublishedValue*> named = FindNamed(spec, rule);
    if (spec.role == Role::teacher && named.empty() && !rule.columns.empty()) continue;  // a rule for students
    used_rules_[i] = true;
    return {rule.columns.empty() ? nullptr : Only(named, spec), true};
  }
  if (!spec.data || !spec.data->published_as) return {};
  std::vector<const PublishedValue*> fitting;
  for (const std::size_t i : OfData(*spec.data->published_as))
    if (InScope(spec, scopes_[i]) && EpsilonFits(spec, claims, i)) fitting.push_back(&values_[i]);
  return {Only(fitting, spec), false};
}

void PublishedJoiner::SettleShared(const std::vector<const TrialSpec*>& specs, std::vector<Join>& joins) {
  using Key = std::tuple<const PublishedValue*, std::string, Reading, std::string, std::string>;
  std::map<Key, std::vector<std::size_t>> sharing;
  for (std::size_t i = 0; i < joins.size(); ++i) {
    if (joins[i].value == nullptr || joins[i].named) continue;
    const TrialSpec& spec = *specs[i];
    sharing[{joins[i].value, spec.method, spec.reading, spec.teacher, spec.data->name}].push_back(i);
  }
  for (const auto& [key, cells] : sharing) {
    if (cells.size() < 2) continue;
    const TrialSpec& first = *specs[cells.front()];
    std::string differ;
    for (const auto& [axis, value] : first.axes) {
      const bool differs = std::any_of(cells.begin(), cells.end(), [&](std::size_t i) {
        return FindSpecField(*specs[i], axis).value_or("") != value;
      });
      if (differs) differ += (differ.empty() ? "" : ", ") + axis;
    }
    Warn(
        fmt::format("the published value of {} fits {} rows that differ in {}, and stands beside none of them. "
                    "`joins` of [table.{}] says beside which.",
                    FormatPublishedName(*std::get<0>(key)), cells.size(), differ, table_.name));
    for (const std::size_t i : cells) joins[i].value = nullptr;
  }
}

void PublishedJoiner::AddIdleRuleWarnings() {
  for (std::size_t i = 0; i < table_.joins.size(); ++i)
    if (!used_rules_[i]) Warn(fmt::format("rule {} in `joins` of [table.{}] matches no trial.", i + 1, table_.name));
}

namespace {

privacy::Claim QuotedClaim(const PublishedValue& value) {
  privacy::Claim claim;
  claim.adjacency = FindAdjacency(value);
  claim.delta = value.delta.value_or(0);
  claim.delta_stated = value.delta.has_value();
  claim.epsilon = *value.epsilon;
  claim.status = privacy::ClaimStatus::paper_formula;
  claim.accountant = "quoted:" + value.paper + "/" + value.table;
  claim.units = privacy::DescribeUnit(claim.adjacency) + ", as the paper claims";
  claim.reason = "as " + value.paper + " claims it; neither run nor checked here";
  return claim;
}

// The value that the scope gives a key; nothing when it gives none, or several.
std::optional<std::string> GivenBy(const PublishedScope& scope, const std::string& key) {
  for (const TrialCondition& condition : scope.conditions)
    if (condition.relation == Relation::is && condition.values.size() == 1 && Holds(condition.keys, key))
      return condition.values.front();
  return std::nullopt;
}

// Where one value stands in one table.
class Placement {
 public:
  Placement(const TableSpec& spec, const TrialPointers& students) : spec_(spec), students_(students) {}

  [[nodiscard]] std::optional<TableCell> CellFor(const PublishedValue& value, const PublishedScope& scope,
                                                 const std::string& data) const {
    TableCell cell;
    for (const std::string& key : spec_.rows) cell.row.push_back(FindValue(key, value, scope, data).value_or(""));
    for (const std::string& key : spec_.columns) {
      const std::optional<std::string> text = FindValue(key, value, scope, data);
      if (!text || text->empty()) return std::nullopt;
      cell.column.push_back(*text);
    }
    if (!Named(scope)) return std::nullopt;
    cell.state = CellState::quoted;
    cell.published = value.value;
    cell.source = value;
    cell.data = data;
    cell.epsilon = value.epsilon.value_or(0);
    if (!value.note.empty()) cell.notes.push_back(FormatPublishedNote(value));
    if (value.epsilon) cell.claims.push_back(QuotedClaim(value));
    return cell;
  }

 private:
  // Without a key for the method, the table is of one, which has to be the value's.
  [[nodiscard]] bool Named(const PublishedScope& scope) const {
    if (Holds(spec_.rows, "method") || Holds(spec_.columns, "method")) return true;
    const auto method = std::find_if(scope.conditions.begin(), scope.conditions.end(),
                                     [](const TrialCondition& condition) { return Holds(condition.keys, "method"); });
    return method != scope.conditions.end() &&
           std::all_of(students_.begin(), students_.end(),
                       [&](const TrialSpec* spec) { return Holds(method->values, spec->method); });
  }

  [[nodiscard]] std::optional<std::string> FindValue(const std::string& key, const PublishedValue& value,
                                                     const PublishedScope& scope, const std::string& data) const {
    if (key == "method") return value.approach;
    if (key == "data") return data;
    if (key == "epsilon") return value.epsilon ? FormatShortNumber(*value.epsilon) : "";
    if (key == "teacher") return FindTeacher(value);
    return GivenBy(scope, key);
  }

  // teacher=NAME of the setting, under the paper's name.
  [[nodiscard]] static std::optional<std::string> FindTeacher(const PublishedValue& value) {
    constexpr std::string_view kTeacher = "teacher=";
    const std::size_t at = value.setting.find(kTeacher);
    if (at == std::string::npos) return std::nullopt;
    const std::size_t begin = at + kTeacher.size();
    return value.setting.substr(begin, value.setting.find_first_of(" ,;", begin) - begin);
  }

  const TableSpec& spec_;
  const TrialPointers& students_;
};

// Values that the keys of the table do not tell apart say in their name in what they differ.
void TellApart(const TableSpec& spec, std::vector<TableCell>& cells) {
  const auto method = std::find(spec.rows.begin(), spec.rows.end(), "method");
  if (method == spec.rows.end()) return;
  std::map<std::pair<std::vector<std::string>, std::vector<std::string>>, std::vector<TableCell*>> places;
  for (TableCell& cell : cells) places[{cell.row, cell.column}].push_back(&cell);
  for (auto& [place, sharing] : places) {
    const PublishedValue& first = *sharing.front()->source;
    bool settings = false, epsilons = false;
    for (const TableCell* cell : sharing) {
      settings = settings || cell->source->setting != first.setting;
      epsilons = epsilons || cell->source->epsilon != first.epsilon;
    }
    for (TableCell* cell : sharing) {
      std::string apart = settings ? cell->source->setting : "";
      if (epsilons && cell->source->epsilon)
        apart += (apart.empty() ? "ε = " : ", ε = ") + FormatShortNumber(*cell->source->epsilon);
      if (!apart.empty()) cell->row[static_cast<std::size_t>(method - spec.rows.begin())] += " (" + apart + ")";
    }
  }
}

}  // namespace

std::vector<TableCell> MakeQuotedCells(const SweepPlan& plan, const TableSpec& spec, const PublishedJoiner& joiner,
                                       const TrialPointers& students, const std::set<ShownValue>& shown) {
  std::vector<TableCell> quoted;
  const Placement placement(spec, students);
  for (const auto& data : plan.data) {
    if (!data->published_as) continue;
    for (std::size_t i = 0; i < joiner.values().size(); ++i) {
      const PublishedValue& value = joiner.values()[i];
      const bool wanted = IsSameDataSet(value.dataset, *data->published_as) && value.approach != "Teacher" &&
                          joiner.MetricFits(i) && !shown.contains({&value, data->name});
      if (!wanted) continue;
      if (auto cell = placement.CellFor(value, joiner.ScopeAt(i), data->name)) quoted.push_back(*std::move(cell));
    }
  }
  TellApart(spec, quoted);
  return quoted;
}

}  // namespace retort::orchestrator
