#include "worker/run/trial_runner.h"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "storage/datasets/data_inspection.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

class TrialRunner : public ::testing::Test {
 protected:
  cluster::Ended Run(const TrialSpec& spec, const std::string& name, const std::string& teacher = "") {
    order_ = tiny_.Order(spec, name, 1, teacher);
    return RunTrial(order_, host_, storage::PosixEnv());
  }
  storage::AttemptFile File() {
    auto file = storage::ReadAttemptFile(order_.start.attempt_directory + "/attempt.h5");
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(file).value() : storage::AttemptFile{};
  }
  TinyTrials tiny_;
  FakeTrialHost host_;
  TrialOrder order_;
};

bool Holds(const storage::AttemptFile& file, const std::string& prefix) {
  return std::any_of(file.parameters.begin(), file.parameters.end(),
                     [&](const auto& blob) { return blob.name.starts_with(prefix); });
}

TEST_F(TrialRunner, TeacherLeavesItsParametersAndEvaluation) {
  const cluster::Ended ended = Run(tiny_.Teacher("plain"), "teacher");
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_EQ(ended.file, "trials/teacher/attempt-1/attempt.h5");
  EXPECT_EQ(ended.parameters_digest.size(), 64U);
  EXPECT_TRUE(host_.grants.empty()) << "a plain teacher releases nothing";
  const storage::AttemptFile file = File();
  EXPECT_TRUE(Holds(file, "teacher/conv1.weight"));
  ASSERT_TRUE(file.evaluation.has_value());
  EXPECT_EQ(file.evaluation->n, 40);
  EXPECT_TRUE(file.curves.contains("train.loss"));
  EXPECT_EQ(host_.progress.back().step, host_.progress.back().total_steps);
}

TEST_F(TrialRunner, StudentLeavesSamplesCurvesAndLedger) {
  const TrialSpec spec = tiny_.Student(Reading::working);
  const cluster::Ended ended = Run(spec, "student", tiny_.TeacherFile("plain"));
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  const storage::AttemptFile file = File();
  EXPECT_TRUE(Holds(file, "student/"));
  EXPECT_TRUE(Holds(file, "generator/"));
  ASSERT_TRUE(file.samples.has_value());
  EXPECT_EQ(file.samples->released.shape, (std::vector<std::int64_t>{spec.batch, 4}));
  std::int64_t used = 0;
  for (const storage::LedgerEntry& entry : file.ledger) {
    EXPECT_EQ(entry.state, storage::LedgerState::settled);
    used += entry.used;
  }
  EXPECT_EQ(used, spec.steps * spec.batch) << "one draw for each row";
  EXPECT_FALSE(file.claims.empty());
}

TEST_F(TrialRunner, EveryReservationIsSettledWithWhatWasDrawn) {
  ASSERT_TRUE(Run(tiny_.DpSgdStudent(), "settled").succeeded);
  std::int64_t used = 0;
  for (const auto& [id, grant] : host_.grants) {
    EXPECT_GE(grant.used, 0) << "reservation " << id;
    used += grant.used;
  }
  EXPECT_EQ(used, 6);
}

// The ledger was told what was used; the next attempt must not record the whole block as drawn.
TEST_F(TrialRunner, SettlementOutlivesAStopThatSavedNothing) {
  const TrialSpec spec = tiny_.DpSgdStudent();
  host_.stop_at = 4;
  host_.save = false;
  ASSERT_EQ(Run(spec, "unsaved").failure, FailureKind::stopped);
  ASSERT_EQ(host_.checkpoints.back().step, 0);
  FakeTrialHost second;
  order_ = tiny_.Order(spec, "unsaved", 2);
  const cluster::Ended ended = RunTrial(order_, second, storage::PosixEnv());
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  std::int64_t told = 0, recorded = 0;
  for (const FakeTrialHost* host : {&host_, &second})
    for (const auto& [id, grant] : host->grants) told += grant.used;
  for (const storage::LedgerEntry& entry : File().ledger) recorded += entry.Charged().count;
  EXPECT_EQ(recorded, told);
  EXPECT_EQ(told, 6) << "replayed, not drawn again";
}

TEST_F(TrialRunner, RefusedReservationEndsTheAttemptInTheLedgersWords) {
  host_.refuse_at = 2;
  const cluster::Ended ended = Run(tiny_.DpSgdStudent(), "refused");
  EXPECT_FALSE(ended.succeeded);
  EXPECT_EQ(ended.failure, FailureKind::budget_refused);
  EXPECT_EQ(ended.detail, "The budget of data set 'tiny' is spent.");
}

TEST_F(TrialRunner, FolderHoldsACheckpointBeforeTheFirstStep) {
  host_.stop_at = 1;
  EXPECT_EQ(Run(tiny_.Teacher("plain"), "stopped").failure, FailureKind::stopped);
  ASSERT_FALSE(host_.checkpoints.empty());
  EXPECT_EQ(host_.checkpoints.front().step, 0);
}

TEST_F(TrialRunner, NonFiniteTrainingIsNamedAsSuch) {
  TrialSpec spec = tiny_.Teacher("plain");
  spec.optimization.lr = 1e30;
  const cluster::Ended ended = Run(spec, "diverged");
  EXPECT_FALSE(ended.succeeded);
  EXPECT_EQ(ended.failure, FailureKind::not_finite) << ended.detail;
}

TEST_F(TrialRunner, MissingAndChangedDataAreDataFailures) {
  TrialSpec spec = tiny_.Teacher("plain");
  TrialOrder order = tiny_.Order(spec, "missing", 1);
  order.start.data_path = tiny_ / "nowhere";
  EXPECT_EQ(RunTrial(order, host_, storage::PosixEnv()).failure, FailureKind::data);
  std::ofstream(tiny_ / "data/t10k-labels-idx1-ubyte", std::ios::app | std::ios::binary).put('\0');
  EXPECT_EQ(Run(spec, "changed").failure, FailureKind::data);
}

// Twelve images in two classes, the second of them cut short. Neither cache knows them.
class PictureTrial : public TrialRunner {
 protected:
  PictureTrial() {
    const std::filesystem::path from = RETORT_SOURCE_DIR "/tests/fixtures/pictures";
    for (int i = 0; i < 12; ++i) {
      const std::filesystem::path folder = tiny_ / (i % 2 == 0 ? "pictures/a" : "pictures/b");
      std::filesystem::create_directories(folder);
      const std::filesystem::path to = folder / (std::to_string(10 + i) + ".jpg");
      std::filesystem::copy_file(from / (i < 6 ? "yuv420.jpg" : "progressive.jpg"), to);
      if (i == 1) std::filesystem::resize_file(to, 300);
    }
    ::setenv("RETORT_PICTURE_CACHE", (tiny_ / "cache").c_str(), 1);
    ::setenv("XDG_CACHE_HOME", (tiny_ / "digests").c_str(), 1);
    auto data = std::make_shared<DataSpec>();
    data->name = "shelf";
    data->reader = "pictures";
    data->path = tiny_ / "pictures";
    data->classes = 2;
    data->channels = 3;
    data->mean = data->std = {0.5, 0.5, 0.5};
    data->preprocessing = {.resize = 20, .crop = 16, .on_error = OnError::skip_and_count};
    data->split = {0, {0, 8}, {8, 8}, {8, 12}, {}, {}, {}, {}, {}};
    const Status inspected = storage::InspectData(storage::PosixEnv(), *data, {""});
    EXPECT_TRUE(inspected.ok()) << inspected.message();
    spec_ = tiny_.Teacher("plain");
    spec_.network = "logistic";
    spec_.batch = 4;
    spec_.data = data;
    spec_.execution.deadline_seconds = 1e-6;  // so every image is worth a report
  }
  ~PictureTrial() override {
    ::unsetenv("RETORT_PICTURE_CACHE");
    ::unsetenv("XDG_CACHE_HOME");
  }
  cluster::Ended RunIt(const std::string& name) {
    order_ = tiny_.Order(spec_, name, 1);
    order_.start.data_path = spec_.data->path;
    return RunTrial(order_, host_, storage::PosixEnv());
  }
  TrialSpec spec_;
};

TEST_F(PictureTrial, TellsHowFarItsPicturesAre) {
  const cluster::Ended ended = RunIt("told");
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  std::set<std::string> phases;
  std::size_t loading = 0;
  for (const cluster::Progress& progress : host_.progress) {
    if (progress.total_steps > 0) continue;
    EXPECT_EQ(progress.step, 0);
    phases.insert(progress.phase);
    ++loading;
  }
  EXPECT_EQ(phases.size(), loading) << "a phase that is told twice is no progress";
  EXPECT_TRUE(std::any_of(phases.begin(), phases.end(), [](const auto& p) { return p.starts_with("checking "); }));
}

TEST_F(PictureTrial, SkippedPicturesAreAMetric) {
  const cluster::Ended ended = RunIt("skipped");
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  const std::pair<std::string, double> want{"data.skipped", 1};
  EXPECT_EQ(std::count(ended.metrics.begin(), ended.metrics.end(), want), 1);
  EXPECT_EQ(File().metrics, ended.metrics);
  std::filesystem::remove_all(tiny_ / "pictures/b/11.jpg");
  std::filesystem::copy_file(tiny_ / "pictures/b/13.jpg", tiny_ / "pictures/b/11.jpg");
  auto whole = std::make_shared<DataSpec>(*spec_.data);
  ASSERT_TRUE(storage::InspectData(storage::PosixEnv(), *whole, {""}).ok());
  spec_.data = whole;
  const cluster::Ended sound = RunIt("whole");
  ASSERT_TRUE(sound.succeeded) << sound.detail;
  for (const auto& [name, value] : sound.metrics) EXPECT_NE(name, "data.skipped");
}

// Parameters that hardly move, next to no noise: steps differ by their samples alone. Seven of eight examples can be
// read, and a batch of seven stays a sample at the rate that is charged.
TEST_F(PictureTrial, SkippedPicturesLeaveTheSamplingRateAsCharged) {
  spec_.method = "dpsgd";
  spec_.batch = 7;
  spec_.steps = 30;
  spec_.optimization.lr = 1e-9;
  spec_.optimization.momentum = 0;
  spec_.release.norm_bound = 1e-3;
  spec_.release.noise_multiplier = 1e-6;
  spec_.execution.reserve_block = 30;
  spec_.inputs.shift = 0;
  ASSERT_TRUE(RunIt("sampled").succeeded);
  EXPECT_EQ(host_.grants.begin()->second.event.sampling_rate, 7.0 / 8);
  std::vector<double> norms;  // at most the norm bound, of a step that sampled all; the noise is a millionth of it
  const auto file = File();
  for (const auto& [step, norm] : file.curves.at("train.noisy_gradient_norm")) norms.push_back(norm);
  const auto [least, most] = std::minmax_element(norms.begin(), norms.end());
  EXPECT_GT(*most - *least, 0.02 * spec_.release.norm_bound);
}

TEST_F(PictureTrial, StopsWhileItsPicturesAreRead) {
  host_.stop_at = 1;
  const cluster::Ended ended = RunIt("stopped");
  EXPECT_EQ(ended.failure, FailureKind::stopped);
  EXPECT_EQ(ended.detail, "Stopped while its data was loaded.");
  EXPECT_TRUE(host_.checkpoints.empty());
}

TEST_F(PictureTrial, LostAgentIsNotADataError) {
  host_.vanish_at = 1;
  host_.before_steps = true;
  EXPECT_EQ(RunIt("alone").failure, FailureKind::agent_lost);
}

TEST_F(TrialRunner, ImpossibleSpecsAreConfigurationErrors) {
  TrialSpec spec = tiny_.Student(Reading::working);
  EXPECT_EQ(Run(spec, "no-teacher").failure, FailureKind::configuration);
  spec.network = "resnet";
  EXPECT_EQ(Run(spec, "no-network", tiny_.TeacherFile("plain")).failure, FailureKind::configuration);
  spec = tiny_.Student(Reading::working);
  EXPECT_EQ(Run(spec, "ensemble-working", tiny_.TeacherFile("ensemble")).failure, FailureKind::configuration);
  TrialOrder order = tiny_.Order(tiny_.Teacher("plain"), "garbled", 1);
  order.start.spec = "{";
  EXPECT_EQ(RunTrial(order, host_, storage::PosixEnv()).failure, FailureKind::configuration);
}

TEST_F(TrialRunner, UnwritableFolderIsADiskFailure) {
  TrialOrder order = tiny_.Order(tiny_.Teacher("plain"), "disk", 1);
  order.start.trial_directory = "/proc/nowhere";
  order.start.attempt_directory = "/proc/nowhere/attempt-1";
  EXPECT_EQ(RunTrial(order, host_, storage::PosixEnv()).failure, FailureKind::disk);
}

TEST_F(TrialRunner, EqualSpecsGiveEqualParameters) {
  const std::string teacher = tiny_.TeacherFile("plain");
  const cluster::Ended a = Run(tiny_.Student(Reading::working), "a", teacher);
  const cluster::Ended b = Run(tiny_.Student(Reading::working), "b", teacher);
  EXPECT_EQ(a.parameters_digest, b.parameters_digest);
  EXPECT_EQ(a.metrics, b.metrics);
  TrialSpec other = tiny_.Student(Reading::working);
  other.seed = 6;
  EXPECT_NE(Run(other, "c", teacher).parameters_digest, a.parameters_digest);
}

TEST_F(TrialRunner, SecureNoiseDiffersFromRunToRun) {
  const std::string teacher = tiny_.TeacherFile("plain");
  TrialSpec spec = tiny_.Student(Reading::working);
  spec.noise = NoiseMode::secure;
  EXPECT_NE(Run(spec, "a", teacher).parameters_digest, Run(spec, "b", teacher).parameters_digest);
}

TEST_F(TrialRunner, GrantsAreCountedOnceThoughTheReplayWasCheckpointed) {
  const TrialSpec spec = tiny_.DpSgdStudent();
  host_.refuse_at = 3;  // dies with four steps in the transcript and no checkpoint of them
  ASSERT_FALSE(Run(spec, "replayed").succeeded);
  FakeTrialHost second;
  second.stop_at = 3;  // saved in the middle of the replay
  order_ = tiny_.Order(spec, "replayed", 2);
  ASSERT_EQ(RunTrial(order_, second, storage::PosixEnv()).failure, FailureKind::stopped);
  FakeTrialHost third;
  order_ = tiny_.Order(spec, "replayed", 3);
  const cluster::Ended ended = RunTrial(order_, third, storage::PosixEnv());
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  std::int64_t charged = 0;
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
  for (const storage::LedgerEntry& entry : File().ledger) {
    EXPECT_TRUE(seen.emplace(entry.attempt.number, entry.id).second)
        << "attempt " << entry.attempt.number << " reservation " << entry.id << " twice";
    charged += entry.Charged().count;
  }
  EXPECT_EQ(charged, spec.steps);
}

TrialSpec Stopping(TrialSpec spec, StopMetric metric, double threshold) {
  spec.stop.metric = metric;
  spec.stop.above = false;
  spec.stop.threshold = threshold;
  spec.stop.after = 2;
  spec.stop.every = 2;
  return spec;
}

std::int64_t ChargedBy(const std::vector<storage::LedgerEntry>& ledger) {
  std::int64_t charged = 0;
  for (const storage::LedgerEntry& entry : ledger) charged += entry.Charged().count;
  return charged;
}

double Metric(const cluster::Ended& ended, const std::string& name) {
  for (const auto& [key, value] : ended.metrics)
    if (key == name) return value;
  ADD_FAILURE() << "no metric " << name;
  return -1;
}

TEST_F(TrialRunner, StopRuleEndsAtALookAndIsChargedForAllSteps) {
  const TrialSpec spec = Stopping(tiny_.Student(Reading::working), StopMetric::loss, 1e9);
  const cluster::Ended ended = Run(spec, "ruled", tiny_.TeacherFile("plain"));
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_EQ(Metric(ended, "stop.step"), 2);
  EXPECT_EQ(ChargedBy(File().ledger), spec.steps * spec.batch) << "the claim is that of all steps";
}

TEST_F(TrialRunner, StopRuleThatIsNeverMetChangesNothing) {
  const TrialSpec plain = tiny_.DpSgdStudent();
  const cluster::Ended without = Run(plain, "without");
  const cluster::Ended with = Run(Stopping(plain, StopMetric::accuracy, -1), "with");
  ASSERT_TRUE(without.succeeded && with.succeeded);
  EXPECT_EQ(with.parameters_digest, without.parameters_digest) << "measuring leaves the trial as it is";
  EXPECT_EQ(Metric(with, "stop.step"), static_cast<double>(plain.steps));
}

TEST_F(TrialRunner, StopRuleByAccuracyStopsAtTheSameStepAfterAResume) {
  TrialSpec spec = Stopping(tiny_.DpSgdStudent(), StopMetric::accuracy, 2);
  spec.stop.after = 4;
  const cluster::Ended once = Run(spec, "once");
  ASSERT_TRUE(once.succeeded) << once.detail;
  EXPECT_EQ(Metric(once, "stop.step"), 4);
  host_.stop_at = 4;
  ASSERT_EQ(Run(spec, "twice").failure, FailureKind::stopped);
  FakeTrialHost second;
  order_ = tiny_.Order(spec, "twice", 2);
  const cluster::Ended resumed = RunTrial(order_, second, storage::PosixEnv());
  ASSERT_TRUE(resumed.succeeded) << resumed.detail;
  EXPECT_EQ(resumed.parameters_digest, once.parameters_digest);
  EXPECT_EQ(Metric(resumed, "stop.step"), 4);
  EXPECT_EQ(ChargedBy(File().ledger), spec.steps);
}

}  // namespace
}  // namespace retort::worker
