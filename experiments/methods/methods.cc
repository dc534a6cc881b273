#include "experiments/methods/methods.h"

#include <algorithm>
#include <cmath>

#include "experiments/base/status.h"
#include "experiments/methods/spec_keys.h"

namespace retort {
namespace {

TrialKind FindTeacherKind(const TrialSpec& spec) {
  const TeacherMethod* method = FindTeacherMethod(spec.method);
  return method != nullptr ? method->kind : kTeacherMethods.front().kind;
}

// Whether the student's method has what `holds` looks for.
template <typename F>
bool HasTrait(const TrialSpec& spec, F holds) {
  const MethodTraits* method = spec.role == Role::student ? FindMethod(spec.method) : nullptr;
  return method != nullptr && holds(*method);
}

}  // namespace

const TeacherMethod* FindTeacherMethod(std::string_view name) {
  for (const TeacherMethod& method : kTeacherMethods)
    if (method.name == name) return &method;
  return nullptr;
}

const TeacherMethod& ChooseTeacherMethod(TrialKind kind, bool full_batch) {
  for (const TeacherMethod& method : kTeacherMethods)
    if (method.kind == kind && method.full_batch == full_batch) return method;
  RETORT_CHECK(false);
  return kTeacherMethods.front();
}

const MethodTraits* FindMethod(std::string_view name) {
  for (const MethodTraits& method : kMethodTraits)
    if (method.name == name) return &method;
  return nullptr;
}

bool HoldsName(std::string_view names, std::string_view name) {
  bool found = false;
  VisitNames(names, [&](std::string_view one) { found = found || one == name; });
  return found;
}

std::vector<std::string> ListReadings(const MethodTraits& method) {
  const std::span<const std::string_view> all = FindKey("reading", kNowhere)->choices;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((method.readings >> i & 1U) != 0) names.emplace_back(all[i]);
  return names;
}

TrialKind FindKind(const TrialSpec& spec) {
  if (spec.role == Role::teacher) return FindTeacherKind(spec);
  const MethodTraits* method = FindMethod(spec.method);
  const TrialKind otherwise = method != nullptr ? method->kind : TrialKind::gradient_student;
  if (FindTraits(otherwise).every_reading) return otherwise;
  if (spec.reading == Reading::sound) {
    if (spec.queries > 0) return TrialKind::vote_student;
    return spec.source == QuerySource::public_split ? TrialKind::labelled_student : TrialKind::distilled_student;
  }
  const bool by_branch = method != nullptr && method->branches && spec.release.branch == Branch::label;
  return by_branch ? TrialKind::response_student : otherwise;
}

bool AsksEnsemble(const TrialSpec& spec) {
  return HasTrait(spec, [](const MethodTraits& method) { return method.teachers == kinds::kEnsemble; });
}

bool HasBranches(const TrialSpec& spec) {
  return HasTrait(spec, [](const MethodTraits& method) { return method.branches; });
}

bool TakesResponses(const TrialSpec& spec) {
  if (HasBranches(spec) && spec.release.branch == Branch::label) return true;
  return HasTrait(spec, [](const MethodTraits& method) { return Releases(method.kind, ReleaseKind::responses); });
}

bool TakesFullBatches(const TrialSpec& spec) {
  const TeacherMethod* teacher = spec.role == Role::teacher ? FindTeacherMethod(spec.method) : nullptr;
  if (teacher != nullptr) return teacher->full_batch;
  return HasTrait(spec, [](const MethodTraits& method) { return method.full_batch; });
}

bool AddsUpRowNoise(const TrialSpec& spec) {
  return HasTrait(spec, [](const MethodTraits& method) { return method.row_noise; });
}

bool GivesSoftAnswers(const TrialSpec& spec) {
  return spec.reading == Reading::printed &&
         HasTrait(spec, [](const MethodTraits& method) { return method.soft_answers; });
}

Paper FindPaper(const TrialSpec& spec) {
  const MethodTraits* method = FindMethod(spec.method);
  return method != nullptr ? method->paper : Paper::none;
}

int GetMethodRevision(const TrialSpec& spec) {
  const TrialKind kind = FindKind(spec);
  const MethodTraits* method = FindMethod(spec.method);
  const bool own = method != nullptr && method->kind == kind && method->revision != 0;
  return own ? method->revision : FindTraits(kind).revision;
}

bool IsTaughtByVotes(const TrialSpec& spec) {
  const ReleaseKind release = FindReleaseKind(FindKind(spec));
  if (release == ReleaseKind::losses) return spec.reading == Reading::sound && spec.queries > 0;
  return release == ReleaseKind::votes;
}

bool AsksNoTeacher(const TrialSpec& spec) {
  const bool asks = spec.rona.hint_epochs > 0 || (spec.rounds > 0 && spec.rona.distill_epochs > 0);
  return Releases(FindKind(spec), ReleaseKind::losses) && !asks;
}

bool FollowsAlgorithm(const TrialSpec& spec) {
  const bool rona = Releases(FindKind(spec), ReleaseKind::losses);
  return rona && (spec.reading == Reading::printed || spec.reading == Reading::stated);
}

bool ShardsDependOnExamples(const TrialSpec& ensemble) {
  if (ensemble.shards.partition == Partition::dirichlet) return true;
  const DataSpec* data = ensemble.data.get();
  return data != nullptr &&
         (!data->sensitive_classes.empty() || data->preprocessing.on_error == OnError::skip_and_count);
}

bool TakesOwnLabels(const TrialSpec& spec) {
  const bool asks = HasTrait(spec, [](const MethodTraits& method) { return method.teachers != 0; });
  return asks && spec.source == QuerySource::private_split && spec.distill.label == ImageLabel::truth;
}

double CountPoolSteps(const TrialSpec& spec) {
  const std::int64_t filling = std::min(spec.steps, std::max<std::int64_t>(spec.distill.replay, 1));
  const auto batch = static_cast<double>(spec.batch), student_batch = static_cast<double>(spec.distill.student_batch);
  const auto pass = [&](std::int64_t batches) {
    return std::ceil(static_cast<double>(batches) * batch / student_batch);
  };
  double steps = static_cast<double>(spec.steps - filling) * pass(filling);
  for (std::int64_t round = 1; round <= filling; ++round) steps += pass(round);
  return steps;
}

bool AugmentsImages(const TrialSpec& spec) {
  return spec.inputs.augment != Augment::none && (spec.inputs.augment != Augment::shift || spec.inputs.shift > 0);
}

bool AugmentsPrivately(const TrialSpec& spec) { return AugmentsImages(spec) && TrainsByDpSgd(FindKind(spec)); }

}  // namespace retort
