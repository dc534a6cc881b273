// Trials that take a fraction of a second: 16 x 16 images of four classes, written as IDX files.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "experiments/methods/spec_codec.h"
#include "storage/datasets/idx_file.h"
#include "storage/files/env.h"
#include "storage/formats/tensor_blob.h"
#include "storage/results/attempt_file.h"
#include "tests/testing/temporary_directory.h"
#include "tests/unit/worker/twin_host.h"
#include "worker/run/trial_runner.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {

inline void WriteBigEndian(std::ofstream& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>((value >> shift) & 0xffU));
}

// `n` images: a bright quarter, by class, under noise.
inline void WriteTinyIdx(const std::string& folder, std::int64_t n, std::int64_t side = 16) {
  std::ofstream images(folder + "/t10k-images-idx3-ubyte", std::ios::binary);
  std::ofstream labels(folder + "/t10k-labels-idx1-ubyte", std::ios::binary);
  WriteBigEndian(images, 0x803);
  WriteBigEndian(images, static_cast<std::uint32_t>(n));
  WriteBigEndian(images, static_cast<std::uint32_t>(side));
  WriteBigEndian(images, static_cast<std::uint32_t>(side));
  WriteBigEndian(labels, 0x801);
  WriteBigEndian(labels, static_cast<std::uint32_t>(n));
  const RngStream stream(7, Purpose::split);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t label = i % 4;
    labels.put(static_cast<char>(label));
    for (std::int64_t k = 0; k < side * side; ++k) {
      const std::int64_t quarter = (k / side * 2 / side) * 2 + (k % side) * 2 / side;
      const auto noise = stream.Lane(static_cast<std::uint64_t>(i)).Below(static_cast<std::uint64_t>(k), 80);
      images.put(static_cast<char>(quarter == label ? 150 + noise : noise));
    }
  }
}

// A results folder, a data folder, and specs that fit them.
class TinyTrials {
 public:
  TinyTrials() {
    std::filesystem::create_directories(folder_ / "data");
    WriteTinyIdx(folder_ / "data", 200);
    data_ = std::make_shared<DataSpec>();
    data_->name = "tiny";
    data_->reader = "idx";
    data_->path = folder_ / "data";
    data_->classes = 4;
    data_->split = {3, {0, 120}, {120, 160}, {160, 200}, {}, {}, {}, {}, {}};
    EXPECT_TRUE(storage::InspectIdx(storage::PosixEnv(), *data_).ok());
  }

  // A method, or "networks" and "dirichlet": ensembles of convolutional networks, by index and by label; "ridge": of
  // heads on frozen features.
  [[nodiscard]] TrialSpec Teacher(const std::string& method) const {
    TrialSpec spec = Common();
    spec.role = Role::teacher;
    spec.method = method;
    spec.epochs = 3;
    spec.batch = 40;
    spec.inputs.shift = 1;
    if (method == "bn-cnn") {
      spec.method = "plain";
      spec.network = "bn-cnn";
    }
    if (method == "networks" || method == "dirichlet") Networks(spec);
    if (method == "ensemble") {
      spec.network = "logistic";
      spec.members = 6;
      spec.epochs = 6;
      spec.optimization.lr = 0.05;
    }
    if (method == "dpsgd") DpSgd(spec);
    if (method == "ridge") {
      spec.method = "ensemble";
      spec.network = "hog-linear";
      spec.members = 6;
      spec.shards.ridge = 0.3;
    }
    return spec;
  }

  [[nodiscard]] TrialSpec Student(Reading reading) const {
    TrialSpec spec = Common();
    spec.reading = reading;
    spec.network = "datalens-x0.125";  // every layer of datalens, of few channels
    spec.steps = 6;
    spec.batch = 24;
    spec.distill.replay = 3;
    spec.distill.student_steps = 3;
    spec.distill.student_batch = 16;
    spec.generator.latent = 8;
    spec.generator.width = 4;
    spec.release.sigma = 4;
    spec.execution.reserve_block = 2;
    return spec;
  }

  // Of method dp-dfd, dpsd-label or feddpsd.
  [[nodiscard]] TrialSpec ResponseStudent(const std::string& method, Reading reading) const {
    TrialSpec spec = Student(reading);
    spec.method = method;
    spec.release.branch = method == "feddpsd" ? Branch::label : Branch::data;
    spec.release.epsilon0 = 2;
    if (method == "dp-dfd") {
      spec.generator.discriminator = Discriminator::teacher;
      spec.generator.pretrain_steps = 2;
      spec.generator.activation_norm = 0;
    } else {
      spec.release.top_k = 2;
      if (method == "dpsd-label" && reading == Reading::printed) spec.release.response_over = ResponseOver::classes;
      spec.labels.response_loss = reading == Reading::working ? ResponseLoss::likelihood : ResponseLoss::label;
    }
    return spec;
  }

  [[nodiscard]] TrialSpec VoteStudent(QuerySource source) const {
    TrialSpec spec = Student(Reading::sound);
    spec.source = source;
    spec.queries = 30;
    spec.release.vote_noise = 1.5;
    spec.labels.label_steps = 4;
    spec.batch = 12;
    spec.inputs.shift = 1;
    return spec;
  }

  // Public images that a privately trained teacher labels.
  [[nodiscard]] TrialSpec LabelledStudent() const {
    TrialSpec spec = Student(Reading::sound);
    spec.source = QuerySource::public_split;
    spec.labels.label_steps = 4;
    spec.batch = 12;
    spec.inputs.shift = 1;
    return spec;
  }

  // Public images that the private examples' places among them label.
  [[nodiscard]] TrialSpec SpectralStudent() const {
    TrialSpec spec = LabelledStudent();
    spec.method = "dp-spectral";
    spec.reading = Reading::working;
    spec.labels.neighbours = 4;
    spec.labels.eigenvectors = 6;
    spec.release.noise_multiplier = 2;
    return spec;
  }

  // RONA, small enough for each of its steps to be interrupted. Hints need a teacher with a layer of 7 x 7 pixels.
  [[nodiscard]] TrialSpec RonaStudent(Reading reading) const {
    TrialSpec spec = Common();
    spec.method = "rona";
    spec.reading = reading;
    spec.source = QuerySource::public_split;
    spec.network = "datalens-x0.125";
    spec.release.sigma = 4;
    spec.distill.temperature = 3;
    spec.batch = 8;
    spec.distill.student_batch = 20;
    spec.rona.hint_epochs = 2;
    spec.rona.auxiliary_epochs = spec.rona.warm_epochs = 1;
    spec.rounds = 2;
    spec.rona.distill_epochs = spec.rona.self_epochs = 2;
    spec.execution.reserve_block = 2;
    return spec;
  }

  // The same by an ensemble's votes; its members give no hints.
  [[nodiscard]] TrialSpec RonaVoteStudent() const {
    TrialSpec spec = RonaStudent(Reading::sound);
    spec.queries = 30;
    spec.release.vote_noise = 1.5;
    spec.rona.hint_epochs = 0;
    return spec;
  }

  [[nodiscard]] TrialSpec DpSgdStudent() const {
    TrialSpec spec = Common();
    spec.method = "dpsgd";
    spec.source = QuerySource::private_split;
    DpSgd(spec);
    return spec;
  }

  // All 120 private examples in every step, on frozen features.
  [[nodiscard]] TrialSpec DpGdStudent() const {
    TrialSpec spec = DpSgdStudent();
    spec.method = "dp-gd";
    spec.network = "hog-linear";
    spec.batch = 120;
    spec.optimization.lr = 4;
    return spec;
  }

  [[nodiscard]] TrialSpec DenseStudent() const {
    TrialSpec spec = Student(Reading::working);
    spec.method = "dense";
    spec.optimization.optimizer = Optimizer::sgd;
    spec.generator.network = "fast";
    spec.distill.temperature = 20;
    spec.generator.activation_norm = 0;
    spec.generator.adversarial = 1;
    spec.generator.steps = 3;
    return spec;
  }

  // Of the methods that train on the private examples without a teacher.
  [[nodiscard]] TrialSpec Baseline(const std::string& method) const {
    TrialSpec spec = Common();
    spec.method = method;
    spec.source = QuerySource::private_split;
    spec.network = "datalens-x0.125";
    spec.epochs = 2;
    spec.batch = 24;
    spec.release.epsilon0 = 2;
    spec.inputs.shift = 1;
    spec.steps = 5;
    spec.distill.student_batch = 16;
    spec.generator.latent = 3;
    spec.generator.width = 4;
    spec.merf.random_features = 40;
    spec.merf.synthetic = 50;
    spec.release.noise_multiplier = 2;
    spec.rounds = 2;
    spec.shards.clients = 3;
    return spec;
  }

  // Attempt `number` of `spec`, whose parent's attempt.h5 is `teacher_file` (empty: none).
  [[nodiscard]] TrialOrder Order(const TrialSpec& spec, const std::string& name, std::uint32_t number,
                                 const std::string& teacher_file = "") const {
    TrialOrder order;
    order.attempt = {TrialId(0x1234), number};
    order.generation = number;
    order.start.spec = EncodeTrialSpec(spec);
    order.start.device = "cpu";
    order.start.trial_directory = folder_ / "trials/" + name;
    order.start.attempt_directory = order.start.trial_directory + "/attempt-" + std::to_string(number);
    order.start.teacher_file = teacher_file;
    if (!teacher_file.empty()) TellOfTeacher(teacher_file, order.start);
    order.start.data_path = data_->path;
    order.start.sweep = "tiny";
    order.build = "test";
    return order;
  }

  // Runs a teacher once and remembers where its artifact lies.
  [[nodiscard]] std::string TeacherFile(const std::string& method) const {
    const std::string name = "teacher-" + method;
    const TrialOrder order = Order(Teacher(method), name, 1);
    const std::string file = order.start.attempt_directory + "/attempt.h5";
    if (std::filesystem::exists(file)) return file;
    FakeTrialHost host;
    const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
    EXPECT_TRUE(ended.succeeded) << ended.detail;
    return file;
  }

  [[nodiscard]] const std::shared_ptr<DataSpec>& data() const { return data_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return folder_ / name; }

 private:
  // As the orchestrator would that has the teacher's row.
  static void TellOfTeacher(const std::string& file, cluster::Start& start) {
    const Result<storage::AttemptFile> teacher = storage::ReadAttemptFile(file);
    if (!teacher.ok()) return;
    start.teacher_parameters = storage::ComputeTensorDigest(teacher->parameters);
    for (const privacy::Claim& claim : teacher->claims) start.teacher_claims.push_back(privacy::EncodeClaim(claim));
  }
  [[nodiscard]] TrialSpec Common() const {
    TrialSpec spec;
    spec.data = data_;
    spec.seed = 5;
    spec.noise = NoiseMode::seeded;
    spec.threads = 1;
    spec.execution.checkpoint_seconds = 1e6;
    return spec;
  }
  static void Networks(TrialSpec& spec) {
    if (spec.method == "dirichlet") spec.shards.partition = Partition::dirichlet;
    spec.method = "ensemble";
    spec.network = "datalens-x0.125";
    spec.members = 3;
    spec.shards.dirichlet_alpha = 2;
    spec.batch = 16;
    spec.optimization.lr = 5e-3;
  }
  static void DpSgd(TrialSpec& spec) {
    spec.network = "tanh-cnn";
    spec.steps = 6;
    spec.batch = 40;
    spec.optimization.lr = 0.5;
    spec.release.norm_bound = 0.1;
    spec.release.noise_multiplier = 1.5;
    spec.inputs.shift = 0;
    spec.execution.reserve_block = 2;
  }

  testing::TemporaryDirectory folder_{testing::Place::memory};
  std::shared_ptr<DataSpec> data_;
};

}  // namespace retort::worker
