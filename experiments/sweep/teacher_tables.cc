#include "experiments/sweep/teacher_tables.h"

#include <utility>

#include "experiments/sweep/sweep_document.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

const SpecKey& FindNamedKey(std::string_view name) {
  for (const SpecKey& key : ListSpecKeys()) {
    if (key.name == name) return key;
  }
  RETORT_CHECK(false);
  return ListSpecKeys().front();
}

void Give(TeacherDefinition& teacher, std::string_view name, KeyValue value, Position where, ReadContext& context) {
  const std::string path = context.prefix + "teacher." + teacher.name + ".private." + std::string(name);
  teacher.assignments.push_back(
      {&FindNamedKey(name), std::move(value), where, path, true, context.document.assignments++});
}

// private = { epsilon | noise_multiplier, norm_bound }
void ReadPrivate(const TomlEntry& entry, const std::string& path, TeacherDefinition& teacher, ReadContext& context) {
  teacher.kind = TrialKind::dpsgd_teacher;
  const std::string dotted = path + ".private";
  if (entry.value.kind != TomlKind::table) {
    context.diagnostics.AddError(
        entry.value.where, dotted,
        dotted + " takes a table, as in { epsilon = 3, norm_bound = 0.1 }, not " + entry.value.Describe());
    teacher.valid = false;
    return;
  }
  if (!CheckSection(entry.value, "teacher.*.private", dotted, context.partial, context.diagnostics)) {
    teacher.valid = false;
    return;
  }
  const TomlEntry* epsilon = entry.value.Find("epsilon");
  const TomlEntry* noise = entry.value.Find("noise_multiplier");
  if ((epsilon == nullptr) == (noise == nullptr) && !context.partial) {
    context.diagnostics.AddError(entry.value.where, dotted, dotted + " needs either epsilon or noise_multiplier",
                                 {"epsilon", "noise_multiplier"});
    teacher.valid = false;
  }
  if (const TomlEntry* bound = entry.value.Find("norm_bound")) {
    Give(teacher, "norm_bound", bound->value.Number(), bound->value.where, context);
  }
  if (noise != nullptr) Give(teacher, "noise_multiplier", noise->value.Number(), noise->value.where, context);
  if (epsilon != nullptr) {
    Give(teacher, "epsilon", epsilon->value.Number(), epsilon->value.where, context);
    Give(teacher, "claim", static_cast<std::int64_t>(ClaimTarget::example), epsilon->value.where, context);
    Give(teacher, "calibrate", static_cast<std::int64_t>(Calibrate::noise), epsilon->value.where, context);
  }
}

// Sets the path of the file that a published name stands for. False where the text is none, or after an error.
bool ReadPublishedName(const TomlEntry& entry, Assignment& assignment, ReadContext& context) {
  if (assignment.key->name != "weights" || !context.find_weights) return false;
  const Result<std::string> path = context.find_weights(entry.value.text);
  if (path.ok() && path->empty()) return false;
  if (path.ok()) {
    assignment.value = *path;
    return true;
  }
  context.diagnostics.AddError(entry.value.where, assignment.path, path.status().message(), path.status().choices());
  assignment.valid = false;
  return false;
}

// The file's path made absolute; it decides the kind.
void ReadFile(const TomlEntry& entry, Assignment& assignment, TeacherDefinition& teacher, ReadContext& context) {
  if (!IsPrivateTeacher(teacher.kind)) teacher.kind = TrialKind::loaded_teacher;
  if (!assignment.valid || ReadPublishedName(entry, assignment, context) || !assignment.valid) return;
  const auto absolute = ResolveAbsolutePath(entry.value.text, entry.value.where, assignment.path, context);
  assignment.valid = absolute.has_value();
  if (absolute) assignment.value = *absolute;
}

// Reports keys that a loaded teacher may not have beside its file.
void CheckFile(const std::string& path, TeacherDefinition& teacher, DiagnosticCollector& diagnostics) {
  const auto find = [&teacher](std::string_view name) -> const Assignment* {
    for (const Assignment& assignment : teacher.assignments)
      if (assignment.key->name == name) return &assignment;
    return nullptr;
  };
  const auto say = [&](const Assignment& where, std::string message) {
    diagnostics.AddError(where.where, path + "." + std::string(where.key->name), std::move(message));
    teacher.valid = false;
  };
  const Assignment* weights = find("weights");
  const Assignment* module = find("torchscript");
  const Assignment* network = find("network");
  if (weights != nullptr && module != nullptr)
    say(*module, "a teacher is loaded from weights or from torchscript: remove one of them");
  else if (module != nullptr && network != nullptr)
    say(*network, "a TorchScript module is a network of its own: remove network");
  else if (weights != nullptr && network == nullptr)
    say(*weights, "weights need to know their network: set network");
}

void CheckKind(const std::string& path, TeacherDefinition& teacher, DiagnosticCollector& diagnostics) {
  for (const Assignment& assignment : teacher.assignments) {
    const bool members = assignment.key->name == "members";
    if (assignment.key->type == KeyType::path && IsPrivateTeacher(teacher.kind)) {
      diagnostics.AddError(
          assignment.where, path + "." + std::string(assignment.key->name),
          "a loaded teacher is not trained here: remove private or " + std::string(assignment.key->name));
      teacher.valid = false;
      continue;
    }
    if (members && IsPrivateTeacher(teacher.kind)) {
      diagnostics.AddError(assignment.where, path + ".members",
                           "a teacher is either private or an ensemble: remove members or private");
      teacher.valid = false;
    } else if (members && IsLoaded(teacher.kind)) {
      diagnostics.AddError(assignment.where, path + ".members",
                           "a file holds one teacher: remove members, or train an ensemble here");
      teacher.valid = false;
    } else if (!members && !assignment.key->AppliesTo(teacher.kind, QuerySource::generator)) {
      diagnostics.AddError(assignment.where, path + "." + std::string(assignment.key->name),
                           std::string(assignment.key->name) + " does not apply to a " +
                               std::string(GetKindName(teacher.kind)) + "; it applies to: " + assignment.key->Users());
      teacher.valid = false;
    }
    if (!assignment.valid) teacher.valid = false;
  }
}

}  // namespace

void ReadTeachers(const TomlNode& teachers, ReadContext& context) {
  for (const TomlEntry& entry : teachers.entries) {
    const std::string path = context.prefix + "teacher." + entry.key;
    if (entry.value.kind != TomlKind::table) {
      context.diagnostics.AddError(entry.value.where, path, path + " takes a table, not " + entry.value.Describe());
      continue;
    }
    TeacherDefinition teacher;
    teacher.name = entry.key;
    teacher.where = entry.where;
    for (const TomlEntry& item : entry.value.entries) {
      if (item.key == "private") {
        ReadPrivate(item, path, teacher, context);
        continue;
      }
      if (item.key == "stop") {
        for (Assignment& part : ReadStop(item, path + ".", context)) teacher.assignments.push_back(std::move(part));
        continue;
      }
      Assignment assignment = ReadAssignment(item, kInTeacher, path + ".", context);
      if (assignment.key == nullptr) {
        teacher.valid = false;
        continue;
      }
      if (assignment.key->type == KeyType::path) ReadFile(item, assignment, teacher, context);
      const bool ensemble =
          assignment.key->name == "members" && assignment.valid && std::get<std::int64_t>(assignment.value) > 1;
      const bool trained = !IsPrivateTeacher(teacher.kind) && !IsLoaded(teacher.kind);
      if (ensemble && trained) teacher.kind = TrialKind::ensemble_teacher;
      teacher.assignments.push_back(std::move(assignment));
    }
    if (!context.partial) {
      CheckKind(path, teacher, context.diagnostics);
      if (IsLoaded(teacher.kind)) CheckFile(path, teacher, context.diagnostics);
    }
    context.document.teachers.push_back(std::move(teacher));
  }
}

}  // namespace retort
