// A teacher's answers, sealed: only the mechanisms of this folder can read them. With them who can ask a teacher, and
// how the members of an ensemble vote.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "worker/gang/collective.h"
#include "worker/models/network.h"
#include "worker/release/output_gradient.h"

namespace retort::worker::release {

// One batch put to a teacher. `inputs` [rows, channels, height, width] f32. `student_logits`
// [rows, classes] f32 are the student's on the same rows, for mechanisms that release gradients at
// them; undefined otherwise. `step` grows from one release of a mechanism to the next. `grain`: how a member of
// an ensemble votes (ComputeVoteShares). `candidates` bool [rows, classes]: what randomised response may answer for
// each row, chosen without the teacher; undefined = every class. `gradients`: members of an ensemble do not vote
// but answer with their bounded gradients at student_logits, each with its own label. `mean`: an ensemble whose members
// are all asked here answers with the mean of their logits, as a single teacher would: nothing bounds one member's
// part. `student_hint` f32 [rows, channels, height, width]: where defined, the teacher is asked for its hint, of this
// shape, and not for its logits. `again` bool [rows]: rows that were answered before, at student_logits. Their answers
// are not read again: the student's own logits take their place.
struct Query {
  at::Tensor inputs;
  at::Tensor student_logits;
  std::int64_t step = 0;
  std::int64_t grain = 1;
  at::Tensor candidates = {};
  std::optional<MemberRule> gradients = {};
  bool mean = false;
  at::Tensor student_hint = {};
  at::Tensor again = {};
};

// What a network computes inside for one batch. All of it is part of the graph to the inputs.
struct TeacherInternals {
  using Norm = BatchNormInput;
  at::Tensor logits;    // f32 [rows, classes]; of an ensemble the mean of its members'
  at::Tensor features;  // f32 [rows, d]: what the last linear layer is given; undefined for models that do not show it
  std::vector<Norm> norms = {};
};

// A teacher. Its answers are protected: only Oracle can ask for them, and TeacherCritic, whose users lose every claim
// about the teacher.
class TeacherModel {
 public:
  virtual ~TeacherModel() = default;
  [[nodiscard]] virtual std::int64_t classes() const = 0;
  // Networks trained on disjoint shards; 1 for a single teacher.
  [[nodiscard]] virtual std::int64_t members() const { return 1; }

 protected:
  friend class Oracle;
  friend class TeacherCritic;
  // inputs [rows, ...] -> [rows, classes] f32. Evaluation mode; differentiable to the inputs where
  // gradients are enabled. Ensembles: unused.
  [[nodiscard]] virtual at::Tensor Logits(const at::Tensor& inputs) = 0;
  // inputs [rows, ...] -> [members asked here, rows, classes] f32: all of them, or a gang member's share.
  // Only for members() > 1.
  [[nodiscard]] virtual at::Tensor MemberLogits(const at::Tensor& inputs);
  // inputs [rows, ...], in one pass: of a single teacher, or of an ensemble whose members are all asked here.
  // Teachers that show nothing but logits do not override it.
  [[nodiscard]] virtual TeacherInternals ForwardWithInternals(const at::Tensor& inputs);
  // inputs [rows, ...] -> f32 [rows, channels, height, width], the output of a layer in its middle (FindHintLayer).
  // Evaluation mode. Only for single networks that have such a layer.
  [[nodiscard]] virtual at::Tensor Hint(const at::Tensor& inputs);
};

// Move-only. Holds logits or a hint (single teacher), or votes or summed gradients, and choices (ensemble), for the
// rows of one query.
class Answers {
 public:
  Answers(Answers&&) = default;
  Answers& operator=(Answers&&) = default;
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  [[nodiscard]] std::int64_t rows() const { return query_.inputs.size(0); }
  [[nodiscard]] std::int64_t step() const { return query_.step; }

 private:
  friend class Oracle;
  friend class GaussianGradient;
  friend class MemberGradient;
  friend class NoisyVotes;
  friend class VoteThreshold;
  friend class ConsensusTest;
  friend class Noiseless;
  friend class RandomizedResponse;
  friend class LossNoise;
  Answers() = default;

  Query query_;
  at::Tensor logits_;     // f32 [rows, classes]; of an ensemble only where its mean was asked for
  at::Tensor votes_;      // i32 [rows, classes], ComputeVoteShares summed over members; undefined otherwise
  at::Tensor gradients_;  // f64 [rows, classes], ComputeLatticeGradient summed over members; undefined otherwise
  at::Tensor choices_;    // i64 [members asked here, rows]: each member's first largest class; undefined otherwise
  at::Tensor hint_;       // f32, of student_hint's shape, when that was asked for; logits_ is undefined then
};

// The only caller of a teacher. Rows with a non-finite answer become the fixed vector of zeros
// (one-hot votes: a vote for class 0), by the same code path: stopping would itself reveal something.
class Oracle {
 public:
  // Without gradients: nothing of the teacher's Jacobian can reach the inputs.
  [[nodiscard]] static Answers Ask(TeacherModel& teacher, const Query& query);
  // As some papers print it: answers keep their graph to the inputs. Every claim becomes unbounded; only a
  // mechanism made with detach = false takes such answers.
  [[nodiscard]] static Answers AskUndetached(TeacherModel& teacher, const Query& query);
  // Each member asked about its share of `rows` rows (ComputeRowShare): all of them, in rank order, on gang rank 0;
  // elsewhere the local ones unchanged. `whole` holds their inputs and student logits, which every member
  // knows already.
  [[nodiscard]] static Result<Answers> GatherRows(Answers local, const Query& whole, Collective& gang);
  // The same rows on every rank, each holding other members: votes, or gradients, summed over the gang.
  [[nodiscard]] static Result<Answers> SumVotes(Answers local, Collective& gang);
  [[nodiscard]] static Result<Answers> SumGradients(Answers local, Collective& gang);
  // The votes on some of the rows: `rows` i64 [chosen], each below answers.rows(), on the CPU.
  [[nodiscard]] static Answers SelectRows(const Answers& answers, const at::Tensor& rows);
  // The same rows on every rank, each holding its share of `members` members: the choices of all of them, in rank
  // order, on gang rank 0; elsewhere the local ones unchanged.
  [[nodiscard]] static Result<Answers> GatherMembers(Answers local, std::int64_t members, Collective& gang);
};

// A teacher that gives prepared answers: for audits, which construct a pair of neighbours, and for tests.

// `logits` f32 [rows, classes], or [members, rows, classes] of an ensemble: the answer to any query of as
// many rows.
class ScriptedTeacher final : public TeacherModel {
 public:
  explicit ScriptedTeacher(at::Tensor logits) : logits_(std::move(logits)) {}
  std::int64_t classes() const override { return logits_.size(-1); }
  std::int64_t members() const override { return logits_.dim() == 3 ? logits_.size(0) : 1; }

 protected:
  at::Tensor Logits(const at::Tensor&) override { return logits_; }
  at::Tensor MemberLogits(const at::Tensor&) override { return logits_; }

 private:
  at::Tensor logits_;
};

// The members of an ensemble vote in whole numbers, so that the sensitivity of a histogram is exact.

// logits [..., classes] -> i64 [...]: the class of the largest, of equal ones the first.
[[nodiscard]] at::Tensor FindFirstLargest(const at::Tensor& logits);

// logits [..., classes] -> i64 of the same shape. grain 1: one-hot of the first largest; grain G > 1:
// floor(G softmax). Every row is >= 0 and adds up to at most `grain`, whatever the logits and however the
// softmax rounded; two such rows therefore differ by at most sqrt(2) G in L2, one from zero by G.
[[nodiscard]] at::Tensor ComputeVoteShares(const at::Tensor& logits, std::int64_t grain);

// floor(G p) of what claims to be probabilities p [..., classes] (any numbers, NaN as 0), with the property
// above.
[[nodiscard]] at::Tensor RoundDownToShares(const at::Tensor& probabilities, std::int64_t grain);

}  // namespace retort::worker::release
