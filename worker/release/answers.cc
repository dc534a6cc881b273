#include "worker/release/answers.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "worker/gang/row_share.h"

namespace retort::worker::release {

namespace {

// [.., rows, classes]: rows that are not finite become zeros.
at::Tensor Sanitised(const at::Tensor& logits) {
  return at::where(at::isfinite(logits).all(-1, /*keepdim=*/true), logits, at::zeros({}, logits.options()));
}

// [.., rows, classes]: what may be said of a query's rows.
at::Tensor Opened(const at::Tensor& logits, const Query& query) {
  const at::Tensor sane = Sanitised(logits.to(at::kFloat));
  if (!query.again.defined()) return sane;
  return at::where(query.again.to(sane.device()).unsqueeze(-1), query.student_logits.to(sane.device()), sane);
}

void CheckShape(const at::Tensor& logits, std::int64_t dimensions, std::int64_t rows, std::int64_t classes) {
  RETORT_CHECK(logits.dim() == dimensions);
  RETORT_CHECK(logits.size(-2) == rows && logits.size(-1) == classes);
}

// Votes of every member, summed: i32 [rows, classes].
at::Tensor CountVotes(const at::Tensor& sane, std::int64_t grain) {
  if (sane.size(0) == 0) return at::zeros({sane.size(1), sane.size(2)}, sane.options().dtype(at::kInt));
  return ComputeVoteShares(sane, grain).sum(0).to(at::kInt);
}

// The bounded gradient of every member, summed exactly: f64 [rows, classes] in steps. No member's row is longer than C.
// The lattice exists, since a mechanism is made before its first query.
at::Tensor SumMemberGradients(const at::Tensor& sane, const Query& query) {
  const auto& [rule, sigma] = *query.gradients;
  const Lattice lattice = Lattice::For(rule.norm_bound, sigma * rule.norm_bound).value();
  const std::int64_t members = sane.size(0), rows = sane.size(1), classes = sane.size(2);
  at::Tensor sum = at::zeros({rows, classes}, sane.options().dtype(at::kDouble));
  for (std::int64_t member = 0; member < members; ++member)
    sum.add_(ComputeLatticeGradient(rule, lattice, query.student_logits, sane[member]));
  return sum;
}

// The query without a graph.
Query Detached(const Query& query) {
  Query detached = query;
  detached.inputs = query.inputs.detach();
  if (query.student_logits.defined()) detached.student_logits = query.student_logits.detach();
  if (query.student_hint.defined()) detached.student_hint = query.student_hint.detach();
  return detached;
}

}  // namespace

at::Tensor TeacherModel::MemberLogits(const at::Tensor&) {
  CheckFailed("members() == 1", __FILE__, __LINE__, "an ensemble answers by MemberLogits");
}

at::Tensor TeacherModel::Hint(const at::Tensor&) {
  CheckFailed("a network with a hint layer", __FILE__, __LINE__, "this teacher gives no hints");
}
TeacherInternals TeacherModel::ForwardWithInternals(const at::Tensor& inputs) { return {Logits(inputs), at::Tensor()}; }

Answers Oracle::Ask(TeacherModel& teacher, const Query& query) {
  const at::NoGradGuard no_grad;
  Answers answers;
  answers.query_ = Detached(query);
  const std::int64_t rows = query.inputs.size(0);
  if (query.student_hint.defined()) {
    const at::Tensor hint = teacher.Hint(answers.query_.inputs).to(at::kFloat);
    RETORT_CHECK(hint.sizes() == query.student_hint.sizes());
    answers.hint_ = Sanitised(hint.flatten(1)).view_as(query.student_hint);
  } else if (teacher.members() > 1) {
    const at::Tensor logits = teacher.MemberLogits(answers.query_.inputs);
    CheckShape(logits, 3, rows, teacher.classes());
    const at::Tensor sane = Opened(logits, answers.query_);
    if (query.mean) {
      RETORT_CHECK(sane.size(0) == teacher.members());
      answers.logits_ = sane.mean(0);
      return answers;
    }
    if (query.gradients)
      answers.gradients_ = SumMemberGradients(sane, answers.query_);
    else
      answers.votes_ = CountVotes(sane, query.grain);
    answers.choices_ = FindFirstLargest(sane);
  } else {
    const at::Tensor logits = teacher.Logits(answers.query_.inputs);
    CheckShape(logits, 2, rows, teacher.classes());
    answers.logits_ = Opened(logits, answers.query_);
  }
  return answers;
}

Answers Oracle::AskUndetached(TeacherModel& teacher, const Query& query) {
  RETORT_CHECK(teacher.members() == 1);
  const at::AutoGradMode with_grad(true);
  Answers answers;
  answers.query_ = query;
  RETORT_CHECK(!query.student_hint.defined());
  const at::Tensor logits = teacher.Logits(query.inputs);
  CheckShape(logits, 2, query.inputs.size(0), teacher.classes());
  answers.logits_ = Sanitised(logits.to(at::kFloat));
  return answers;
}

Result<Answers> Oracle::GatherRows(Answers local, const Query& whole, Collective& gang) {
  if (gang.size() == 1) return local;
  RETORT_CHECK(local.logits_.defined() || local.hint_.defined());
  at::Tensor& own = local.hint_.defined() ? local.hint_ : local.logits_;
  RETORT_ASSIGN_OR_RETURN(const at::Tensor all, GatherRowsToRoot(own, whole.inputs.size(0), gang));
  if (!all.defined()) return local;
  own = all;
  local.query_ = whole;
  local.query_.inputs = whole.inputs.detach();
  return local;
}

Result<Answers> Oracle::SumVotes(Answers local, Collective& gang) {
  RETORT_CHECK(local.votes_.defined());
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(local.votes_));
  return local;
}

Answers Oracle::SelectRows(const Answers& answers, const at::Tensor& rows) {
  RETORT_CHECK(answers.votes_.defined());
  Answers chosen;
  chosen.query_ = answers.query_;
  chosen.query_.inputs = answers.query_.inputs.index_select(0, rows.to(answers.query_.inputs.device()));
  chosen.votes_ = answers.votes_.index_select(0, rows.to(answers.votes_.device()));
  return chosen;
}

Result<Answers> Oracle::GatherMembers(Answers local, std::int64_t members, Collective& gang) {
  if (gang.size() == 1) return local;
  RETORT_CHECK(local.choices_.defined());
  RETORT_ASSIGN_OR_RETURN(const at::Tensor all, GatherRowsToRoot(local.choices_, members, gang));
  if (all.defined()) local.choices_ = all;
  return local;
}

Result<Answers> Oracle::SumGradients(Answers local, Collective& gang) {
  RETORT_CHECK(local.gradients_.defined());
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(local.gradients_));
  return local;
}

at::Tensor RoundDownToShares(const at::Tensor& probabilities, std::int64_t grain) {
  RETORT_CHECK(grain >= 1);
  const auto whole = static_cast<double>(grain);
  const at::Tensor wanted = (probabilities * whole).floor().nan_to_num(0, whole, 0).clamp(0, whole).to(at::kLong);
  // Integers from here on: running sums that never fall and never pass G have differences >= 0 that add up to
  // the last of them.
  const at::Tensor spent = wanted.cumsum(-1).clamp_max(grain);
  at::Tensor shares = spent.clone();
  shares.slice(-1, 1).sub_(spent.slice(-1, 0, -1));
  return shares;
}

at::Tensor FindFirstLargest(const at::Tensor& logits) { return logits.argmax(-1); }

at::Tensor ComputeVoteShares(const at::Tensor& logits, std::int64_t grain) {
  if (grain == 1) return at::one_hot(FindFirstLargest(logits), logits.size(-1));
  return RoundDownToShares(logits.softmax(-1), grain);
}

}  // namespace retort::worker::release
