#include "experiments/spec/trial_resolver.h"

#include <algorithm>
#include <utility>

#include "experiments/spec/methods.h"

namespace retort {
namespace {

std::string_view TeacherMethod(TrialKind kind) {
  if (kind == TrialKind::ensemble_teacher) return "ensemble";
  if (kind == TrialKind::loaded_teacher) return "loaded";
  return kind == TrialKind::dpsgd_teacher ? "dpsgd" : "plain";
}

bool WritesFullBatch(const TeacherDefinition& teacher) {
  return std::any_of(teacher.assignments.begin(), teacher.assignments.end(), [](const Assignment& assignment) {
    return assignment.valid && assignment.key->name == "batch" && assignment.value == KeyValue(std::int64_t{0});
  });
}

// From here on a full batch is a number like others, and the same trial as with that number written out.
void CountFullBatch(Composition& composition) {
  TrialSpec& spec = composition.spec;
  if (spec.batch != 0) return;
  composition.full_batch = true;
  spec.batch = spec.data == nullptr ? 1 : std::max<std::int64_t>(spec.data->PrivateExamples(), 1);
}

}  // namespace

const Assignment* StrongestOf(const Layers& layers, std::string_view name) {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    for (auto assignment = (*layer)->rbegin(); assignment != (*layer)->rend(); ++assignment) {
      if (assignment->key->TrialName() == name) return &*assignment;
    }
  }
  return nullptr;
}

TrialResolver::TrialResolver(const SweepDocument& document, Complaints& complaints)
    : document_(document),
      complaints_(complaints),
      method_(FindKey("method", kInTrial)),
      reading_(FindKey("reading", kInTrial)),
      branch_(FindKey("branch", kInTrial)),
      source_(FindKey("source", kInTrial)),
      teacher_(FindKey("teacher", kInTrial)),
      data_(FindKey("data", kInTrial)),
      used_(document.assignments, 0),
      when_matched_(document.when.size(), 0),
      exclude_matched_(document.exclude.size(), 0) {}

// The assignments of the keys that decide the preset and which others apply.
void TrialResolver::SelectParts(const Layers& layers, Composition& composition, bool& source_set) const {
  TrialSpec& spec = composition.spec;
  for (const Assignments* layer : layers) {
    for (const Assignment& assignment : *layer) {
      if (!assignment.valid) composition.judged = false;
      if (!assignment.valid) continue;
      if (assignment.key == data_) composition.data = document_.FindData(std::get<std::string>(assignment.value));
      if (assignment.key == teacher_)
        composition.teacher = document_.FindTeacher(std::get<std::string>(assignment.value));
      if (assignment.key == source_) source_set = true;
      const bool selects = assignment.key == method_ || assignment.key == reading_ || assignment.key == branch_ ||
                           assignment.key == source_;
      if (selects) assignment.key->set(spec, assignment.value);
    }
  }
}

// Where the student is sound, its teacher decides between votes and post-processing.
void TrialResolver::Select(const Layers& layers, Composition& composition) const {
  TrialSpec& spec = composition.spec;
  bool source_set = false;
  SelectParts(layers, composition, source_set);
  const MethodRule& method = *FindMethod(spec.method);
  const bool asks = method.teachers != 0;
  if (!asks) composition.teacher = nullptr;
  if (!source_set || !asks) spec.source = method.source;
  if (method.readings == 0) spec.reading = asks ? Reading::sound : Reading::working;
  if (composition.data == nullptr && document_.data.size() == 1) composition.data = &document_.data.front();
  if (spec.method == "sleep") composition.data = nullptr;
  if (composition.data != nullptr) {
    spec.data = composition.data->data;
    if (!composition.data->valid || !composition.data->readable) composition.judged = false;
  }
  if (composition.teacher != nullptr) {
    spec.teacher = composition.teacher->name;
    if (!composition.teacher->valid) composition.judged = false;
  }
  const bool ensemble = composition.teacher != nullptr && composition.teacher->kind == TrialKind::ensemble_teacher;
  TrialSpec asked = spec;
  asked.queries = ensemble ? 1 : 0;
  composition.kind = KindOf(asked);
}

// Preset and [trial], once for each selection.
const TrialSpec& TrialResolver::Base(const Composition& selected) {
  const BaseKey key{selected.spec.method, selected.kind, selected.spec.reading, selected.spec.branch,
                    selected.spec.source, selected.data, selected.teacher};
  const auto found = bases_.find(key);
  if (found != bases_.end()) return found->second;
  Composition base;
  base.kind = selected.kind;
  base.spec = selected.spec;
  const QuerySource source = selected.spec.source;
  ApplyPreset(base.spec, base.kind);
  base.spec.source = source;
  Apply(document_.trial, base);
  base.spec.seed = 0;
  return bases_.emplace(key, std::move(base.spec)).first->second;
}

void TrialResolver::Apply(const Assignments& assignments, Composition& composition) {
  for (const Assignment& assignment : assignments) {
    if (!assignment.key->AppliesTo(composition.kind, composition.spec.source)) continue;
    used_[assignment.number] = 1;
    const bool selected = assignment.key == source_ || assignment.key->set == nullptr;
    if (!assignment.valid || selected) continue;
    assignment.key->set(composition.spec, assignment.value);
  }
}

Composition TrialResolver::Compose(const Layers& layers, std::uint64_t seed) {
  Composition composition;
  Select(layers, composition);
  composition.spec = Base(composition);
  composition.spec.seed = seed;
  for (std::size_t i = 1; i < layers.size(); ++i) Apply(*layers[i], composition);
  if (!composition.judged) all_judged_ = false;
  return composition;
}

bool TrialResolver::Matches(const std::vector<Condition>& conditions, const Composition& composition) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    if (!condition.key->AppliesTo(composition.kind, composition.spec.source)) return false;
    const KeyValue value = condition.key->get(composition.spec);
    return std::find(condition.values.begin(), condition.values.end(), value) != condition.values.end();
  });
}

Composition TrialResolver::ResolveStudent(Layers& layers, std::uint64_t seed) {
  Composition composition = Compose(layers, seed);
  for (std::size_t i = 0; i < document_.when.size(); ++i) {
    const WhenRule& rule = document_.when[i];
    if (!Matches(rule.conditions, composition)) continue;
    when_matched_[i] = 1;
    layers.push_back(&rule.set);
    composition = Compose(layers, seed);
  }
  for (std::size_t i = 0; i < document_.exclude.size(); ++i) {
    if (!Matches(document_.exclude[i].conditions, composition)) continue;
    exclude_matched_[i] = 1;
    composition.excluded = true;
  }
  CountFullBatch(composition);
  return composition;
}

Composition TrialResolver::ResolveTeacher(const TeacherDefinition& teacher, const DataTable& data,
                                          std::uint64_t seed) {
  Composition composition;
  composition.kind = teacher.kind;
  composition.data = &data;
  composition.judged = teacher.valid && data.valid && data.readable;
  TrialSpec& spec = composition.spec;
  spec.role = Role::teacher;
  spec.method = TeacherMethod(teacher.kind);
  if (teacher.kind == TrialKind::dpsgd_teacher && WritesFullBatch(teacher)) spec.method = "dp-gd";
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
      composition.judged = false;
  }
  for (const Assignment& assignment : teacher.assignments) {
    const bool applies = assignment.key->AppliesTo(teacher.kind, spec.source);
    if (assignment.valid && applies) assignment.key->set(spec, assignment.value);
  }
  if (!spec.torchscript.empty()) spec.network = kTorchScript;
  CountFullBatch(composition);
  return composition;
}

void TrialResolver::ReportUnusedIn(const Assignments& assignments) const {
  for (const Assignment& assignment : assignments) {
    if (used_[assignment.number] != 0 || complaints_.HasErrorAt(assignment.where)) continue;
    complaints_.Error(assignment.where, assignment.path,
                      assignment.path + " reaches no trial to which it applies; " +
                          std::string(assignment.key->TrialName()) +
                          " applies to: " + assignment.key->Users());
  }
}

void TrialResolver::ReportUnused() const {
  for (std::size_t i = 0; i < document_.when.size(); ++i) {
    if (when_matched_[i] == 0)
      complaints_.Warning(document_.when[i].where, "sweep.when", "this rule matches no trial");
  }
  for (std::size_t i = 0; i < document_.exclude.size(); ++i) {
    if (exclude_matched_[i] == 0) {
      complaints_.Warning(document_.exclude[i].where, "sweep.exclude", "this rule matches no trial");
    }
  }
  if (!all_judged_) return;
  ReportUnusedIn(document_.trial);
  for (const Axis& axis : document_.axes) {
    for (const Assignments& row : axis.rows) ReportUnusedIn(row);
  }
  for (std::size_t i = 0; i < document_.when.size(); ++i) {
    if (when_matched_[i] != 0) ReportUnusedIn(document_.when[i].set);
  }
}

}  // namespace retort
