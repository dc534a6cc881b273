#include "orchestrator/cli/quoted_cells.h"

#include <algorithm>
#include <map>
#include <optional>

#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/spec_field.h"

namespace retort::orchestrator::cli {
namespace {

privacy::Claim QuotedClaim(const PublishedValue& value) {
  privacy::Claim claim;
  claim.delta = value.delta;
  claim.epsilon = *value.epsilon;
  claim.status = privacy::ClaimStatus::paper_formula;
  claim.accountant = "quoted:" + value.paper + "/" + value.table;
  claim.units = "one training example, as the paper claims";
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
  Placement(const TableSpec& spec, const TrialPointers& students)
      : spec_(spec), students_(students) {}

  [[nodiscard]] std::optional<TableCell> CellFor(const PublishedValue& value, const PublishedScope& scope,
                                                 const std::string& data) const {
    TableCell cell;
    for (const std::string& key : spec_.rows) cell.row.push_back(ValueOf(key, value, scope, data).value_or(""));
    for (const std::string& key : spec_.columns) {
      const std::optional<std::string> text = ValueOf(key, value, scope, data);
      if (!text || text->empty()) return std::nullopt;
      cell.column.push_back(*text);
    }
    if (!Named(scope)) return std::nullopt;
    cell.state = CellState::quoted;
    cell.published = value.value;
    cell.source = value;
    cell.data = data;
    cell.epsilon = value.epsilon.value_or(0);
    if (!value.note.empty()) cell.notes.push_back(PublishedNote(value));
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

  [[nodiscard]] std::optional<std::string> ValueOf(const std::string& key, const PublishedValue& value,
                                                   const PublishedScope& scope, const std::string& data) const {
    if (key == "method") return value.approach;
    if (key == "data") return data;
    if (key == "epsilon") return value.epsilon ? ShortNumber(*value.epsilon) : "";
    if (key == "teacher") return TeacherOf(value);
    return GivenBy(scope, key);
  }

  // teacher=NAME of the setting, under the paper's name.
  [[nodiscard]] static std::optional<std::string> TeacherOf(const PublishedValue& value) {
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
        apart += (apart.empty() ? "ε = " : ", ε = ") + ShortNumber(*cell->source->epsilon);
      if (!apart.empty()) cell->row[static_cast<std::size_t>(method - spec.rows.begin())] += " (" + apart + ")";
    }
  }
}

}  // namespace

std::vector<TableCell> QuotedCells(const SweepPlan& plan, const TableSpec& spec, const PublishedJoiner& joiner,
                                   const TrialPointers& students,
                                   const std::set<ShownValue>& shown) {
  std::vector<TableCell> quoted;
  const Placement placement(spec, students);
  for (const auto& data : plan.data) {
    if (!data->published_as) continue;
    for (std::size_t i = 0; i < joiner.values().size(); ++i) {
      const PublishedValue& value = joiner.values()[i];
      const bool wanted = SameDataSet(value.dataset, *data->published_as) && value.approach != "Teacher" &&
                          joiner.MetricFits(i) && !shown.contains({&value, data->name});
      if (!wanted) continue;
      if (auto cell = placement.CellFor(value, joiner.ScopeAt(i), data->name)) quoted.push_back(*std::move(cell));
    }
  }
  TellApart(spec, quoted);
  return quoted;
}

}  // namespace retort::orchestrator::cli
