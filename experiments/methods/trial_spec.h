// The resolved description of one trial: every value that decides its result, defaults included.
// The key table in spec_keys.cc binds each field to its TOML key, type, range, default and one-line
// documentation; the parser, the canonical encoding, `retort schema` and the documentation are all
// generated from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/methods/data_spec.h"

namespace retort {

enum class Role : std::uint8_t { teacher, student };
enum class Reading : std::uint8_t { working, printed, row_averaged, sound, stated };
enum class NoiseMode : std::uint8_t { secure, seeded };
enum class QuerySource : std::uint8_t { generator, public_split, private_split, procedural, public_mixes };
inline constexpr std::size_t kQuerySources = 5;
[[nodiscard]] constexpr bool ShowsPublicImages(QuerySource source) {
  return source == QuerySource::public_split || source == QuerySource::public_mixes;
}
// What a procedure draws: strokes and blobs, or dead leaves and 1/f noise.
enum class Pictures : std::uint8_t { writing, natural };
enum class Normalization : std::uint8_t { row, frobenius, clip };
// What `epsilon` calibrates to; `paper` is the paper's printed formula.
enum class ClaimTarget : std::uint8_t { none, paper, answer, slot, teacher, member, example, label };
enum class Calibrate : std::uint8_t { none, noise, steps };
// dkd_printed: with the denominators that DPSD's equation 2 prints.
enum class DistillationLoss : std::uint8_t { dkd, kd, ce_hard, dkd_printed };
// What a distillation loss is differentiated by: the student's logits, or its probabilities as if they were free.
enum class GradientOf : std::uint8_t { logits, probabilities };
// What a student is taught by a noised gradient: its own prediction less gamma times it, or the gradient itself
// (FedDPSD, Algorithm 2, line 15).
enum class GradientTarget : std::uint8_t { step, gradient };
// Over which classes a randomised response is drawn where the teacher's class is a candidate: the candidates (DPSD,
// Algorithm 2), or all classes (DPSD, equations 4 and 5).
enum class ResponseOver : std::uint8_t { candidates, classes };
// Which entries of a gradient are its largest, and among which they are sought: those of a row, or of a batch.
enum class MaskBy : std::uint8_t { magnitude, value };
enum class MaskOver : std::uint8_t { row, batch };
// What a stop rule looks at: nothing, the loss of the step, or the accuracy on the test split.
enum class StopMetric : std::uint8_t { none, loss, accuracy };
// What is done to a training image at random.
enum class Augment : std::uint8_t { none, shift, crop_flip, random_resized_crop, affine, elastic };
// Of the arithmetic inside a network; parameters, optimiser and releases are float32 with any.
enum class Precision : std::uint8_t { float32, bfloat16, tf32 };
enum class Optimizer : std::uint8_t { adam, sgd };
// How the weights of student and generator begin: by their networks' definitions, or by Xavier's rule.
enum class Initialisation : std::uint8_t { as_defined, xavier };
// How a learning rate falls.
enum class Schedule : std::uint8_t { linear, cosine, step };
// Which form the entropy and activation terms of a generator's loss take: DAFL's, as printed for a batch (DPDFD,
// equation 5), or as printed with sums over the rows (DPSD, equation 8).
enum class GeneratorForm : std::uint8_t { dafl, printed, printed_sums };
// Whom a generator is trained through.
enum class Discriminator : std::uint8_t { student, teacher };
// Of private images: the class that a teacher says, or the example's own.
enum class ImageLabel : std::uint8_t { teacher, truth };
// Of feddpsd: noisy gradients (the paper's s = 1), or randomised responses (s = 0).
enum class Branch : std::uint8_t { data, label };
// Of feddpsd: each client adds the noise to its own answer, or the server adds it once to their sum.
enum class Trust : std::uint8_t { untrusted, trusted };
// How the private examples are shared out among the members of an ensemble: equal shards by index, or a Dirichlet
// draw a class.
enum class Partition : std::uint8_t { shards, dirichlet };
inline constexpr std::int64_t kMinDirichletExamples = 10;  // examples
// Which examples a plain teacher sees.
enum class TrainedOn : std::uint8_t { private_split, all, public_split };
// How rona chooses the public examples that it asks about.
enum class Selection : std::uint8_t { k_centre, random, margin, diverse };
// What a student learns from a randomised response: the class answered, or how likely each class made the answer.
enum class ResponseLoss : std::uint8_t { label, likelihood };
// What a student by votes is taught: the votes as evidence for every class, or the first class.
enum class VoteLabel : std::uint8_t { posterior, argmax };
// Of DP-SGD: one bound for an example's whole gradient, or C / sqrt(layers) for each layer's part of it.
enum class Clipping : std::uint8_t { flat, per_layer };
// Of the trained network: as its definition says, or another in every place.
enum class Activation : std::uint8_t { as_defined, relu, tanh };
// Whether a trial may share its device with others of its shape.
enum class PackMode : std::uint8_t { off, automatic };
enum class GraphMode : std::uint8_t { off, automatic };

// TrialSpec::network of a teacher that is a TorchScript module.
inline constexpr const char* kTorchScript = "torchscript";

// The groups of TrialSpec. Fields not used by a trial's role or method keep their defaults (and so do not split
// identities). Units: steps and epochs are counts; seconds are wall clock; learning rates are per optimiser step.

struct PrivacyTarget {
  double delta = 1e-5;
  double epsilon = 0;  // with `claim` and `calibrate`; 0 = none asked for
  ClaimTarget claim = ClaimTarget::none;
  Calibrate calibrate = Calibrate::none;
};

// How what is released of the private examples is bounded and randomised.
struct ReleaseValues {
  double sigma = 100;        // noise over norm bound, as the papers print it
  double norm_bound = 1e-3;  // C; per-example clip for dpsgd
  GradientOf gradient_of = GradientOf::logits;
  Normalization normalization = Normalization::row;
  double normalization_floor = 1e-4;  // e in g / (|g| + e)
  double noise_multiplier = 0;        // dpsgd: noise std over norm_bound; 0 = calibrate fills it
  double vote_noise = 0;              // s of noisy votes, in votes; 0 = calibrate fills it
  std::int64_t grain = 1;             // G, parts of a member's vote: 1 = one-hot votes, more = floor(G softmax)
  std::int64_t vote_threshold = 0;    // least noisy count of the first class that is answered, in votes
  double threshold_noise = 0;         // of that count, in votes; 0 = every query is answered
  std::int64_t answers = 0;           // most queries that are answered, with a threshold; 0 = all
  double vote_cost = 0;    // most that they may cost on the votes at hand, by RDP of vote_order; 0 = not tested
  double vote_order = 12;  // order of that RDP
  double cost_noise = 8;   // of the test, in smooth sensitivities of the cost
  bool detach = true;      // false: the printed trap; claims become unbounded
  std::int64_t top_k = 0;  // largest entries of a gradient row, or candidates of a response; 0 = all classes
  MaskBy mask_by = MaskBy::magnitude;
  MaskOver mask_over = MaskOver::row;
  double threshold = 0;  // classes above it are candidates too; 0 = none but top_k, without that 1 / (2 classes)
  double epsilon0 = 0;   // of one randomised response; 0 = calibrate fills it
  ResponseOver response_over = ResponseOver::candidates;
  Branch branch = Branch::data;
  Trust trust = Trust::untrusted;
  Clipping clipping = Clipping::flat;
  std::int64_t augment_multiplicity = 1;  // dpsgd: augmented copies of an example whose mean gradient is clipped
};

// What a student makes of released labels and votes.
struct LabelValues {
  ResponseLoss response_loss = ResponseLoss::label;
  VoteLabel vote_label = VoteLabel::posterior;
  bool refit = true;               // vote students on public images: relabel all of them, and fit once more
  std::int64_t neighbours = 0;     // of a public image, along which released labels are propagated; 0 = they are not
  double propagation = 0.99;       // share of a label that comes from the neighbours
  std::int64_t eigenvectors = 20;  // dp-spectral: coordinates of an image's place among the public ones
  double smoothing = 0.0;          // label smoothing, vote students
  std::int64_t label_steps = 0;    // optimiser steps on released labels (votes); 0 = preset
};

// Images that are shown to a network.
struct InputValues {
  Pictures pictures = Pictures::writing;  // source procedural
  int shift = 2;                          // pixels of random translation, vote students and tanh teachers
  Augment augment = Augment::shift;
};

struct DistillValues {
  DistillationLoss loss = DistillationLoss::dkd;
  ImageLabel label = ImageLabel::teacher;  // of private images
  GradientTarget target = GradientTarget::step;
  bool project = true;   // g~ less the mean of each row, which a gradient at logits does not have
  bool balance = false;  // rows of the transfer set are drawn evenly by their first class; labels that
                         // neighbours propagate are shared out evenly among the classes
  double dkd_alpha = 1, dkd_beta = 8;
  double temperature = 1;
  double kappa = 0.25;              // gamma * C, the size of the injected step, at the start
  double kappa_end = 0.01;          // reached linearly at the last step
  double gamma = 0;                 // of y = p - gamma g~, throughout; 0 = kappa / norm_bound
  std::int64_t replay = 40;         // batches the transfer set keeps
  std::int64_t student_steps = 16;  // per release step
  std::int64_t student_batch = 64;
  double replay_fraction = 0.5;  // of each student batch
};

// How the private examples are shared out among the members of an ensemble or the clients of fedavg.
struct ShardValues {
  Partition partition = Partition::shards;
  double dirichlet_alpha = 0.5;
  double ridge = 0;          // members by ridge regression of this strength; 0 = by gradient steps
  std::int64_t clients = 5;  // fedavg
};

struct RonaValues {
  std::int64_t hint_epochs = 40, distill_epochs = 8, self_epochs = 8, warm_epochs = 3, auxiliary_epochs = 20;
  double query_fraction = 0.5;  // of the public examples, asked about in each epoch
  Selection selection = Selection::k_centre;
  bool adaptive_bound = true;  // the norm bound is the mean loss against the auxiliary teacher
};

// dp-merf
struct MerfValues {
  std::int64_t random_features = 10'000;  // cosines and sines together
  double bandwidth = 105;                 // sigma^2 of the kernel, over pixels in [0, 1]
  std::int64_t synthetic = 60'000;        // labelled images that the student is trained on
};

// lp-2st
struct StagedLabelValues {
  std::int64_t stages = 2;
  double prior_temperature = 1;  // of the prior that a later stage takes from an earlier one
};

struct OptimizationValues {
  Optimizer optimizer = Optimizer::adam;  // DP-SGD is SGD whatever it says
  Schedule schedule = Schedule::linear;
  Initialisation initialisation = Initialisation::as_defined;
  double lr = 1e-3;
  double lr_hold = 0.5;       // fraction of the steps at full rate
  double lr_end = 0.05;       // factor reached linearly at the end
  double momentum = 0.9;      // sgd only
  double weight_decay = 0;    // sgd: added to the gradient; adam: decoupled
  std::int64_t lr_drops = 2;  // schedule "step": drops to a tenth, evenly spread
  double averaging = 0;       // dpsgd: weight of the past in the running mean of parameters; 0 = the last
};

struct GeneratorValues {
  std::int64_t steps = 2;  // optimiser steps for each release
  double lr = 1e-3;
  std::int64_t latent = 100;
  std::int64_t width = 32;
  double one_hot = 1, information_entropy = 5, activation_norm = 0.1;
  double bn_statistics = 0;  // distance of a batch's statistics from those a batch norm holds
  double adversarial = 0;    // dense: disagreement of student and teacher
  double latent_lr = 0;      // above 0: the latents persist and are trained
  GeneratorForm form = GeneratorForm::dafl;
  Discriminator discriminator = Discriminator::student;
  std::string network = "dafl";  // one of kNamedGenerators (networks.h), or a [network.NAME] of the file
  // The layers of such a network, shared by the trials of a sweep, as TrialSpec::layers; part of identity. Null: one of
  // the zoo.
  std::shared_ptr<const std::string> layers;
  std::int64_t pretrain_steps = 0;  // against the fixed teacher, before the first release
};

// The stop rule; the claims stay those of all steps.
struct StopValues {
  StopMetric metric = StopMetric::none;
  bool above = true;  // false: stops below the threshold
  double threshold = 0;
  std::int64_t after = 0;  // completed steps at the first look
  std::int64_t every = 1;  // steps between two looks
};

// How a trial is run; no part of its identity.
struct ExecutionValues {
  double deadline_seconds = 0;        // without step progress; 0 = from the measured step time
  double checkpoint_seconds = 10;     // least time between two commits by the clock
  std::int64_t checkpoint_steps = 0;  // a commit at the latest after so many steps; 0 = by the clock alone
  std::int64_t checkpoint_keep = 2;   // newest checkpoints that stay
  int priority = 0;
  PackMode pack = PackMode::off;
  GraphMode graphs = GraphMode::off;  // whether a GPU records the steps that repeat
  std::int64_t reserve_block = 64;    // releases charged at once
  std::int64_t retries = 0;           // lost attempts that calibration leaves room for, a block each
};

struct TrialSpec {
  Role role = Role::student;
  std::string method = "dpdfd";  // a name of kMethodTraits; a teacher's of kTeacherMethods
  Reading reading = Reading::working;
  std::string teacher;                   // name in [teacher]; for a teacher trial its own name; display only
  std::optional<TrialId> parent;         // the teacher trial; part of identity
  std::shared_ptr<const DataSpec> data;  // null for sleep
  std::string network = "datalens";      // datalens | tanh-cnn | logistic  (key: student, or network in [teacher])
  // The layers of a network that the sweep file describes (network_layers.h), shared by the trials of a sweep; part of
  // identity. Null: the network is one of the zoo (networks.h).
  std::shared_ptr<const std::string> layers;
  // Loaded teachers: one of the two files, absolute, and the SHA-256 of its bytes, which alone is identity.
  std::string weights, torchscript;
  std::string weights_digest;
  std::string outputs;  // their answers that are taken, as FormatOutputs has them; empty: all, one a class
  std::uint64_t seed = 0;
  NoiseMode noise = NoiseMode::secure;
  int threads = 2;  // intra-op threads; part of identity, since float sums depend on it
  int devices = 1;  // gang size

  // volume
  QuerySource source = QuerySource::generator;
  std::int64_t steps = 160;  // releases of a batch (dpdfd), or optimiser steps (dpsgd)
  std::int64_t epochs = 5;   // plain teachers; 0 = the parameters stay as they were drawn
  std::int64_t batch = 256;  // global batch; expected size under Poisson sampling. 0, while a sweep is read
                             // alone: all private examples
  std::int64_t members = 1;  // ensemble: networks on disjoint shards
  std::int64_t queries = 0;  // noisy-vote answers in all (sound by ensemble)
  std::int64_t rounds = 5;   // of rona's distillation and self learning; communication rounds of fedavg
  TrainedOn trained_on = TrainedOn::private_split;
  Activation activation = Activation::as_defined;
  Precision precision = Precision::float32;
  double seconds = 0.1;  // sleep: of all steps together

  PrivacyTarget privacy;
  ReleaseValues release;
  LabelValues labels;
  InputValues inputs;
  DistillValues distill;
  ShardValues shards;
  RonaValues rona;
  MerfValues merf;
  StagedLabelValues staged;
  OptimizationValues optimization;
  GeneratorValues generator;
  StopValues stop;
  ExecutionValues execution;

  // Of a trial that was drawn by a private selection, or stands for one: the metric that it is chosen by, and which
  // selection and draw it is. Empty for all others. Part of identity.
  std::string score, draw;
  double score_noise = 0;  // standard deviation of the noise on a score of private examples, in examples; 0 = public

  // derived, not keys
  TrialId id;
  std::string name;  // e.g. dpdfd-working-digits-s0 ; the id is appended when shown
  std::vector<std::pair<std::string, std::string>> axes;  // swept keys and values, for rows and tables
};

}  // namespace retort
