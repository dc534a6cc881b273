// What a release mechanism did, as the ledger keeps it. Accountants read events and nothing else.
// Enumerators are append-only: their numbers are in ledgers on disk.
//
// What release code writes into each field. B = rows released per step, c = classes, C = norm bound,
// sigma = noise over norm bound as the papers print it, n = members, G = parts of a member's vote (1 for
// one-hot votes, more for noisy probabilities), s = vote noise in votes, q = batch / N_train, z = DP-SGD
// noise multiplier, P = number of trainable parameters. A block of k steps is one event with the count of the
// whole block.
//
//   mechanism, reading          kind                 unit   count   sensitivity  noise_std  rows_per_batch
//   dpdfd working, stated       gaussian_gradient    row    k*B     2C           sigma*C/B  B
//   dpdfd row-averaged          gaussian_gradient    row    k*B     2C           sigma*C    B
//   dpdfd printed (Alg. 1)      gaussian_gradient    batch  k       2C           sigma*C    B
//   sound, ensemble votes       noisy_votes          vote   queries sqrt(2)*G    s*G        1
//   votes behind a threshold    vote_threshold       vote   queries 1            s1         1
//     and those that it lets by  noisy_votes          vote   answers sqrt(2)      s          1
//     and before them            consensus_test       vote   1       margin       w          1
//   randomised response         randomized_response  row    k*B     0            0          B
//   RONA Alg. 2                 loss_noise           batch  k       1            sigma      B
//   RONA working                loss_noise           row    k*B     1            sigma      B
//   sound, private teacher      none                 row    k*B     0            0          B
//   dpsgd student or teacher    subsampled_gaussian  step   k       C            z*C        batch
//   dp-gd student or teacher    subsampled_gaussian  step   k       C            z*C        N_train
//   dpsd-data printed (Eq. 3)   gaussian_gradient    batch  k       2C           sigma*C*sqrt(B)  B
//   an ensemble's gradients     member_gradient      row    k*B     2C           sigma*C    B
//   an ensemble's responses     member_response      row    k*B     0            0          B
//   lp-2st, alibi               label_response       row    labels  0            0          labels
//   dp-merf, dp-spectral        subsampled_gaussian  step   1       1            z          1
//   a selecting sweep           private_selection    batch  1       0            0          1
//   its score on private ones   validation_count     batch  1       1            S          1
//
// - Scales are those of the value the noise is added to, before any public division (row-averaged divides
//   by B after the noise, Alg. 1 divides the noised sum): record sigma*C there, not sigma*C/B. `noise_std`
//   is the standard deviation handed to the sampler, and `sensitivity` the bound the code enforced.
// - noise_coordinates = coordinates drawn per draw; release_coordinates = coordinates that leave per draw:
//   both c for gradients and votes, both P for DP-SGD. Anything drawn smaller is a broadcast and unbounded.
// - frobenius = true when the norm was taken over the whole batch; sensitivity stays 2C (the largest
//   change of the normalised batch), unit stays as in the table. normalization = clip changes no field.
// - sampling_rate = q for subsampled_gaussian (each example drawn independently), 1 everywhere else. A step with
//   q = 1 takes every example: nothing is sampled, its accountant is the exact Gaussian one.
// - epsilon0, choices: randomized_response, member_response and label_response only, 0 otherwise; choices is the
//   least that a set of candidates may hold (2), the worst case, and release_coordinates the number of classes.
// - label_response: one event a part of the labels that is released at once; rows_per_batch = its labels, and
//   noise_coordinates = its number, from 1. A part that is drawn again counts again.
// - member_gradient, member_response: what one member changes; the bound for all members together is none.
// - loss_noise: in units of the bound on the loss, which may change from batch to batch.
// - granularity: the step of the lattice that values and noise lie on (ComputeLatticeStep): of the norm bound for
// gradients and
//   DP-SGD, of 1 for losses and embeddings; 0 for votes, counts and responses, which are whole numbers or classes.
//   `sensitivity` bounds the values as they are after rounding.
// - consensus_test: `sensitivity` is the margin, in deviations of the noise, by which the tested cost is raised, and
//   noise_std in smooth sensitivities of the cost. What it tested is in `test`, of this kind alone.
// - private_selection: K candidates were drawn, and the best one alone is released; `selection` says what each would
//   charge and how K was drawn. Their facts, voids and sources stand in their own events; `source` is that of K.
// - validation_count: of the validation examples, how many a student classifies right, with noise_std in examples.
// Beside
//   other events of a candidate it is about other examples (kFactValidationApart), and is not composed with them.
// - source: where the draw came from: secure_lattice, seeded under noise = "seeded", none for kind none.
// - voids: the kVoid... names of reasons.h that apply. assumptions: kAssume... names below that apply.
// - facts: none; the trial's runner adds them when the event is reserved.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/accountants/selection_draws.h"

namespace retort::privacy {

// Names for PrivacyEvent::assumptions.
// Each example of a batch drawn independently with the sampling rate.
inline constexpr std::string_view kAssumePoissonSampling = "poisson-sampling";
// The members of an ensemble saw disjoint shards, cut by index.
inline constexpr std::string_view kAssumeDisjointShards = "disjoint-shards-by-index";
// The server that adds up the members' answers, and alone draws the noise, sees them as they are.
inline constexpr std::string_view kAssumeTrustedServer = "trusted-server";
// Of a selection: only the chosen candidate is seen, and neither K nor any other candidate. The orchestrator sees to
// it.
inline constexpr std::string_view kAssumeHiddenDraws = "unselected-hidden";
// Of a score on private examples: they are told from those that training saw by their index in the data set.
inline constexpr std::string_view kAssumeValidationApart = "validation-apart-by-index";
// Of claims alone: the step that training stopped at was chosen on the test split, whose examples no claim covers.
inline constexpr std::string_view kSelectedOnTest = "selected-on-test";

// Names for PrivacyEvent::facts: what the worker knows of the structure of the trial that drew. A claim that
// needs one and does not find it is unbounded (FindMissingFact in relation.h).
// Nothing that reaches the generator has a graph to a teacher.
inline constexpr std::string_view kFactDetachedTarget = "detached-target";
// The generator is trained through the student alone, or there is none.
inline constexpr std::string_view kFactStudentDrivesGenerator = "student-drives-generator";
// No example of the private set is in two shards; counted over the indices.
inline constexpr std::string_view kFactDisjointShards = "disjoint-shards";
// What a member of the ensemble became depends on its own shard alone: nothing that all shards decide
// together, such as the step that training stopped at, reached it.
inline constexpr std::string_view kFactIndependentMembers = "members-trained-apart";
// Every private label is in one part of those that are released in turn, so that each leaves once.
inline constexpr std::string_view kFactDisjointParts = "labels-released-once";
// Noise on labels has no end that another label would move. Older releases' Laplace noise had one at 48 scales or
// beyond, which an epsilon0 of kMaxCutEpsilon0 cannot tell from none; claims of larger ones need this.
inline constexpr std::string_view kFactUnboundedNoise = "noise-without-end";
inline constexpr double kMaxCutEpsilon0 = 40;
// No example that a score is measured on is among those that training saw; counted over the indices.
inline constexpr std::string_view kFactValidationApart = "validation-apart";
// No layer of the network that saw private examples mixes those of a batch.
inline constexpr std::string_view kFactNoBatchNorm = "no-batch-norm";
// How DP-SGD augments an example does not depend on which others its step drew. Of trials with `augment` alone, whose
// claims need it.
inline constexpr std::string_view kFactPerExampleAugmentation = "augmented-alone";

// A larger reservation is damage: no trial makes as many draws, and sums of a few thousand still fit.
inline constexpr std::int64_t kMaxDraws = std::int64_t{1} << 50;
inline constexpr std::int64_t kMaxRowsPerBatch = std::int64_t{1} << 40;

enum class MechanismKind : std::uint8_t {
  none = 0,                 // raw answers leave: every claim unbounded
  gaussian_gradient = 1,    // noise on normalised output gradients (DPDFD, DPSD)
  noisy_votes = 2,          // integer Gaussian on a vote histogram
  subsampled_gaussian = 3,  // DP-SGD step under Poisson sampling; DP-GD step, over all examples
  randomized_response = 4,
  loss_noise = 5,       // RONA, printed and working
  member_gradient = 6,  // normalised gradients added over an ensemble's members; noise on the sum, or each member's own
  label_response = 7,   // a private label, released once by a mechanism of pure epsilon0
  member_response = 8,  // randomised response by every member of an ensemble for itself
  vote_threshold = 9,   // integer Gaussian on the largest count of a histogram, held against a threshold
  consensus_test = 10,  // whether votes behind a threshold cost no more than was said, with noise
  private_selection = 11,  // the best of K candidates, K drawn
  validation_count = 12,   // integer Gaussian on how many validation examples a student classifies right
};

enum class EventUnit : std::uint8_t { row = 0, batch = 1, vote = 2, step = 3 };

enum class NoiseSource : std::uint8_t {
  none = 0,
  secure_lattice = 1,  // ChaCha20 from the operating system, exact on whole numbers
  secure_float = 2,    // floating-point noise of earlier versions, whose last digits betray the sum: unbounded
  seeded = 3,          // reproducible; every claim unbounded
};

// What a consensus test allows: threshold and answer of `queries` queries, of this noise, cost `cost` together at most,
// by RDP of `order` (accountants/vote_costs.h).
struct VoteTest {
  double cost = 0;
  double order = 0;
  double smoothness = 0;  // of the sensitivity that the noise goes by
  double threshold_noise = 0;
  double vote_noise = 0;
  std::int64_t queries = 0;
  bool operator==(const VoteTest&) const = default;
};

struct PrivateSelection;

struct PrivacyEvent {
  MechanismKind kind = MechanismKind::none;
  EventUnit unit = EventUnit::row;
  std::int64_t count = 0;  // independent draws of the noise vector
  // L2 sensitivity of what one draw covers when the protected unit changes, and the standard
  // deviation per coordinate of that draw. gaussian_gradient: the change of one row, 2C; whether one
  // draw covers one row or the whole batch is `unit`. noisy_votes: sqrt(2)*G. subsampled_gaussian: C
  // (add-remove). vote_threshold: 1.
  double sensitivity = 0;
  double noise_std = 0;                               // 0 = no noise
  double granularity = 0;                             // step of the lattice of values and noise; 0 = whole numbers
  double epsilon0 = 0;                                // randomized response
  std::int64_t choices = 0;                           // randomized response: k
  double sampling_rate = 1;                           // Poisson q in (0, 1]
  std::int64_t rows_per_batch = 1;                    // B, rows released in one step
  std::int64_t noise_coordinates = 0;                 // coordinates drawn per draw
  std::int64_t release_coordinates = 0;               // coordinates released per draw; a smaller draw is a broadcast
  bool frobenius = false;                             // norm over the batch and not over the row
  VoteTest test;                                      // consensus_test
  std::shared_ptr<const PrivateSelection> selection;  // private_selection, never null there
  NoiseSource source = NoiseSource::none;
  // Flags that void claims, each a reason: e.g. "teacher-jacobian-reaches-generator".
  std::vector<std::string> voids;
  std::vector<std::string> assumptions;
  std::vector<std::string> facts;

  // Adds `more` (>= 0) to count. A sum that does not fit becomes kVoidTooManyDraws: never less than was
  // drawn.
  void Count(std::int64_t more);
  // Equal in everything but count: such events aggregate.
  [[nodiscard]] bool SameMechanism(const PrivacyEvent& other) const;
};

// What a selection may draw: each candidate's events, none of them a selection. Those that another one costs as much as
// under every relation are left out.
struct PrivateSelection {
  DrawLaw law;
  std::vector<std::vector<PrivacyEvent>> candidates;
};

// More candidates of unlike cost are refused: their events stand in every ledger record.
inline constexpr std::size_t kMaxSelectionCosts = 10'000;

// The facts that claims about events of this kind need, sorted.
[[nodiscard]] std::vector<std::string> ListNeededFacts(MechanismKind kind);

// One JSON object; round-trips exactly (doubles in shortest exact form). Facts and granularity may be absent: none, 0.
[[nodiscard]] std::string EncodeEvent(const PrivacyEvent& event);
[[nodiscard]] Result<PrivacyEvent> DecodeEvent(const std::string& json);

}  // namespace retort::privacy
