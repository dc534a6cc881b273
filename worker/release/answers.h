// What a teacher said, sealed: only the mechanisms of this folder can open it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/spec/status.h"
#include "worker/gang/collective.h"
#include "worker/models/norm_sight.h"
#include "worker/release/output_gradient.h"

namespace retort::worker::release {

// One batch put to a teacher. `inputs` [rows, channels, height, width] f32. `student_logits`
// [rows, classes] f32 are the student's on the same rows, for mechanisms that release gradients at
// them; undefined otherwise. `step` grows from release to release of one mechanism. `grain`: how a member of
// an ensemble votes (VoteShares). `candidates` bool [rows, classes]: what randomised response may answer for
// each row, chosen without the teacher; undefined = every class. `gradients`: members of an ensemble do not vote
// but answer with their bounded gradients at student_logits, each with its own label. `mean`: an ensemble whose members
// are all asked here answers with the mean of their logits, as a single teacher would: nothing bounds one member's part.
// `student_hint` f32 [rows, channels, height, width]: where defined, the teacher is asked for its hint, of this shape,
// and not for its logits. `again` bool [rows]: rows whose answer was given before, at student_logits. It is not opened:
// where defined, the student's own logits stand for it.
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

// What one batch does inside a network, all of it part of the graph to the inputs.
struct Insides {
  using Norm = NormSight;
  at::Tensor logits;    // f32 [rows, classes]; of an ensemble the mean of its members'
  at::Tensor features;  // f32 [rows, d]: what the last linear layer is given; undefined where nobody can tell
  std::vector<Norm> norms = {};
};

// A teacher as the room sees it. Its answers are protected: nobody but Oracle can ask, and TeacherCritic, whose
// users lose every claim about the teacher.
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
  // Teachers that show nothing but logits leave it as it is.
  [[nodiscard]] virtual Insides LookInside(const at::Tensor& inputs);
  // inputs [rows, ...] -> f32 [rows, channels, height, width], what a layer in its middle says (HintLayer). Evaluation
  // mode. Only for single networks that have such a layer.
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
  friend class Noiseless;
  friend class RandomizedResponse;
  friend class LossNoise;
  Answers() = default;

  Query query_;
  at::Tensor logits_;  // f32 [rows, classes]; of an ensemble only where its mean was asked for
  at::Tensor votes_;   // i32 [rows, classes], VoteShares summed over members; undefined otherwise
  at::Tensor gradients_;  // f64 [rows, classes], LatticeGradient summed over members; undefined otherwise
  at::Tensor choices_;  // i64 [members asked here, rows]: each member's first largest class; undefined otherwise
  at::Tensor hint_;    // f32, of student_hint's shape, when that was asked for; logits_ is undefined then
};

// The only caller of a teacher. Rows with a non-finite answer become the fixed vector of zeros
// (one-hot votes: a vote for class 0), by the same code path: stopping would itself tell something.
class Oracle {
 public:
  // Without gradients: nothing of the teacher's Jacobian can reach the inputs.
  [[nodiscard]] static Answers Ask(TeacherModel& teacher, const Query& query);
  // The printed trap: answers keep their graph to the inputs. Every claim becomes unbounded; only a
  // mechanism made with detach = false takes such answers.
  [[nodiscard]] static Answers AskUndetached(TeacherModel& teacher, const Query& query);
  // Each member asked about its share of `rows` rows (ShareOf): all of them, in rank order, on gang rank 0;
  // elsewhere the local ones unchanged. `whole` holds their inputs and student logits, which every member
  // knows already.
  [[nodiscard]] static Result<Answers> GatherRows(Answers local, const Query& whole, Collective& gang);
  // The same rows on every rank, each holding other members: votes, or gradients, summed over the gang.
  [[nodiscard]] static Result<Answers> SumVotes(Answers local, Collective& gang);
  [[nodiscard]] static Result<Answers> SumGradients(Answers local, Collective& gang);
  // The same rows on every rank, each holding its share of `members` members: the choices of all of them, in rank
  // order, on gang rank 0; elsewhere the local ones unchanged.
  [[nodiscard]] static Result<Answers> GatherMembers(Answers local, std::int64_t members, Collective& gang);
};

}  // namespace retort::worker::release
