// What privacy costs: lattice noise, the mechanism of a dpdfd step against a loop over its rows, the whole step against
// the same step without noise, the noise of a DP-SGD step against the step, a step of votes, and steps whose answers
// are written to a disk.
//   usage: release_bench lattice | mechanism | step [STEPS] | dpsgd | votes | transcript [STEPS]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/files/env.h"
#include "storage/results/checkpoint_store.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/data/dataset.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/method.h"
#include "worker/models/model_registry.h"
#include "worker/noise/lattice_normal.h"
#include "worker/noise/lattice_samplers.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/noisy_votes.h"

namespace retort::worker {
namespace {

using Clock = std::chrono::steady_clock;

double MeasureSeconds(const std::function<void()>& work) {
  const auto began = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - began).count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// What else the machine does adds to every time, and most to the shortest.
double Least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

template <typename T>
T Require(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    std::exit(3);
  }
  return std::move(result).value();
}

void Lattice() {
  std::vector<std::int32_t> out(1 << 20);
  for (const double scale : {1.0, 40.0, 400.0, 40960.0}) {
    const auto lattice = Require(noise::LatticeGaussian::Create(scale));
    noise::ChaChaStream bits(noise::NoiseKey::FromOperatingSystem(), {1, noise::Purpose::votes});
    std::vector<double> seconds;
    for (int i = 0; i < 9; ++i) seconds.push_back(MeasureSeconds([&] { lattice.Sample(bits, out); }));
    std::printf("lattice noise, s = %g: %.2f M samples/s on one core\n", scale,
                static_cast<double>(out.size()) / Median(seconds) / 1e6);
  }
}

// DKD of one row, as autograd sees it.
at::Tensor RowLoss(const at::Tensor& student, const at::Tensor& teacher) {
  const at::Tensor target = at::one_hot(teacher.argmax(-1), teacher.size(-1)).to(at::kBool);
  const at::Tensor p = student.softmax(-1), t = teacher.softmax(-1);
  const at::Tensor p2 = at::stack({p.masked_select(target).sum(), p.masked_select(~target).sum()});
  const at::Tensor t2 = at::stack({t.masked_select(target).sum(), t.masked_select(~target).sum()});
  const at::Tensor other = student.masked_fill(target, -1000).log_softmax(-1);
  const at::Tensor others = teacher.masked_fill(target, -1000).softmax(-1);
  return (t2 * (t2.log() - p2.log())).sum() - 8 * (others * other).masked_fill(target, 0).sum();
}

void Mechanism() {
  constexpr std::int64_t kRows = 256, kClasses = 10;
  at::manual_seed(1);
  const at::Tensor student = at::randn({kRows, kClasses}), teacher = 3 * at::randn({kRows, kClasses});
  release::GradientSettings settings;
  const auto mechanism = Require(release::GaussianGradient::Create(settings, noise::NoiseKey::FromOperatingSystem()));
  release::FixedTeacher fixed(teacher);
  release::MemoryPort port;
  release::ChargeBook book(&port, 64, INT64_MAX);
  const at::Tensor inputs = release::DistinctInputs(kRows, 0);
  std::int64_t step = 0;
  const auto ours = [&] {
    const auto answers = release::Oracle::Ask(fixed, {inputs, student, step++});
    static_cast<void>(Require(release::ChargeAndRelease(*mechanism, answers, book)));
  };
  const auto loop = [&] {
    for (std::int64_t row = 0; row < kRows; ++row) {
      const at::Tensor logits = student[row].clone().requires_grad_(true);
      const at::Tensor gradient = torch::autograd::grad({RowLoss(logits, teacher[row])}, {logits})[0];
      const at::Tensor bounded = gradient * (1e-3 / (gradient.norm() + 1e-4));
      static_cast<void>(bounded + at::randn({kClasses}) * (100 * 1e-3 / 256));
    }
  };
  std::vector<double> fast, slow;
  for (int i = 0; i < 5; ++i) loop();
  for (int i = 0; i < 200; ++i) ours();
  for (int i = 0; i < 25; ++i) {
    slow.push_back(MeasureSeconds(loop));
    fast.push_back(MeasureSeconds([&] {
                     for (int k = 0; k < 20; ++k) ours();
                   }) /
                   20);
  }
  std::printf("mechanism of 256 rows, 10 classes: %.1f us, charge included; loop over the rows %.0f us: %.0f times\n",
              1e6 * Least(fast), 1e6 * Least(slow), Least(slow) / Least(fast));
}

// Where a trial's transcript lies, and how it is written.
struct TranscriptPlace {
  std::string folder = std::filesystem::temp_directory_path();
  storage::TranscriptLimits limits = {};
  bool waits = false;  // at the end of each step
};

// One trial between its steps.
class Trial {
 public:
  Trial(TrialSpec spec, const Dataset& data, const TeacherArtifact* teacher, TranscriptPlace place = {})
      : spec_(std::move(spec)),
        place_(std::move(place)),
        folder_(place_.folder + "/retort-release-bench-" + spec_.method +
                std::to_string(static_cast<int>(spec_.reading)) + (place_.waits ? "-waits" : "")),
        book_(&port_, 64, INT64_MAX),
        gang_(MakeSoloCollective()) {
    std::filesystem::remove_all(folder_);
    store_ = Require(
        storage::CheckpointStore::Open(storage::PosixEnv(), folder_, 1, storage::kKeptCheckpoints, place_.limits));
    tape_ = std::make_unique<ReleaseReplay>(store_.get(), *gang_);
    tape_->UseChargeBook(book_);
    method_ = Require(MakeMethod({spec_, data, teacher, *tape_, *gang_}));
    method_->Register(state_);
  }
  ~Trial() { std::filesystem::remove_all(folder_); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  double Step(std::int64_t step) {
    Series series;
    return MeasureSeconds([&] {
      if (!method_->Step(step, series).ok()) std::exit(3);
      if (place_.waits) Await();
    });
  }
  void Await() {
    if (!store_->AwaitReleased().ok()) std::exit(3);
  }

 private:
  TrialSpec spec_;
  TranscriptPlace place_;
  std::string folder_;
  release::MemoryPort port_;
  release::ChargeBook book_;
  std::unique_ptr<Collective> gang_;
  std::unique_ptr<storage::CheckpointStore> store_;
  std::unique_ptr<ReleaseReplay> tape_;
  std::unique_ptr<Method> method_;
  TrainState state_;
};

std::shared_ptr<DataSpec> Digits() {
  auto digits = std::make_shared<DataSpec>();
  digits->reader = "idx";
  digits->path = RETORT_SOURCE_DIR "/experiments/data/mnist10k";
  digits->examples = 10000;
  digits->split = {1, {0, 8000}, {8000, 8000}, {9000, 10000}, {}, {}, {}, {}, {}};
  return digits;
}

TeacherArtifact MakeTeacher(const Dataset& data) {
  TeacherArtifact teacher;
  teacher.spec.role = Role::teacher;
  teacher.spec.method = "plain";
  teacher.parameters = Require(MakeNetwork("datalens", data.shape, data.classes, RngStream(1, Purpose::parameters)))
                           ->StateBlobs("teacher/");
  return teacher;
}

// Steps in turn; both trials write their releases to a transcript. The one without noise releases raw
// answers.
void Step(std::int64_t steps) {
  constexpr std::int64_t kWarmup = 4;
  at::set_num_threads(2);
  const Dataset data = Require(LoadDataset(storage::PosixEnv(), *Digits()));
  TeacherArtifact teacher = MakeTeacher(data);
  TrialSpec spec;
  spec.steps = steps + kWarmup;
  spec.reading = Reading::working;
  Trial with(spec, data, &teacher);
  spec.reading = Reading::sound;
  Trial without(spec, data, &teacher);
  std::vector<double> noisy, plain, ratios;
  for (std::int64_t step = 0; step < steps + kWarmup; ++step) {
    const double a = with.Step(step), b = without.Step(step);
    if (step < kWarmup) continue;
    noisy.push_back(a);
    plain.push_back(b);
    ratios.push_back(a / b);
  }
  std::printf("dpdfd step at 10 classes: %.1f ms with noise, %.1f ms without: median ratio %.3f over %zu pairs\n",
              1e3 * Median(noisy), 1e3 * Median(plain), Median(ratios), ratios.size());
}

// The draws of one step, in turn with the whole step that takes them, on one core. Exit status 3: more than the aim.
int DpSgd() {
  constexpr std::int64_t kSteps = 12, kCoordinates = 26010;
  constexpr double kMost = 0.05;
  TrialSpec spec;
  spec.method = "dpsgd";
  spec.network = "tanh-cnn";
  spec.data = Digits();
  spec.batch = 1024;
  spec.steps = kSteps;
  spec.release.norm_bound = 0.1;
  spec.release.noise_multiplier = 1;
  const Dataset data = Require(LoadDataset(storage::PosixEnv(), *spec.data));
  Trial trial(spec, data, nullptr);
  const noise::NoiseKey key = noise::NoiseKey::FromOperatingSystem();
  std::vector<double> draws(kCoordinates), noise, steps, shares;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const noise::StreamId stream{static_cast<std::uint64_t>(step), noise::Purpose::dpsgd};
    noise.push_back(MeasureSeconds([&] { noise::FillLatticeNormal(key, stream, 0, 0x1p30, draws); }));
    steps.push_back(trial.Step(step));
    shares.push_back(noise.back() / steps.back());
  }
  std::printf("DP-SGD step of tanh-cnn, batch 1024: %.1f ms, its %lld draws %.2f ms (%.1f M/s): %.2f %%, aim %.0f %%\n",
              1e3 * Median(steps), static_cast<long long>(kCoordinates), 1e3 * Median(noise),
              kCoordinates / Median(noise) / 1e6, 100 * Median(shares), 100 * kMost);
  return Median(shares) <= kMost ? 0 : 3;
}

// Steps of a small trial on one core: its transcript on the disk of temporary files, the same where each step waits for
// its own answer, and in memory, in turn. Each stretch ends as a report does, when all its answers are durable. Exit
// status 3: the disk takes more than the aim.
int Transcript(std::int64_t steps) {
  constexpr std::int64_t kStretch = 25;
  constexpr double kLeast = 0.9;
  const Dataset data = Require(LoadDataset(storage::PosixEnv(), *Digits()));
  TeacherArtifact teacher = MakeTeacher(data);
  TrialSpec spec;
  spec.reading = Reading::working;
  spec.network = "datalens-x0.125";
  spec.steps = steps;
  spec.batch = 32;
  spec.distill.student_batch = 16;
  spec.distill.student_steps = 2;
  spec.generator.width = 8;
  Trial disk(spec, data, &teacher), memory(spec, data, &teacher, {.folder = "/dev/shm"});
  Trial waits(spec, data, &teacher, {.limits = {.gathering = std::chrono::hours(1)}, .waits = true});
  std::vector<double> on_disk, waiting, in_memory;
  for (std::int64_t first = 0; first < steps; first += kStretch) {
    const auto take = [&](Trial& trial) {
      return MeasureSeconds([&] {
               for (std::int64_t step = first; step < std::min(first + kStretch, steps); ++step)
                 static_cast<void>(trial.Step(step));
               trial.Await();
             }) /
             static_cast<double>(std::min(kStretch, steps - first));
    };
    on_disk.push_back(take(disk));
    waiting.push_back(take(waits));
    in_memory.push_back(take(memory));
  }
  const double ratio = Median(in_memory) / Median(on_disk);
  std::printf(
      "small dpdfd step: %.1f steps/s on the disk, %.1f where each waits for it, %.1f in memory: %.2f of memory, "
      "aim %.2f; %.2f times as many as with waiting\n",
      1 / Median(on_disk), 1 / Median(waiting), 1 / Median(in_memory), ratio, kLeast,
      Median(waiting) / Median(on_disk));
  return ratio >= kLeast ? 0 : 3;
}

// What follows the networks: the votes of 100 members counted, charged and released.
void Votes() {
  constexpr std::int64_t kMembers = 100, kRows = 256, kClasses = 10;
  at::manual_seed(1);
  const auto mechanism = Require(release::NoisyVotes::Create({}, noise::NoiseKey::FromOperatingSystem()));
  release::FixedTeacher ensemble(3 * at::randn({kMembers, kRows, kClasses}));
  release::MemoryPort port;
  release::ChargeBook book(&port, 64, INT64_MAX);
  std::vector<double> seconds;
  for (std::int64_t step = 0; step < 200; ++step) {
    const at::Tensor inputs = release::DistinctInputs(kRows, step);
    seconds.push_back(MeasureSeconds([&] {
      const auto answers = release::Oracle::Ask(ensemble, {inputs, {}, step});
      static_cast<void>(Require(release::ChargeAndRelease(*mechanism, answers, book)));
    }));
  }
  std::printf("votes of 100 members on 256 rows, 10 classes: %.0f us, charge included\n", 1e6 * Least(seconds));
}

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what != "lattice" && what != "mechanism" && what != "step" && what != "dpsgd" && what != "votes" &&
      what != "transcript") {
    std::fprintf(stderr,
                 "usage: release_bench lattice | mechanism | step [STEPS] | dpsgd | votes | transcript [STEPS]\n");
    return 2;
  }
  if (what != "step") at::set_num_threads(1);
  if (what == "lattice") retort::worker::Lattice();
  if (what == "mechanism") retort::worker::Mechanism();
  if (what == "votes") retort::worker::Votes();
  if (what == "step") retort::worker::Step(argc > 2 ? std::stoll(argv[2]) : 40);
  if (what == "transcript") return retort::worker::Transcript(argc > 2 ? std::stoll(argv[2]) : 500);
  return what == "dpsgd" ? retort::worker::DpSgd() : 0;
}
