// Sweep file to trials.
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "experiments/spec/data_extents.h"
#include "experiments/spec/environment.h"
#include "experiments/spec/reorder.h"
#include "experiments/spec/side_information.h"
#include "experiments/spec/smaller_purchase.h"
#include "experiments/spec/spec_codec.h"
#include "experiments/spec/sweep.h"
#include "experiments/spec/sweep_document.h"
#include "experiments/spec/sweep_file.h"
#include "experiments/spec/trial_names.h"
#include "experiments/spec/trial_resolver.h"
#include "experiments/spec/trial_rules.h"

namespace retort {
namespace {

constexpr std::size_t kMostTrials = 1'000'000;

// A file holds the same whatever the seed.
std::uint64_t TeacherSeed(const Composition& student) {
  return student.teacher->kind == TrialKind::loaded_teacher ? 0 : student.spec.seed;
}

// Expands one document; use once.
class Planner {
 public:
  Planner(SweepDocument& document, const PlanHooks& hooks, Complaints& complaints)
      : document_(document), hooks_(hooks), complaints_(complaints), resolver_(document, complaints) {}

  // `part`: a profile is laid over the sweep, and may leave teachers out.
  void Run(SweepPlan& plan, bool part);

 private:
  [[nodiscard]] std::set<std::string> DataInUse() const;
  void InspectData(SweepPlan& plan);
  [[nodiscard]] std::vector<DataTable> UnusedWithBudget() const;
  void ShareBudgets(UnpackedDigests& unpacked);
  void Unpack(const DataTable& table, UnpackedDigests& unpacked);
  [[nodiscard]] std::size_t Combinations() const;
  void CollectAxisKeys();
  void AddStudent(Layers layers, std::uint64_t seed);
  [[nodiscard]] std::optional<TrialId> TeacherFor(const Composition& student);
  [[nodiscard]] const TrialSpec* TeacherOf(const Composition& student) const;
  [[nodiscard]] const TrialSpec& SpenderOf(const Composition& student) const;
  [[nodiscard]] bool Finish(TrialSpec& spec, bool judged, const Assignment* epsilon, Position fallback);
  // Fills the digest of the file that a teacher is loaded from; false after a complaint.
  [[nodiscard]] bool WeighFile(const TeacherDefinition& teacher, TrialSpec& spec);
  void WarnOfUnusedTeachers() const;
  [[nodiscard]] std::size_t MostTeachers() const {
    return document_.teachers.size() * document_.data.size() * document_.seeds.size();
  }
  std::size_t PutTeachersFirst();  // how many they are

  SweepDocument& document_;
  const PlanHooks& hooks_;
  Complaints& complaints_;
  TrialResolver resolver_;
  std::vector<const SpecKey*> axis_keys_;
  bool tells_side_information_ = false;
  std::vector<TrialSpec> trials_;  // as they are met, teachers among them until PutTeachersFirst
  std::unordered_set<TrialId> students_;
  using TeacherSlot = std::tuple<const TeacherDefinition*, const DataTable*, std::uint64_t>;
  std::map<TeacherSlot, std::size_t> teachers_;  // index in trials_, in the order of file and seed
  std::map<std::string, std::string> weighed_;  // digest by path
  std::size_t excluded_ = 0;
};

std::set<std::string> Planner::DataInUse() const {
  std::set<std::string> names;
  const auto collect = [&names](const Assignments& assignments) {
    for (const Assignment& assignment : assignments) {
      if (assignment.valid && assignment.key->name == "data")
        names.insert(std::get<std::string>(assignment.value));
    }
  };
  collect(document_.trial);
  for (const Axis& axis : document_.axes) {
    for (const Assignments& row : axis.rows) collect(row);
  }
  for (const WhenRule& rule : document_.when) collect(rule.set);
  if (document_.data.size() == 1) names.insert(document_.data.front().data->name);
  return names;
}

void Planner::InspectData(SweepPlan& plan) {
  const std::set<std::string> used = DataInUse();
  for (DataTable& table : document_.data) {
    DataSpec& data = *table.data;
    if (!used.contains(data.name)) {
      complaints_.Warning(table.where, "data." + data.name,
                          "the data set \"" + data.name + "\" is used by no trial");
      continue;
    }
    plan.data.push_back(table.data);
    if (!hooks_.inspect || !table.readable) continue;
    const Status found = hooks_.inspect(data);
    if (!found.ok()) {
      ComplainOfFiles(table, found.message(), complaints_);
      table.readable = false;
      continue;
    }
    CheckExtents(table, complaints_);
  }
}

// Data sets that no trial uses and whose budget may still cover another's examples, as far as their files are
// there.
std::vector<DataTable> Planner::UnusedWithBudget() const {
  const std::set<std::string> used = DataInUse();
  std::vector<DataTable> unused;
  for (const DataTable& table : document_.data) {
    if (used.contains(table.data->name) || !table.data->budget || !table.readable || !hooks_.inspect)
      continue;
    DataTable copy = table;
    copy.data = std::make_shared<DataSpec>(*table.data);
    if (hooks_.inspect(*copy.data).ok()) unused.push_back(std::move(copy));
  }
  return unused;
}

void Planner::Unpack(const DataTable& table, UnpackedDigests& unpacked) {
  const DataSpec& data = *table.data;
  if (!hooks_.unpacked || data.digest.empty() || unpacked.contains(data.digest)) return;
  const Result<std::string> digest = hooks_.unpacked(data);
  if (!digest.ok())
    complaints_.Error(table.path, "data." + data.name + ".path", digest.status().message());
  else if (*digest != data.digest)
    unpacked[data.digest] = *digest;
}

// A budget belongs to the examples: it holds under every name that they have in this file.
void Planner::ShareBudgets(UnpackedDigests& unpacked) {
  std::map<std::string, DataTable> budgeted;  // by digest
  std::vector<DataTable> tables = UnusedWithBudget();
  tables.insert(tables.begin(), document_.data.begin(), document_.data.end());
  const bool budget = std::any_of(tables.begin(), tables.end(),
                                  [](const DataTable& table) { return table.data->budget.has_value(); });
  if (hooks_.unpack_all || tables.size() > 1 || budget)
    for (const DataTable& table : tables) Unpack(table, unpacked);
  for (const DataTable& table : tables) {
    const DataSpec& data = *table.data;
    if (data.digest.empty() || !data.budget) continue;
    const auto [first, fresh] = budgeted.try_emplace(UnpackedOf(unpacked, data.digest), table);
    const DataSpec& other = *first->second.data;
    if (fresh || (other.budget->epsilon == data.budget->epsilon && other.budget->delta == data.budget->delta))
      continue;
    complaints_.Error(table.where, "data." + data.name + ".budget",
                      "data." + data.name + " and data." + other.name +
                          " hold the same examples, which a budget covers under every name: give both the "
                          "same budget, or one of them none");
  }
  for (DataTable& table : document_.data) {
    const auto found = budgeted.find(UnpackedOf(unpacked, table.data->digest));
    if (found == budgeted.end() || table.data->budget) continue;
    table.data->budget = found->second.data->budget;
    complaints_.Warning(table.where, "data." + table.data->name,
                        "data." + table.data->name + " and data." + found->second.data->name +
                            " hold the same examples: the budget of data." + found->second.data->name +
                            " covers both");
  }
}

std::size_t Planner::Combinations() const {
  std::size_t total = document_.seeds.size();
  for (const Axis& axis : document_.axes) {
    if (axis.rows.empty()) return 0;
    if (total > kMostTrials) return total;
    total *= axis.rows.size();
  }
  return total;
}

void Planner::CollectAxisKeys() {
  for (const Axis& axis : document_.axes) {
    for (const Assignments& row : axis.rows) {
      for (const Assignment& assignment : row) {
        if (std::find(axis_keys_.begin(), axis_keys_.end(), assignment.key) == axis_keys_.end()) {
          axis_keys_.push_back(assignment.key);
        }
      }
    }
  }
}

// Calibration, then the id.
bool Planner::Finish(TrialSpec& spec, bool judged, const Assignment* epsilon, Position fallback) {
  if (judged && hooks_.calibrate) {
    const Status calibrated = hooks_.calibrate(spec);
    if (!calibrated.ok()) {
      complaints_.Error(epsilon != nullptr ? epsilon->where : fallback,
                        epsilon != nullptr ? epsilon->path : "trial.epsilon", calibrated.message());
      return false;
    }
  }
  spec.id = ComputeTrialId(spec);
  return true;
}

bool Planner::WeighFile(const TeacherDefinition& teacher, TrialSpec& spec) {
  if (!hooks_.weigh) return true;
  const std::string& path = spec.weights.empty() ? spec.torchscript : spec.weights;
  const auto known = weighed_.find(path);
  if (known != weighed_.end()) {
    spec.weights_digest = known->second;
    return true;
  }
  const auto file = std::find_if(teacher.assignments.begin(), teacher.assignments.end(),
                                 [](const Assignment& value) { return value.key->type == KeyType::path; });
  const Result<std::string> digest = hooks_.weigh(path);
  if (!digest.ok()) {
    complaints_.Error(file->where, file->path, digest.status().message());
    return false;
  }
  spec.weights_digest = weighed_[path] = *digest;
  return true;
}

std::optional<TrialId> Planner::TeacherFor(const Composition& student) {
  const bool loaded = student.teacher->kind == TrialKind::loaded_teacher;
  const std::uint64_t seed = TeacherSeed(student);
  const TeacherSlot slot{student.teacher, student.data, seed};
  if (const auto found = teachers_.find(slot); found != teachers_.end()) return trials_[found->second].id;
  Composition teacher = resolver_.ResolveTeacher(*student.teacher, *student.data, seed);
  const Assignment* epsilon = nullptr;
  for (const Assignment& assignment : student.teacher->assignments)
    if (assignment.key->name == "epsilon") epsilon = &assignment;
  const bool judged = teacher.judged && CheckTeacher(teacher, *student.teacher, complaints_) &&
                      (!loaded || WeighFile(*student.teacher, teacher.spec));
  if (judged && teacher.kind == TrialKind::dpsgd_teacher) {
    const Assignment* delta = StrongestOf({&document_.trial}, "delta");
    WarnOfLargeDelta(teacher, delta != nullptr ? delta->where : student.teacher->where, complaints_);
  }
  static_cast<void>(Finish(teacher.spec, judged, epsilon, student.teacher->where));
  teachers_.emplace(slot, trials_.size());
  return trials_.emplace_back(std::move(teacher.spec)).id;
}

// Null where there is none.
const TrialSpec* Planner::TeacherOf(const Composition& student) const {
  if (student.teacher == nullptr) return nullptr;
  return &trials_[teachers_.at({student.teacher, student.data, TeacherSeed(student)})];
}

// Whose epsilon a row is about: a student that only asks a privately trained teacher spends what that was given.
const TrialSpec& Planner::SpenderOf(const Composition& student) const {
  const TrialSpec* teacher = IsPostProcessing(student.kind) ? TeacherOf(student) : nullptr;
  return teacher == nullptr ? student.spec : *teacher;
}

void Planner::AddStudent(Layers layers, std::uint64_t seed) {
  Composition student = resolver_.ResolveStudent(layers, seed);
  excluded_ += student.excluded ? 1 : 0;
  if (student.excluded || !student.judged || !CheckStudent(student, layers, document_, complaints_)) return;
  TrialSpec& spec = student.spec;
  if (student.teacher != nullptr) spec.parent = TeacherFor(student);
  if (!Finish(spec, true, StrongestOf(layers, "epsilon"), document_.trial_where)) return;
  if (!CheckSolved(student, layers, document_, complaints_)) return;
  spec.axes.reserve(axis_keys_.size());
  for (const SpecKey* key : axis_keys_) {
    if (!key->AppliesTo(student.kind, spec.source)) continue;
    const TrialSpec& spender = key->name == "epsilon" ? SpenderOf(student) : spec;
    spec.axes.emplace_back(std::string(key->TrialName()), ValueText(*key, key->get(spender)));
  }
  if (tells_side_information_)
    spec.axes.emplace_back(std::string(kSideInformationKey), SideInformation(spec, TeacherOf(student)));
  if (students_.insert(spec.id).second) {
    trials_.push_back(std::move(spec));
    return;
  }
  complaints_.Warning(
      document_.sweep_where, "sweep",
      "some combinations of the axes differ only in keys that do not apply to them, and are one trial");
}

void Planner::WarnOfUnusedTeachers() const {
  for (const TeacherDefinition& teacher : document_.teachers) {
    bool used = false;
    for (const auto& [slot, index] : teachers_) used = used || std::get<0>(slot) == &teacher;
    if (!used) {
      complaints_.Warning(teacher.where, "teacher." + teacher.name,
                          "the teacher \"" + teacher.name + "\" is named by no trial, and is not trained");
    }
  }
}

// Every distinct teacher before the students, in place: a second copy of a large plan is more than may be had.
std::size_t Planner::PutTeachersFirst() {
  std::vector<std::size_t> order, twins;  // indices in trials_
  order.reserve(trials_.size());
  std::set<TrialId> known;
  for (const auto& [slot, index] : teachers_) (known.insert(trials_[index].id).second ? order : twins).push_back(index);
  const std::size_t teachers = order.size();
  for (std::size_t i = 0; i < trials_.size(); ++i)
    if (trials_[i].role == Role::student) order.push_back(i);
  order.insert(order.end(), twins.begin(), twins.end());
  teachers_.clear();
  students_.clear();
  Reorder(trials_, order);
  trials_.resize(trials_.size() - twins.size());
  return teachers;
}

void Planner::Run(SweepPlan& plan, bool part) {
  InspectData(plan);
  ShareBudgets(plan.unpacked);
  const bool read_well = complaints_.clean();
  const std::size_t total = Combinations();
  if (total > kMostTrials) {
    complaints_.Error(
        document_.sweep_where, "sweep",
        "the axes and seeds make more than " + std::to_string(kMostTrials) + " trials; split the sweep");
    return;
  }
  CollectAxisKeys();
  tells_side_information_ = TellsSideInformation(document_.tables);
  trials_.reserve(total + std::min(total, MostTeachers()));
  std::vector<std::size_t> at(document_.axes.size(), 0);
  const std::size_t rows = document_.seeds.empty() ? 0 : total / document_.seeds.size();
  for (std::size_t row = 0; row < rows; ++row) {
    Layers layers = {&document_.trial};
    for (std::size_t i = 0; i < at.size(); ++i) layers.push_back(&document_.axes[i].rows[at[i]]);
    for (const std::uint64_t seed : document_.seeds) AddStudent(layers, seed);
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < document_.axes[i].rows.size()) break;
      at[i] = 0;
    }
  }
  if (read_well && excluded_ == total) {
    complaints_.Error(document_.sweep_where, "sweep.exclude",
                      "every trial is excluded: nothing is left to run");
  }
  if (read_well) resolver_.ReportUnused();
  if (!complaints_.clean()) return;
  if (!part) WarnOfUnusedTeachers();
  const std::size_t teachers = PutTeachersFirst();
  plan.trials = std::move(trials_);
  WarnOfSmallerPurchases(std::span(plan.trials).subspan(teachers), document_.sweep_where, complaints_);
  NameTrials(plan.trials);
}

}  // namespace

const std::string& UnpackedOf(const UnpackedDigests& unpacked, const std::string& digest) {
  const auto found = unpacked.find(digest);
  return found == unpacked.end() ? digest : found->second;
}

PlanOutcome ParseSweep(const std::string& text, const std::string& path, const PlanOptions& options,
                       const PlanHooks& hooks) {
  SourceTexts sources;
  Complaints complaints(&sources);
  const Lookup lookup = hooks.lookup ? hooks.lookup : Lookup(EnvironmentVariable);
  SweepDocument document = ReadSweepDocument(text, path, options, lookup, sources, complaints);
  SweepPlan plan;
  plan.file = path;
  plan.name = document.name;
  plan.profile = options.profile;
  plan.tables = document.tables;
  for (const FigureTable& figure : document.figures) plan.figures.push_back(figure.spec);
  plan.quota = document.quota;
  if (!document.data.empty() || document.NamesSleep())
    Planner(document, hooks, complaints).Run(plan, !options.profile.empty());
  if (!plan.trials.empty()) CheckFigures(document, plan.trials, !options.profile.empty(), complaints);
  plan.resolved_toml = std::move(document.resolved_toml);
  PlanOutcome outcome;
  outcome.errors = complaints.TakeErrors();
  plan.warnings = complaints.TakeWarnings();
  if (outcome.errors.empty()) outcome.plan = std::move(plan);
  return outcome;
}

PlanOutcome LoadSweep(const std::string& path, const PlanOptions& options, const PlanHooks& hooks) {
  const Result<std::string> text = ReadSweepFile(path);
  if (text.ok()) return ParseSweep(*text, path, options, hooks);
  PlanOutcome outcome;
  Diagnostic unread;
  unread.file = path;
  unread.message = text.status().message();
  outcome.errors.push_back(std::move(unread));
  return outcome;
}

}  // namespace retort
