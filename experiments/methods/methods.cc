#include "experiments/methods/methods.h"

#include <algorithm>
#include <cmath>

#include "experiments/methods/spec_keys.h"

namespace retort {
namespace {

TrialKind FindTeacherKind(const TrialSpec& spec) {
  if (spec.method == "ensemble") return TrialKind::ensemble_teacher;
  if (spec.method == "loaded") return TrialKind::loaded_teacher;
  const bool noisy = spec.method == "dpsgd" || spec.method == "dp-gd";
  return noisy ? TrialKind::dpsgd_teacher : TrialKind::plain_teacher;
}

}  // namespace

const MethodTraits* FindMethod(std::string_view name) {
  for (const MethodTraits& method : kMethodTraits)
    if (method.name == name) return &method;
  return nullptr;
}

bool NamesMethod(std::string_view names, std::string_view method) {
  while (!names.empty()) {
    const std::size_t end = names.find(' ');
    if (names.substr(0, end) == method) return true;
    names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
  }
  return false;
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
  if (spec.method == "feddpsd" && spec.release.branch == Branch::label) return TrialKind::response_student;
  return otherwise;
}

int MethodRevision(const TrialSpec& spec) {
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
  return FindReleaseKind(FindKind(spec)) == ReleaseKind::losses && !asks;
}

bool FollowsAlgorithm(const TrialSpec& spec) {
  const bool rona = FindKind(spec) == TrialKind::query_student;
  return rona && (spec.reading == Reading::printed || spec.reading == Reading::stated);
}

bool ShardsDependOnExamples(const TrialSpec& ensemble) {
  if (ensemble.shards.partition == Partition::dirichlet) return true;
  const DataSpec* data = ensemble.data.get();
  return data != nullptr &&
         (!data->sensitive_classes.empty() || data->preprocessing.on_error == OnError::skip_and_count);
}

bool TakesOwnLabels(const TrialSpec& spec) {
  const MethodTraits* method = FindMethod(spec.method);
  const bool asks_of_private = method != nullptr && method->teachers != 0 && spec.role == Role::student &&
                               spec.source == QuerySource::private_split;
  return asks_of_private && spec.distill.label == ImageLabel::truth;
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
