#include "experiments/sweep/trial_resolver.h"

#include <algorithm>
#include <utility>

#include "experiments/methods/methods.h"
#include "experiments/methods/networks.h"
#include "experiments/methods/presets.h"

namespace retort {
namespace {

bool WritesFullBatch(const TeacherDefinition& teacher) {
  return std::any_of(teacher.assignments.begin(), teacher.assignments.end(), [](const Assignment& assignment) {
    return assignment.valid && assignment.key->name == "batch" && assignment.value == KeyValue(std::int64_t{0});
  });
}

// The label of private images where no key of the file says it.
ImageLabel FindPresetLabel(const TrialSpec& spec) {
  TrialSpec preset = spec;
  ApplyPreset(preset, FindKind(preset));
  return preset.distill.label;
}

// Replaces a full batch by its number: the trial is the same as with that number written out.
void CountFullBatch(ResolvedTrial& trial) {
  TrialSpec& spec = trial.spec;
  if (spec.batch != 0) return;
  trial.full_batch = true;
  spec.batch = spec.data == nullptr ? 1 : std::max<std::int64_t>(spec.data->PrivateExamples(), 1);
}

}  // namespace

const Assignment* FindStrongest(const Layers& layers, std::string_view name) {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    for (auto assignment = (*layer)->rbegin(); assignment != (*layer)->rend(); ++assignment) {
      if (assignment->key->TrialName() == name) return &*assignment;
    }
  }
  return nullptr;
}

TrialResolver::TrialResolver(const SweepDocument& document, DiagnosticCollector& diagnostics)
    : document_(document),
      diagnostics_(diagnostics),
      method_(FindKey("method", kInTrial)),
      reading_(FindKey("reading", kInTrial)),
      branch_(FindKey("branch", kInTrial)),
      source_(FindKey("source", kInTrial)),
      label_(FindKey("label", kInTrial)),
      teacher_(FindKey("teacher", kInTrial)),
      data_(FindKey("data", kInTrial)),
      generator_(FindKey("generator", kInTrial)),
      width_(FindKey("generator_width", kInTrial)),
      used_(document.assignments, 0),
      when_matched_(document.when.size(), 0),
      exclude_matched_(document.exclude.size(), 0) {}

// Applies the keys that decide the preset and which other keys apply.
void TrialResolver::SelectParts(const Layers& layers, ResolvedTrial& trial, bool& source_set) const {
  TrialSpec& spec = trial.spec;
  for (const Assignments* layer : layers) {
    for (const Assignment& assignment : *layer) {
      if (!assignment.valid) trial.checkable = false;
      if (!assignment.valid) continue;
      if (assignment.key == data_) trial.data = document_.FindData(std::get<std::string>(assignment.value));
      if (assignment.key == teacher_) trial.teacher = document_.FindTeacher(std::get<std::string>(assignment.value));
      if (assignment.key == source_) source_set = true;
      const bool selects = assignment.key == method_ || assignment.key == reading_ || assignment.key == branch_ ||
                           assignment.key == source_ || assignment.key == label_;
      if (selects) assignment.key->set(spec, assignment.value);
    }
  }
}

// Where the student is sound, its teacher decides between votes and post-processing.
void TrialResolver::Select(const Layers& layers, ResolvedTrial& trial) const {
  TrialSpec& spec = trial.spec;
  bool source_set = false;
  SelectParts(layers, trial, source_set);
  const MethodTraits& method = *FindMethod(spec.method);
  const bool asks = method.teachers != 0;
  if (!source_set || !asks) spec.source = method.source;
  if (asks && method.sources == sources::kPrivate && FindStrongest(layers, "label") == nullptr)
    spec.distill.label = FindPresetLabel(spec);
  if (!asks || TakesOwnLabels(spec)) trial.teacher = nullptr;
  if (method.readings == 0) spec.reading = asks ? Reading::sound : Reading::working;
  if (trial.data == nullptr && document_.data.size() == 1) trial.data = &document_.data.front();
  if (IsSleeper(method.kind)) trial.data = nullptr;
  if (trial.data != nullptr) {
    spec.data = trial.data->data;
    if (!trial.data->valid || !trial.data->readable) trial.checkable = false;
  }
  if (trial.teacher != nullptr) {
    spec.teacher = trial.teacher->name;
    if (!trial.teacher->valid) trial.checkable = false;
  }
  const bool ensemble = trial.teacher != nullptr && IsEnsemble(trial.teacher->kind);
  TrialSpec asked = spec;
  asked.queries = ensemble ? 1 : 0;
  trial.kind = FindKind(asked);
}

// Preset and [trial], once for each selection.
const TrialSpec& TrialResolver::Base(const ResolvedTrial& selected) {
  const BaseKey key{selected.spec.method, selected.kind, selected.spec.reading, selected.spec.release.branch,
                    selected.spec.source, selected.data, selected.teacher};
  const auto found = bases_.find(key);
  if (found != bases_.end()) return found->second;
  ResolvedTrial base;
  base.kind = selected.kind;
  base.spec = selected.spec;
  const QuerySource source = selected.spec.source;
  ApplyPreset(base.spec, base.kind);
  base.spec.source = source;
  Apply(document_.trial, base);
  base.spec.seed = 0;
  return bases_.emplace(key, std::move(base.spec)).first->second;
}

void TrialResolver::Apply(const Assignments& assignments, ResolvedTrial& trial) {
  const bool has_readings = FindMethod(trial.spec.method)->readings != 0;
  for (const Assignment& assignment : assignments) {
    if (!assignment.key->AppliesTo(trial.kind, trial.spec.source)) continue;
    if (IsOfOtherMethods(assignment, trial.kind)) continue;
    if (assignment.key != width_) used_[assignment.number] = 1;  // TakeWidth knows
    const bool without_effect = assignment.key == reading_ && !has_readings;
    const bool selected = assignment.key == source_ || assignment.key->set == nullptr || without_effect;
    if (!assignment.valid || selected) continue;
    assignment.key->set(trial.spec, assignment.value);
  }
}

// Whether it names a generator of the zoo that is not for this kind: [trial] may, for its other methods.
bool TrialResolver::IsOfOtherMethods(const Assignment& assignment, TrialKind kind) const {
  if (assignment.key != generator_ || !assignment.valid || !ReleasesEmbedding(kind)) return false;
  const auto& name = std::get<std::string>(assignment.value);
  return IsNamedGenerator(name) && name != kClassGenerator;
}

// The width is one of generators of the zoo alone; the layers of one that the file describes have their own.
void TrialResolver::TakeWidth(const Layers& layers, ResolvedTrial& trial) {
  if (trial.spec.generator.layers) {
    trial.spec.generator.width = GeneratorValues().width;
    return;
  }
  for (const Assignments* layer : layers)
    for (const Assignment& assignment : *layer)
      if (assignment.key == width_ && width_->AppliesTo(trial.kind, trial.spec.source)) used_[assignment.number] = 1;
}

// The layers of the networks that the file describes.
void TrialResolver::TakeLayers(TrialSpec& spec) const {
  const NetworkDefinition* described = document_.FindNetwork(spec.network);
  spec.layers = described == nullptr ? nullptr : described->text;
  const NetworkDefinition* generator = document_.FindNetwork(spec.generator.network);
  spec.generator.layers = generator == nullptr || !generator->makes_pictures ? nullptr : generator->text;
}

ResolvedTrial TrialResolver::Compose(const Layers& layers, std::uint64_t seed) {
  ResolvedTrial trial;
  Select(layers, trial);
  trial.spec = Base(trial);
  trial.spec.seed = seed;
  for (std::size_t i = 1; i < layers.size(); ++i) Apply(*layers[i], trial);
  TakeLayers(trial.spec);
  TakeWidth(layers, trial);
  if (!trial.checkable) all_checkable_ = false;
  return trial;
}

bool TrialResolver::Matches(const std::vector<Condition>& conditions, const ResolvedTrial& trial) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    if (!condition.key->AppliesTo(trial.kind, trial.spec.source)) return false;
    const KeyValue value = condition.key->get(trial.spec);
    return std::find(condition.values.begin(), condition.values.end(), value) != condition.values.end();
  });
}

ResolvedTrial TrialResolver::ResolveStudent(Layers& layers, std::uint64_t seed) {
  ResolvedTrial trial = Compose(layers, seed);
  for (std::size_t i = 0; i < document_.when.size(); ++i) {
    const WhenRule& rule = document_.when[i];
    if (!Matches(rule.conditions, trial)) continue;
    when_matched_[i] = 1;
    layers.push_back(&rule.set);
    trial = Compose(layers, seed);
  }
  for (std::size_t i = 0; i < document_.exclude.size(); ++i) {
    if (!Matches(document_.exclude[i].conditions, trial)) continue;
    exclude_matched_[i] = 1;
    trial.excluded = true;
  }
  CountFullBatch(trial);
  return trial;
}

ResolvedTrial TrialResolver::ResolveTeacher(const TeacherDefinition& teacher, const DataTable& data,
                                            std::uint64_t seed) {
  ResolvedTrial trial;
  trial.kind = teacher.kind;
  trial.data = &data;
  trial.checkable = teacher.valid && data.valid && data.readable;
  TrialSpec& spec = trial.spec;
  spec.role = Role::teacher;
  spec.method = ChooseTeacherMethod(teacher.kind, IsPrivateTeacher(teacher.kind) && WritesFullBatch(teacher)).name;
  spec.teacher = teacher.name;
  spec.data = data.data;
  spec.seed = seed;
  ApplyPreset(spec, teacher.kind);
  for (const Assignment& assignment : document_.trial) {
    if (!assignment.key->inherited || !assignment.key->AppliesTo(teacher.kind, spec.source)) continue;
    used_[assignment.number] = 1;
    if (assignment.valid)
      assignment.key->set(spec, assignment.value);
    else
      trial.checkable = false;
  }
  for (const Assignment& assignment : teacher.assignments) {
    const bool applies = assignment.key->AppliesTo(teacher.kind, spec.source);
    if (assignment.valid && applies) assignment.key->set(spec, assignment.value);
  }
  if (!spec.torchscript.empty()) spec.network = kTorchScript;
  TakeLayers(spec);
  CountFullBatch(trial);
  return trial;
}

// What its key alone does not say; empty where that says it.
std::string TrialResolver::ExplainUnused(const Assignment& assignment) const {
  if (assignment.key == width_) return "; a generator that the file describes has widths of its own";
  if (assignment.key == generator_ && assignment.valid)
    return "; of these dp-merf gives its generator the class of each picture, which those of the other methods do not "
           "take";
  return "";
}

void TrialResolver::ReportUnusedIn(const Assignments& assignments) const {
  for (const Assignment& assignment : assignments) {
    if (used_[assignment.number] != 0 || diagnostics_.HasErrorAt(assignment.where)) continue;
    diagnostics_.AddError(assignment.where, assignment.path,
                          assignment.path + " reaches no trial to which it applies; " +
                              std::string(assignment.key->TrialName()) + " applies to: " + assignment.key->Users() +
                              ExplainUnused(assignment));
  }
}

void TrialResolver::ReportUnused() const {
  for (std::size_t i = 0; i < document_.when.size(); ++i) {
    if (when_matched_[i] == 0)
      diagnostics_.AddWarning(document_.when[i].where, "sweep.when", "this rule matches no trial");
  }
  for (std::size_t i = 0; i < document_.exclude.size(); ++i) {
    if (exclude_matched_[i] == 0) {
      diagnostics_.AddWarning(document_.exclude[i].where, "sweep.exclude", "this rule matches no trial");
    }
  }
  if (!all_checkable_) return;
  ReportUnusedIn(document_.trial);
  for (const Axis& axis : document_.axes) {
    for (const Assignments& row : axis.rows) ReportUnusedIn(row);
  }
  if (document_.search)
    for (const SearchDimension& one : document_.search->space)
      ReportUnusedIn({{one.key, {}, one.where, one.path, true, one.number}});
  for (std::size_t i = 0; i < document_.when.size(); ++i) {
    if (when_matched_[i] != 0) ReportUnusedIn(document_.when[i].set);
  }
}

}  // namespace retort
