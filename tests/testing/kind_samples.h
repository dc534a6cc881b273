// A trial of each kind.
#pragma once

#include "experiments/methods/methods.h"
#include "experiments/methods/presets.h"

namespace retort::testing {

// Whether students become of that kind by the reading `sound`.
inline bool IsSoundKind(TrialKind kind) { return IsPostProcessing(kind) || Releases(kind, ReleaseKind::votes); }

// As its preset says, by the first method of that kind, without data and teacher.
inline TrialSpec MakeKindSample(TrialKind kind) {
  TrialSpec spec;
  spec.role = IsTeacher(kind) ? Role::teacher : Role::student;
  if (IsTeacher(kind)) spec.method = ChooseTeacherMethod(kind, false).name;
  for (const MethodTraits& method : GetMethods()) {
    if (IsTeacher(kind) || IsSoundKind(kind) || method.kind != kind) continue;
    spec.method = method.name;
    break;
  }
  if (!IsTeacher(kind)) spec.source = FindMethod(spec.method)->source;
  if (IsSoundKind(kind)) spec.reading = Reading::sound;
  if (FindTraits(kind).asks_once) spec.source = QuerySource::public_split;
  ApplyPreset(spec, kind);
  return spec;
}

}  // namespace retort::testing
