#include "experiments/sweep/sweep_plan.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "experiments/base/environment.h"
#include "experiments/base/reorder.h"
#include "experiments/methods/canonical_encoding.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/sweep/data_tables.h"
#include "experiments/sweep/figure_specs.h"
#include "experiments/sweep/network_tables.h"
#include "experiments/sweep/search_rungs.h"
#include "experiments/sweep/sweep_document.h"
#include "experiments/sweep/table_specs.h"
#include "experiments/sweep/trial_naming.h"
#include "experiments/sweep/trial_resolver.h"
#include "experiments/sweep/trial_rules.h"

namespace retort {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20, kPiece = std::size_t{64} << 10;

using Alike = std::tuple<std::string, Reading, std::string, std::string, std::uint64_t>;

std::int64_t CountReleases(const TrialSpec& spec) { return IsTaughtByVotes(spec) ? spec.queries : spec.steps; }

// Warns, at `where` and once a pair of epsilons, where a student that calibrate = "steps" solved gets fewer releases
// for a larger epsilon: a rule of a paper may let the norm bound grow with epsilon faster than the budget does.
void WarnIfLargerBudgetBuysLess(std::span<const TrialSpec> students, Position where, DiagnosticCollector& diagnostics) {
  std::map<Alike, std::vector<const TrialSpec*>> alike;
  for (const TrialSpec& spec : students) {
    if (spec.privacy.calibrate != Calibrate::steps) continue;
    alike[{spec.method, spec.reading, spec.data->name, spec.teacher, spec.seed}].push_back(&spec);
  }
  std::set<std::pair<double, double>> said;
  for (auto& [key, trials] : alike) {
    std::stable_sort(trials.begin(), trials.end(),
                     [](const auto* a, const auto* b) { return a->privacy.epsilon < b->privacy.epsilon; });
    for (std::size_t i = 1; i < trials.size(); ++i) {
      const TrialSpec &less = *trials[i - 1], &more = *trials[i];
      if (less.privacy.epsilon == more.privacy.epsilon || CountReleases(more) >= CountReleases(less)) continue;
      if (!said.emplace(less.privacy.epsilon, more.privacy.epsilon).second) continue;
      const std::string unit = IsTaughtByVotes(more) ? " queries" : " steps";
      diagnostics.AddWarning(where, "sweep",
                             "epsilon = " + FormatKey(more, "epsilon") + " buys " +
                                 std::to_string(CountReleases(more)) + unit + ", fewer than the " +
                                 std::to_string(CountReleases(less)) + " of epsilon = " + FormatKey(less, "epsilon") +
                                 ": another key changes between them, as norm_bound does by a paper's rule");
    }
  }
}

constexpr std::size_t kMaxTrials = 1'000'000;

// The seed does not change what a file holds.
std::uint64_t TeacherSeed(const ResolvedTrial& student) {
  return IsLoaded(student.teacher->kind) ? 0 : student.spec.seed;
}

// Expands one document; use once.
class Planner {
 public:
  // `history` may be null.
  Planner(SweepDocument& document, const PlanHooks& hooks, const SearchHistory* history,
          DiagnosticCollector& diagnostics)
      : document_(document),
        hooks_(hooks),
        history_(history),
        diagnostics_(diagnostics),
        resolver_(document, diagnostics) {}

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
  // Of every row of the axes and seed, at `point` of the search, which may be null.
  void AddStudents(const Assignments* point);
  // Candidates whose epsilon follows from that of their selection.
  void AddCandidates();
  // The points of the search, as far as they are known.
  void AddSuggested();
  // Of asha: what free slots try, after `points`.
  void AddToFreeSlots(std::vector<SearchPoint> points, const SearchHistory& history);
  void AddSuggestion(const NumberedPoint& suggestion);
  // The same of asha, with the next number, and whether any trial of it is not excluded. One without has no number: the
  // journal, from which a run goes on, does not know it.
  [[nodiscard]] bool AddNumbered(const SearchPoint& point);
  // A run of asha reads back from a trial what was decided; reports a value that the trial has not.
  [[nodiscard]] bool TellsWhatWasDecided(const TrialSpec& spec);
  // Nothing where it is asha's and has no trials: what is excluded now has not ended.
  [[nodiscard]] SearchOutcome CombineTrials(const std::vector<TrialId>& trials, const SearchHistory& history) const;
  // Whether there is a plan of a part of the trials, which says nothing of the others.
  [[nodiscard]] bool ShowsAPart() const {
    return history_ != nullptr && document_.search && document_.search->IsAsynchronous();
  }
  [[nodiscard]] bool WereSuggested() const;
  void ForgetTrials();
  [[nodiscard]] bool MayBeSearched(const TrialSpec& spec);
  [[nodiscard]] std::optional<TrialId> TeacherFor(const ResolvedTrial& student);
  [[nodiscard]] const TrialSpec* FindTeacherSpec(const ResolvedTrial& student) const;
  [[nodiscard]] const TrialSpec& FindSpender(const ResolvedTrial& student) const;
  [[nodiscard]] bool Finish(TrialSpec& spec, bool checkable, const Assignment* epsilon, Position fallback);
  // Fills the digest of the file that a teacher is loaded from; false after an error.
  [[nodiscard]] bool DigestFile(const TeacherDefinition& teacher, TrialSpec& spec);
  void WarnAboutUnusedTeachers() const;
  void WarnAboutUnusedNetworks() const;
  // Where [trial] or the command line asks for a reading: which methods have none.
  void WarnAboutMethodsWithoutReadings() const;
  [[nodiscard]] std::size_t MaxTeachers() const {
    return document_.teachers.size() * document_.data.size() * document_.seeds.size();
  }
  std::size_t PutTeachersFirst();  // how many they are

  SweepDocument& document_;
  const PlanHooks& hooks_;
  const SearchHistory* history_;
  DiagnosticCollector& diagnostics_;
  TrialResolver resolver_;
  std::vector<std::vector<TrialId>> suggested_;  // trials of each suggestion
  NumberedPoint suggestion_;                     // whose trials are added now
  std::size_t next_number_ = 0;                  // of a suggestion
  std::vector<const SpecKey*> axis_keys_;
  bool tells_side_information_ = false;
  std::optional<double> candidate_epsilon_;  // of trials that say none, in a selection that does
  bool calibrates_ = true;
  std::vector<TrialSpec> trials_;  // in the order of planning, teachers among them until PutTeachersFirst
  std::unordered_set<TrialId> students_;
  using TeacherSlot = std::tuple<const TeacherDefinition*, const DataTable*, std::uint64_t>;
  std::map<TeacherSlot, std::size_t> teachers_;  // index in trials_, in the order of file and seed
  std::map<std::string, std::string> digests_;   // digest by path
  std::size_t attempted_ = 0, excluded_ = 0;
};

std::set<std::string> Planner::DataInUse() const {
  std::set<std::string> names;
  const auto collect = [&names](const Assignments& assignments) {
    for (const Assignment& assignment : assignments) {
      if (assignment.valid && assignment.key->name == "data") names.insert(std::get<std::string>(assignment.value));
    }
  };
  collect(document_.trial);
  collect(document_.search_values);
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
      diagnostics_.AddWarning(table.where, "data." + data.name,
                              "the data set \"" + data.name + "\" is used by no trial");
      continue;
    }
    plan.data.push_back(table.data);
    if (!hooks_.inspect || !table.readable) continue;
    const Status found = hooks_.inspect(data);
    if (!found.ok()) {
      AddFileError(table, found.message(), diagnostics_);
      table.readable = false;
      continue;
    }
    CheckDataRanges(table, diagnostics_);
  }
}

// Data sets that no trial uses and whose budget may still cover another's examples, as far as their files are
// there.
std::vector<DataTable> Planner::UnusedWithBudget() const {
  const std::set<std::string> used = DataInUse();
  std::vector<DataTable> unused;
  for (const DataTable& table : document_.data) {
    if (used.contains(table.data->name) || !table.data->budget || !table.readable || !hooks_.inspect) continue;
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
    diagnostics_.AddError(table.path, "data." + data.name + ".path", digest.status().message());
  else if (*digest != data.digest)
    unpacked[data.digest] = *digest;
}

// A budget belongs to the examples: it holds under every name that they have in this file.
void Planner::ShareBudgets(UnpackedDigests& unpacked) {
  std::map<std::string, DataTable> budgeted;  // by digest
  std::vector<DataTable> tables = UnusedWithBudget();
  tables.insert(tables.begin(), document_.data.begin(), document_.data.end());
  const bool budget =
      std::any_of(tables.begin(), tables.end(), [](const DataTable& table) { return table.data->budget.has_value(); });
  if (hooks_.unpack_all || tables.size() > 1 || budget)
    for (const DataTable& table : tables) Unpack(table, unpacked);
  for (const DataTable& table : tables) {
    const DataSpec& data = *table.data;
    if (data.digest.empty() || !data.budget) continue;
    const auto [first, fresh] = budgeted.try_emplace(FindUnpackedDigest(unpacked, data.digest), table);
    const DataSpec& other = *first->second.data;
    if (fresh || (other.budget->epsilon == data.budget->epsilon && other.budget->delta == data.budget->delta)) continue;
    diagnostics_.AddError(table.where, "data." + data.name + ".budget",
                          "data." + data.name + " and data." + other.name +
                              " hold the same examples, which a budget covers under every name: give both the "
                              "same budget, or one of them none");
  }
  for (DataTable& table : document_.data) {
    const auto found = budgeted.find(FindUnpackedDigest(unpacked, table.data->digest));
    if (found == budgeted.end() || table.data->budget) continue;
    table.data->budget = found->second.data->budget;
    diagnostics_.AddWarning(table.where, "data." + table.data->name,
                            "data." + table.data->name + " and data." + found->second.data->name +
                                " hold the same examples: the budget of data." + found->second.data->name +
                                " covers both");
  }
}

std::size_t Planner::Combinations() const {
  std::size_t total = document_.seeds.size();
  if (document_.search)
    total *= static_cast<std::size_t>(std::max<std::int64_t>(CountSuggestions(*document_.search), 0));
  for (const Axis& axis : document_.axes) {
    if (axis.rows.empty()) return 0;
    if (total > kMaxTrials) return total;
    total *= axis.rows.size();
  }
  return total;
}

void Planner::CollectAxisKeys() {
  if (document_.search)
    for (const SearchDimension& dimension : document_.search->space) axis_keys_.push_back(dimension.key);
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

// Calibrates the trial, then computes its id.
bool Planner::Finish(TrialSpec& spec, bool checkable, const Assignment* epsilon, Position fallback) {
  if (checkable && calibrates_ && hooks_.calibrate) {
    const Status calibrated = hooks_.calibrate(spec);
    if (!calibrated.ok()) {
      diagnostics_.AddError(epsilon != nullptr ? epsilon->where : fallback,
                            epsilon != nullptr ? epsilon->path : "trial.epsilon", calibrated.message());
      return false;
    }
  }
  spec.id = ComputeTrialId(spec);
  return true;
}

bool Planner::DigestFile(const TeacherDefinition& teacher, TrialSpec& spec) {
  if (!hooks_.digest_file) return true;
  const std::string& path = spec.weights.empty() ? spec.torchscript : spec.weights;
  const auto known = digests_.find(path);
  if (known != digests_.end()) {
    spec.weights_digest = known->second;
    return true;
  }
  const auto file = std::find_if(teacher.assignments.begin(), teacher.assignments.end(),
                                 [](const Assignment& value) { return value.key->type == KeyType::path; });
  const Result<std::string> digest = hooks_.digest_file(path);
  if (!digest.ok()) {
    diagnostics_.AddError(file->where, file->path, digest.status().message());
    return false;
  }
  spec.weights_digest = digests_[path] = *digest;
  return true;
}

std::optional<TrialId> Planner::TeacherFor(const ResolvedTrial& student) {
  const bool loaded = IsLoaded(student.teacher->kind);
  const std::uint64_t seed = TeacherSeed(student);
  const TeacherSlot slot{student.teacher, student.data, seed};
  if (const auto found = teachers_.find(slot); found != teachers_.end()) return trials_[found->second].id;
  ResolvedTrial teacher = resolver_.ResolveTeacher(*student.teacher, *student.data, seed);
  const Assignment* epsilon = nullptr;
  for (const Assignment& assignment : student.teacher->assignments)
    if (assignment.key->name == "epsilon") epsilon = &assignment;
  const bool checkable = teacher.checkable && CheckTeacher(teacher, *student.teacher, diagnostics_) &&
                         CheckDescribedNetwork(teacher.spec, document_, diagnostics_) &&
                         (!loaded || DigestFile(*student.teacher, teacher.spec));
  if (checkable && IsPrivateTeacher(teacher.kind)) {
    const Assignment* delta = FindStrongest({&document_.trial}, "delta");
    WarnAboutLargeDelta(teacher, delta != nullptr ? delta->where : student.teacher->where, diagnostics_);
  }
  static_cast<void>(Finish(teacher.spec, checkable, epsilon, student.teacher->where));
  teachers_.emplace(slot, trials_.size());
  return trials_.emplace_back(std::move(teacher.spec)).id;
}

// Returns null where there is none.
const TrialSpec* Planner::FindTeacherSpec(const ResolvedTrial& student) const {
  if (student.teacher == nullptr) return nullptr;
  return &trials_[teachers_.at({student.teacher, student.data, TeacherSeed(student)})];
}

// Returns the trial whose epsilon a row shows: a student that only asks a privately trained teacher spends what the
// teacher was given.
const TrialSpec& Planner::FindSpender(const ResolvedTrial& student) const {
  const TrialSpec* teacher = IsPostProcessing(student.kind) ? FindTeacherSpec(student) : nullptr;
  return teacher == nullptr ? student.spec : *teacher;
}

void Planner::AddStudent(Layers layers, std::uint64_t seed) {
  ResolvedTrial student = resolver_.ResolveStudent(layers, seed);
  if (candidate_epsilon_ && student.teacher == nullptr) student.spec.privacy.epsilon = *candidate_epsilon_;
  ++attempted_;
  excluded_ += student.excluded ? 1 : 0;
  if (student.excluded || !student.checkable || !CheckStudent(student, layers, document_, diagnostics_)) return;
  TrialSpec& spec = student.spec;
  if (student.teacher != nullptr) spec.parent = TeacherFor(student);
  if (document_.search) spec.score = document_.search->score;
  if (document_.search && !MayBeSearched(spec)) return;
  if (!Finish(spec, true, FindStrongest(layers, "epsilon"),
              candidate_epsilon_ ? document_.select->epsilon_where : document_.trial_where))
    return;
  if (!CheckSolved(student, layers, document_, diagnostics_) || !TellsWhatWasDecided(spec)) return;
  spec.axes.reserve(axis_keys_.size());
  for (const SpecKey* key : axis_keys_) {
    if (!key->AppliesTo(student.kind, spec.source)) continue;
    const TrialSpec& spender = key->name == "epsilon" ? FindSpender(student) : spec;
    spec.axes.emplace_back(std::string(key->TrialName()), FormatValue(*key, key->get(spender)));
  }
  if (tells_side_information_) {
    TrialSpec shown = spec;
    if (document_.select) shown.score = document_.select->score;
    if (document_.select) shown.score_noise = document_.select->score_noise;
    spec.axes.emplace_back(std::string(kSideInformationKey), DescribeSideInformation(shown, FindTeacherSpec(student)));
  }
  if (document_.search) spec.axes.emplace_back(std::string(kSuggestionKey), std::to_string(suggestion_.number));
  if (students_.insert(spec.id).second) {
    if (document_.search) suggested_.back().push_back(spec.id);
    trials_.push_back(std::move(spec));
    return;
  }
  diagnostics_.AddWarning(
      document_.sweep_where, "sweep",
      "some combinations of the axes differ only in keys that do not apply to them, and are one trial");
}

void Planner::WarnAboutUnusedTeachers() const {
  for (const TeacherDefinition& teacher : document_.teachers) {
    bool used = false;
    for (const auto& [slot, index] : teachers_) used = used || std::get<0>(slot) == &teacher;
    if (!used) {
      diagnostics_.AddWarning(teacher.where, "teacher." + teacher.name,
                              "the teacher \"" + teacher.name + "\" is named by no trial, and is not trained");
    }
  }
}

void Planner::WarnAboutUnusedNetworks() const {
  for (const NetworkDefinition& network : document_.networks) {
    const bool used = std::any_of(trials_.begin(), trials_.end(), [&network](const TrialSpec& trial) {
      return trial.layers == network.text || trial.generator.layers == network.text;
    });
    if (!used)
      diagnostics_.AddWarning(network.where, "network." + network.name,
                              "the network \"" + network.name + "\" is named by no trial");
  }
}

void Planner::WarnAboutMethodsWithoutReadings() const {
  const Assignment* reading = FindStrongest({&document_.trial}, "reading");
  if (reading == nullptr) return;
  std::vector<std::string> without;
  for (const TrialSpec& spec : trials_) {
    const MethodTraits* method = spec.role == Role::student ? FindMethod(spec.method) : nullptr;
    if (method == nullptr || method->readings != 0 || IsSleeper(method->kind)) continue;
    if (std::find(without.begin(), without.end(), spec.method) == without.end()) without.push_back(spec.method);
  }
  std::string names;
  for (const std::string& name : without) names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) return;
  diagnostics_.AddWarning(reading->where, reading->path,
                          reading->path + " does not change the trials of " + names + ", which " +
                              (without.size() == 1 ? "has" : "have") + " no readings");
}

// Puts every distinct teacher before the students, in place: there may be no memory for a second copy of a large plan.
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

void Planner::AddStudents(const Assignments* point) {
  std::size_t rows = 1;
  for (const Axis& axis : document_.axes) rows *= axis.rows.size();
  std::vector<std::size_t> at(document_.axes.size(), 0);
  for (std::size_t row = 0; row < rows; ++row) {
    Layers layers = {&document_.trial};
    if (point != nullptr) layers.push_back(point);
    for (std::size_t i = 0; i < at.size(); ++i) layers.push_back(&document_.axes[i].rows[at[i]]);
    for (const std::uint64_t seed : document_.seeds) AddStudent(layers, seed);
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < document_.axes[i].rows.size()) break;
      at[i] = 0;
    }
  }
}

// Resolved twice: what is solved for depends on all of them.
void Planner::AddCandidates() {
  const SelectSpec& select = *document_.select;
  CheckOneEpsilon(document_, diagnostics_);
  candidate_epsilon_ = select.epsilon;
  calibrates_ = false;
  AddStudents(nullptr);
  calibrates_ = true;
  if (!hooks_.calibrate_candidates || trials_.empty() || !diagnostics_.clean()) return;
  const Result<double> solved = hooks_.calibrate_candidates(select, trials_);
  if (!solved.ok()) {
    diagnostics_.AddError(select.epsilon_where, "sweep.select.epsilon",
                          "sweep.select.epsilon: " + solved.status().message());
    return;
  }
  candidate_epsilon_ = *solved;
  ForgetTrials();
  AddStudents(nullptr);
}

// What a search may not read, and what has no public examples to be measured on.
bool Planner::MayBeSearched(const TrialSpec& spec) {
  std::string why;
  if (spec.data == nullptr)
    why = "has no data set, and so no " + spec.score + " to be compared by";
  else if (spec.data->PublicExamples() == 0)
    why = "has no public examples to be measured on: give data." + spec.data->name + " a public part of its split";
  else if (spec.stop.metric == StopMetric::accuracy)
    why = "stops by its accuracy on the test split, on which nothing may be chosen: stop by metric = \"loss\"";
  if (why.empty()) return true;
  diagnostics_.AddError(document_.search->where, "sweep.search", "sweep.search: a trial of it " + why);
  return false;
}

void Planner::AddSuggestion(const NumberedPoint& suggestion) {
  Assignments values;
  for (std::size_t i = 0; i < suggestion.point.size(); ++i) {
    const SearchDimension& dimension = document_.search->space[i];
    values.push_back({dimension.key, suggestion.point[i], dimension.where, dimension.path, true, dimension.number});
  }
  suggestion_ = suggestion;
  next_number_ = suggestion.number + 1;
  suggested_.emplace_back();
  AddStudents(&values);
}

bool Planner::TellsWhatWasDecided(const TrialSpec& spec) {
  const SearchSpec* search = document_.search ? &*document_.search : nullptr;
  if (search == nullptr || !search->IsAsynchronous()) return true;
  for (std::size_t i = 0; i < search->space.size(); ++i) {
    const SearchDimension& dimension = search->space[i];
    const SpecKey& key = *dimension.key;
    if (!Tells(key, spec) || key.get(spec) == suggestion_.point[i]) continue;
    diagnostics_.AddError(
        dimension.where, dimension.path,
        dimension.path + ": a trial has " + std::string(key.TrialName()) + " = " + FormatValue(key, key.get(spec)) +
            " where asha decided " + FormatValue(key, suggestion_.point[i]) +
            ", and a run that goes on reads what was decided back from the trials: leave the key to asha (sweep.when, "
            "calibrate = \"steps\" and batch = 0 set one), or search by another method");
    return false;
  }
  return true;
}

SearchOutcome Planner::CombineTrials(const std::vector<TrialId>& trials, const SearchHistory& history) const {
  if (trials.empty() && document_.search->IsAsynchronous()) return {};
  return CombineOutcomes(*document_.search, trials, history);
}

// Whether the trials of every suggestion are those that the results folder has for it.
bool Planner::WereSuggested() const {
  return std::all_of(suggested_.begin(), suggested_.end(), [this](const std::vector<TrialId>& trials) {
    const auto known = [this](TrialId id) { return history_->outcomes.contains(id); };
    return trials.empty() || std::any_of(trials.begin(), trials.end(), known);
  });
}

void Planner::ForgetTrials() {
  trials_.clear();
  students_.clear();
  teachers_.clear();
  suggested_.clear();
  next_number_ = 0;
  attempted_ = excluded_ = 0;
}

// Points that were suggested before stay; what follows is suggested from their scores, and from those of trials that
// are known by their ids where they follow from the seed once more.
void Planner::AddSuggested() {
  const SearchSpec& search = *document_.search;
  const SearchHistory nothing;
  const SearchHistory& history = history_ == nullptr ? nothing : *history_;
  const Result<std::vector<NumberedPoint>> known = ListSuggested(search, history);
  if (!known.ok())
    return diagnostics_.AddError(search.where, "sweep.search", "sweep.search: " + known.status().message());
  std::vector<SearchPoint> points;
  for (const NumberedPoint& suggestion : *known) {
    AddSuggestion(suggestion);
    points.push_back(suggestion.point);
  }
  if (history_ == nullptr || !WereSuggested()) {
    ForgetTrials();
    points.clear();
  }
  if (search.IsAsynchronous()) return AddToFreeSlots(std::move(points), history);
  for (;;) {
    std::vector<SearchOutcome> outcomes;
    for (const std::vector<TrialId>& trials : suggested_) outcomes.push_back(CombineTrials(trials, history));
    const std::vector<SearchPoint> next = SuggestPoints(search, points, outcomes);
    if (next.empty()) return;
    for (const SearchPoint& point : next) AddSuggestion({next_number_, point});
    points.insert(points.end(), next.begin(), next.end());
  }
}

bool Planner::AddNumbered(const SearchPoint& point) {
  const std::size_t number = next_number_;
  AddSuggestion({number, point});
  if (!suggested_.back().empty()) return true;
  suggested_.pop_back();
  next_number_ = number;
  return false;
}

void Planner::AddToFreeSlots(std::vector<SearchPoint> points, const SearchHistory& history) {
  const SearchSpec& search = *document_.search;
  if (!search.valid) return;
  const std::vector<SearchPoint> first_rung = DrawFirstRung(search);
  if (points.empty() && !history.room) {
    for (const SearchPoint& point : first_rung) (void)AddNumbered(point);
    return;
  }
  std::vector<SearchOutcome> outcomes;
  for (const std::vector<TrialId>& trials : suggested_) outcomes.push_back(CombineTrials(trials, history));
  std::size_t room = std::max<std::size_t>(history.room.value_or(0), points.empty() ? 1 : 0);
  while (room > 0) {
    const std::optional<SearchPoint> next = SuggestNext(search, first_rung, points, outcomes);
    if (!next) return;
    const bool numbered = AddNumbered(*next);
    points.push_back(*next);
    outcomes.push_back(numbered ? CombineTrials(suggested_.back(), history) : SearchOutcome());
    room -= numbered ? 1 : 0;
  }
}

void Planner::Run(SweepPlan& plan, bool part) {
  InspectData(plan);
  ShareBudgets(plan.unpacked);
  const bool read_well = diagnostics_.clean();
  const std::size_t total = Combinations();
  if (total > kMaxTrials) {
    diagnostics_.AddError(
        document_.sweep_where, "sweep",
        "the axes and seeds make more than " + std::to_string(kMaxTrials) + " trials; split the sweep");
    return;
  }
  CollectAxisKeys();
  tells_side_information_ = ShowsSideInformation(document_.tables);
  trials_.reserve(total + std::min(total, MaxTeachers()));
  if (document_.search)
    AddSuggested();
  else if (document_.select && document_.select->epsilon)
    AddCandidates();
  else
    AddStudents(nullptr);
  if (read_well && excluded_ == attempted_ && !ShowsAPart()) {
    diagnostics_.AddError(document_.sweep_where, "sweep.exclude", "every trial is excluded: nothing is left to run");
  }
  if (read_well && !ShowsAPart()) resolver_.ReportUnused();
  if (!diagnostics_.clean()) return;
  if (!part) WarnAboutUnusedTeachers();
  if (!part) WarnAboutUnusedNetworks();
  WarnAboutMethodsWithoutReadings();
  const std::size_t teachers = PutTeachersFirst();
  plan.trials = std::move(trials_);
  WarnIfLargerBudgetBuysLess(std::span(plan.trials).subspan(teachers), document_.sweep_where, diagnostics_);
  NameTrials(plan.trials);
}

}  // namespace

const std::string& FindUnpackedDigest(const UnpackedDigests& unpacked, const std::string& digest) {
  const auto found = unpacked.find(digest);
  return found == unpacked.end() ? digest : found->second;
}

PlanOutcome ParseSweep(const std::string& text, const std::string& path, const PlanOptions& options,
                       const PlanHooks& hooks) {
  SourceTexts sources;
  DiagnosticCollector diagnostics(&sources);
  const Lookup lookup = hooks.lookup ? hooks.lookup : Lookup(GetEnvironmentVariable);
  SweepDocument document = ReadSweepDocument(text, path, options, lookup, hooks.find_weights, sources, diagnostics);
  SweepPlan plan;
  plan.file = path;
  plan.name = document.name;
  plan.profile = options.profile;
  plan.tables = document.tables;
  for (const FigureTable& figure : document.figures) plan.figures.push_back(figure.spec);
  plan.quota = document.quota;
  plan.select = document.select;
  plan.search = document.search;
  if (!document.data.empty() || document.NamesSleep())
    Planner(document, hooks, options.history.get(), diagnostics).Run(plan, !options.profile.empty());
  if (!plan.trials.empty()) CheckFigures(document, plan.trials, !options.profile.empty(), diagnostics);
  plan.resolved_toml = std::move(document.resolved_toml);
  PlanOutcome outcome;
  outcome.errors = diagnostics.TakeErrors();
  plan.warnings = diagnostics.TakeWarnings();
  if (outcome.errors.empty()) outcome.plan = std::move(plan);
  return outcome;
}

Result<std::string> ReadSweepFile(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  const bool readable = file && !std::filesystem::is_directory(path, ignored);
  std::string text;
  for (std::string piece(kPiece, '\0'); readable && file && text.size() <= kMaxBytes;) {
    file.read(piece.data(), kPiece);
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (text.size() > kMaxBytes)
    return UsageError("larger than 16 MiB, which no sweep file is; give the path of a TOML file");
  if (!readable || file.bad()) return UsageError("cannot read this sweep file; give the path of a TOML file");
  return text;
}

NetworksOutcome LoadNetworks(const std::string& path) {
  NetworksOutcome outcome;
  const Result<std::string> text = ReadSweepFile(path);
  if (!text.ok()) {
    Diagnostic unread;
    unread.file = path;
    unread.message = text.status().message();
    outcome.errors.push_back(std::move(unread));
    return outcome;
  }
  SourceTexts sources;
  const int source = sources.Add(path, *text);
  TomlNode root;
  Diagnostic syntax;
  if (!ParseToml(*text, source, sources, root, syntax)) {
    outcome.errors.push_back(std::move(syntax));
    return outcome;
  }
  DiagnosticCollector diagnostics(&sources);
  SweepDocument document;
  const Lookup lookup(GetEnvironmentVariable);
  ReadContext context{document, diagnostics, lookup, "", "", false};
  const TomlEntry* networks = root.Find("network");
  if (networks != nullptr && networks->value.kind == TomlKind::table) ReadNetworks(networks->value, context);
  for (const NetworkDefinition& network : document.networks)
    if (network.valid) outcome.layers[network.name] = network.text;
  outcome.errors = diagnostics.TakeErrors();
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
