// What trials of students share: the batches that a student is taught, the samples that an attempt keeps, payment of
// releases, and the skeleton of methods that ask a teacher about images made for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/methods/data_spec.h"
#include "experiments/methods/trial_spec.h"
#include "storage/results/attempt_file.h"
#include "worker/distill/transfer_set.h"
#include "worker/methods/image_source.h"
#include "worker/methods/method.h"
#include "worker/release/mechanism.h"
#include "worker/release/teacher_critic.h"
#include "worker/tensors/rng_streams.h"
#include "worker/tensors/train_state.h"
#include "worker/training/learner.h"

namespace retort::worker {

// What the student sees in the steps between two releases: rows of the newest batch, again and again in permuted order,
// and rows of earlier batches.
class StudentBatches {
 public:
  using Batch = std::pair<at::Tensor, at::Tensor>;  // images [n, C, H, W], targets [n, classes]
  // Finds the images behind rows of a transfer set that does not keep them.
  using Recall = std::function<at::Tensor(const at::Tensor& kept)>;

  // Those of release step `step`, whose batch is `fresh`. `earlier`: null, or a set that stores rows; an empty `recall`
  // takes them as they are. `spec` and `earlier` outlive it.
  StudentBatches(const TrialSpec& spec, std::int64_t step, Batch fresh, const TransferSet* earlier, Recall recall = {});

  // Where the rows of all student steps lie: i64 [steps, rows] on the CPU.
  struct Places {
    at::Tensor fresh;  // in the newest batch
    at::Tensor kept;   // in the transfer set; undefined: nothing is replayed
  };
  // Draws spec.distill.student_batch rows for each student step, replay_fraction of them from `earlier`.
  [[nodiscard]] Places Draw() const;
  // Returns the rows at these places, i64 [rows] each, of `fresh` and of `earlier`.
  [[nodiscard]] Batch Take(const Batch& fresh, const at::Tensor& places, const at::Tensor& kept) const;
  [[nodiscard]] const Batch& fresh() const { return fresh_; }
  // Whether Take needs nothing but tensors of the device.
  [[nodiscard]] bool TakesFromDevice() const { return !recall_; }
  [[nodiscard]] RngStream Dropout(std::int64_t i) const { return dropout_.Lane(static_cast<std::uint64_t>(i)); }

 private:
  const TrialSpec& spec_;
  Batch fresh_;
  const TransferSet* earlier_;
  Recall recall_;
  RngStream order_, replay_, dropout_;
};

// Images that a gallery keeps at most.
inline constexpr std::int64_t kMaxGalleryImages = 64;

// The few images that an attempt stores as samples: rows of the newest batch offered, with the annotation released for
// each.
class SampleGallery {
 public:
  SampleGallery(std::int64_t rows, std::vector<std::int64_t> image_shape, std::int64_t classes,
                at::Device device = at::kCPU);
  // Keeps the first rows of images [n, C, H, W] and annotations f32 [n, classes].
  void Offer(std::int64_t step, const at::Tensor& images, const at::Tensor& annotations);
  void Register(TrainState& state, const std::string& prefix);
  // `claim`: one line on what the samples are charged under. `scale`: what the images are normalised by.
  [[nodiscard]] storage::Samples ToSamples(const std::string& claim, const PixelScale& scale) const;

 private:
  at::Tensor images_, annotations_;
  at::Tensor step_;        // i64 [1], on the CPU
  std::int64_t rows_ = 0;  // kept
};

// Pays for a release of `rows` rows from `book` and draws it: what the mechanism released of `answers`. Undefined
// without a book, on gang ranks other than 0. Error: refused by the ledger or the mechanism.
[[nodiscard]] Result<at::Tensor> PayAndRelease(release::Mechanism& mechanism, const release::Answers& answers,
                                               std::int64_t rows, release::ChargeBook* book);

// What a student's trial is made of. `teacher` is null where nobody is asked, `source` where no images are made;
// `critic` is set where the raw teacher trains their generator.
struct StudentParts {
  std::unique_ptr<release::TeacherModel> teacher;
  std::unique_ptr<Network> student;
  std::unique_ptr<ImageSource> source;
  std::optional<release::TeacherCritic> critic;
};

// The critic that the trial's keys ask for, of a teacher that outlives it. Error: as TeacherCritic::FromSpec.
[[nodiscard]] Result<release::TeacherCritic> MakeCritic(const MethodInputs& inputs, release::TeacherModel& teacher);

// What all methods share that teach a student step by step what a teacher says of images made for it.
class StudentMethod : public Method {
 protected:
  // `sample_rows`: rows of a batch that are stored as samples.
  StudentMethod(const MethodInputs& inputs, StudentParts parts, std::int64_t sample_rows);

  // The facts of the teacher's ensemble that hold, and the other two where they are true.
  [[nodiscard]] std::vector<std::string> SelectStudentFacts(bool detached_target, bool student_drives_generator) const;
  // A step of the generator against the fixed teacher: nothing is asked, and the student learns nothing.
  [[nodiscard]] Status PretrainGenerator(std::int64_t step, Series& series);
  // Without a graph.
  [[nodiscard]] at::Tensor StudentLogits(const at::Tensor& images);
  // spec.distill.student_steps steps of the student on `batches`, recorded as one. Returns this member's part of the
  // last step's loss, f64 [].
  [[nodiscard]] Result<at::Tensor> TeachStudent(const StudentBatches& batches, double learning_rate, double temperature,
                                                const Expectation& expect = {});
  // Every 20 steps, on gang rank 0, where there are public examples.
  void RecordPublicAccuracy(std::int64_t step, Series& series);
  // Evaluation, metrics, and the parameters of student and generator.
  [[nodiscard]] Outcome EvaluateStudent();

  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseReplay& tape_;
  Collective& gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  std::unique_ptr<ImageSource> source_;
  std::optional<release::TeacherCritic> critic_;
  bool shards_disjoint_, members_independent_;
  Learner learner_;
  SampleGallery gallery_;
  GraphRegion teaching_, asking_, evaluating_;
};

}  // namespace retort::worker
