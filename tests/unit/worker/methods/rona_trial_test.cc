// RONA as a trial: what the noise reaches, what is charged, what is asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/planned_events.h"
#include "tests/unit/worker/trial_cases.h"

namespace retort::worker {
namespace {

class RonaTrial : public ::testing::Test {
 protected:
  cluster::Ended Run(const TrialSpec& spec, const std::string& name, const std::string& teacher,
                     std::uint32_t number = 1) {
    order_ = tiny_.Order(spec, name, number, teacher);
    return RunTrial(order_, host_, storage::PosixEnv());
  }
  cluster::Ended RunAfresh(const TrialSpec& spec, const std::string& name, const std::string& teacher) {
    host_ = FakeTrialHost();
    const cluster::Ended ended = Run(spec, name, teacher);
    EXPECT_TRUE(ended.succeeded) << ended.detail;
    return ended;
  }
  std::int64_t Used() const {
    std::int64_t used = 0;
    for (const auto& [id, grant] : host_.grants) used += grant.used;
    return used;
  }
  storage::AttemptFile File() const {
    return storage::ReadAttemptFile(order_.start.attempt_directory + "/attempt.h5").value();
  }

  TinyTrials tiny_;
  FakeTrialHost host_;
  TrialOrder order_;
};

// The noise is added to the value of a loss, of which the student sees the gradient.
TEST_F(RonaTrial, NoiseScaleReachesNoPrintedOrWorkingStudent) {
  for (const Reading reading : {Reading::printed, Reading::working}) {
    TrialSpec spec = tiny_.RonaStudent(reading);
    const std::string teacher = tiny_.TeacherFile("plain"), name = reading == Reading::printed ? "printed" : "working";
    const cluster::Ended quiet = RunAfresh(spec, name + "-quiet", teacher);
    spec.release.sigma = 4000;
    EXPECT_EQ(RunAfresh(spec, name + "-loud", teacher).parameters_digest, quiet.parameters_digest);
    spec.noise = NoiseMode::secure;
    EXPECT_EQ(RunAfresh(spec, name + "-secure", teacher).parameters_digest, quiet.parameters_digest);
  }
}

TEST_F(RonaTrial, NoiseScaleReachesTheSoundStudent) {
  TrialSpec spec = tiny_.RonaVoteStudent();
  const std::string teacher = tiny_.TeacherFile("ensemble");
  const cluster::Ended quiet = RunAfresh(spec, "quiet", teacher);
  spec.release.vote_noise = 6;
  EXPECT_NE(RunAfresh(spec, "loud", teacher).parameters_digest, quiet.parameters_digest);
}

TEST_F(RonaTrial, ReadingsAreDifferentStudents) {
  const std::string teacher = tiny_.TeacherFile("plain");
  const cluster::Ended working = RunAfresh(tiny_.RonaStudent(Reading::working), "working", teacher);
  EXPECT_NE(RunAfresh(tiny_.RonaStudent(Reading::printed), "printed", teacher).parameters_digest,
            working.parameters_digest);
}

TEST_F(RonaTrial, ChargesWhatIsPlanned) {
  const auto check = [&](const TrialSpec& spec, const std::string& name, const std::string& teacher) {
    RunAfresh(spec, name, tiny_.TeacherFile(teacher));
    const auto planned = privacy::PlanEvents(spec).value();
    ASSERT_EQ(planned.size(), 1U) << name;
    EXPECT_EQ(Used(), planned[0].count) << name;
    for (const auto& [id, grant] : host_.grants) {
      privacy::PrivacyEvent event = grant.event;
      event.facts = planned[0].facts;
      EXPECT_TRUE(event.SameMechanism(planned[0])) << privacy::EncodeEvent(event) << "\n"
                                                   << privacy::EncodeEvent(planned[0]);
    }
  };
  check(tiny_.RonaStudent(Reading::printed), "printed", "plain");
  check(tiny_.RonaStudent(Reading::working), "working", "plain");
  check(tiny_.RonaStudent(Reading::sound), "private", "dpsgd");
  check(tiny_.RonaVoteStudent(), "votes", "ensemble");
}

// Two epochs of hints and four of distillation of twenty queries: 6 x 3 batches, or 6 x 20 rows.
TEST_F(RonaTrial, PrintedDrawsOnceABatchAndWorkingOnceARow) {
  const std::string teacher = tiny_.TeacherFile("plain");
  RunAfresh(tiny_.RonaStudent(Reading::printed), "printed", teacher);
  EXPECT_EQ(Used(), 18);
  RunAfresh(tiny_.RonaStudent(Reading::working), "working", teacher);
  EXPECT_EQ(Used(), 120);
}

TEST_F(RonaTrial, BaseAsksNothingAndIsChargedNothing) {
  for (const Reading reading : {Reading::printed, Reading::working, Reading::sound}) {
    TrialSpec spec = tiny_.RonaStudent(reading);
    spec.rona.hint_epochs = spec.rona.distill_epochs = 0;
    const std::string teacher = reading == Reading::sound ? "dpsgd" : "plain";
    RunAfresh(spec, "base-" + std::to_string(static_cast<int>(reading)), tiny_.TeacherFile(teacher));
    EXPECT_TRUE(host_.grants.empty());
    EXPECT_TRUE(privacy::PlanEvents(spec).value().empty());
    EXPECT_TRUE(File().ledger.empty());
  }
}

// Nothing is charged that could say so.
TEST_F(RonaTrial, BaseIsNotMeasuredOnAPrivatePicture) {
  TrialSpec spec = tiny_.RonaStudent(Reading::working);
  spec.rona.hint_epochs = spec.rona.distill_epochs = 0;
  const std::string teacher = tiny_.TeacherFile("plain");
  constexpr std::int64_t kHeader = 16, kImage = 16 * 16, kPrivate = 3, kTest = 170;
  std::fstream images(tiny_ / "data/t10k-images-idx3-ubyte", std::ios::binary | std::ios::in | std::ios::out);
  std::string image(kImage, '\0');
  images.seekg(kHeader + kPrivate * kImage).read(image.data(), kImage);
  images.seekp(kHeader + kTest * kImage).write(image.data(), kImage);
  images.close();
  auto data = std::make_shared<DataSpec>(*tiny_.data());
  ASSERT_TRUE(storage::InspectIdx(storage::PosixEnv(), *data).ok());
  spec.data = data;
  const cluster::Ended ended = Run(spec, "base-measured", teacher);
  EXPECT_FALSE(ended.succeeded);
  EXPECT_NE(ended.detail.find("of the test split is picture"), std::string::npos) << ended.detail;
}

TEST_F(RonaTrial, EveryVoteIsOnAnotherImage) {
  TrialSpec spec = tiny_.RonaVoteStudent();
  for (const Selection selection : {Selection::k_centre, Selection::random, Selection::margin, Selection::diverse}) {
    spec.rona.selection = selection;
    RunAfresh(spec, "votes-" + std::to_string(static_cast<int>(selection)), tiny_.TeacherFile("ensemble"));
    EXPECT_EQ(Used(), 30) << "an image that was asked before would have cost nothing";
  }
}

// A crash in any phase: what was released is used again, and not charged again.
TEST_F(RonaTrial, ReleasesOfEveryPhaseAreReplayed) {
  const std::string teacher = tiny_.TeacherFile("plain");
  TrialSpec spec = tiny_.RonaStudent(Reading::working);
  spec.execution.deadline_seconds = 1e-9;  // a report after every step
  const cluster::Ended whole = RunAfresh(spec, "whole", teacher);
  const std::int64_t used = Used();
  for (const std::int64_t at : {4, 8, 12, 22}) {  // hint, hint, distillation, distillation
    const std::string name = "crashed-" + std::to_string(at);
    FakeTrialHost first;
    first.vanish_at = at;
    order_ = tiny_.Order(spec, name, 1, teacher);
    ASSERT_EQ(RunTrial(order_, first, storage::PosixEnv()).failure, FailureKind::agent_lost) << at;
    host_ = FakeTrialHost();
    const cluster::Ended again = Run(spec, name, teacher, 2);
    ASSERT_TRUE(again.succeeded) << again.detail;
    EXPECT_EQ(again.parameters_digest, whole.parameters_digest);
    std::int64_t before = 0;
    for (const auto& [id, grant] : first.grants) before += grant.used < 0 ? grant.count : grant.used;
    EXPECT_LE(Used(), used - before + spec.execution.reserve_block * spec.batch);
    EXPECT_LT(Used(), used);
  }
}

TEST_F(RonaTrial, FixedBoundsNeedNoAuxiliaryTeacher) {
  TrialSpec spec = tiny_.RonaStudent(Reading::working);
  const std::string teacher = tiny_.TeacherFile("plain");
  const cluster::Ended adaptive = RunAfresh(spec, "adaptive", teacher);
  EXPECT_TRUE(File().curves.contains("train.auxiliary_loss"));
  spec.rona.adaptive_bound = false;
  spec.release.norm_bound = 1e6;
  const cluster::Ended open = RunAfresh(spec, "open", teacher);
  EXPECT_FALSE(File().curves.contains("train.auxiliary_loss"));
  EXPECT_NE(open.parameters_digest, adaptive.parameters_digest);
  spec.release.norm_bound = 1e-6;  // nothing that the teacher says is below it
  EXPECT_NE(RunAfresh(spec, "closed", teacher).parameters_digest, open.parameters_digest);
}

TEST_F(RonaTrial, HintsBetweenNetworksThatDoNotFitAreRefusedInWords) {
  TrialSpec spec = tiny_.RonaStudent(Reading::working);
  spec.network = "conv-small-mnist";
  const cluster::Ended ended = Run(spec, "misfit", tiny_.TeacherFile("plain"));
  EXPECT_FALSE(ended.succeeded);
  EXPECT_NE(ended.detail.find("no layer of 7 x 7 pixels"), std::string::npos) << ended.detail;
  EXPECT_NE(ended.detail.find("hint_epochs = 0"), std::string::npos) << ended.detail;
}

TEST_F(RonaTrial, NothingToDoIsRefused) {
  TrialSpec spec = tiny_.RonaStudent(Reading::working);
  spec.rona.hint_epochs = spec.rona.distill_epochs = spec.rona.self_epochs = spec.rona.warm_epochs = 0;
  EXPECT_NE(Run(spec, "idle", tiny_.TeacherFile("plain")).detail.find("nothing to do"), std::string::npos);
}

TEST_F(RonaTrial, AccuracyOnSensitiveClassesIsAMetricOfItsOwn) {
  auto data = std::make_shared<DataSpec>(*tiny_.data());
  data->sensitive_classes = {0, 2};
  TrialSpec spec = tiny_.RonaStudent(Reading::working);
  spec.rona.hint_epochs = spec.rona.distill_epochs = 0;
  spec.rona.self_epochs = 20;
  spec.data = data;
  const cluster::Ended ended = RunAfresh(spec, "masked", tiny_.TeacherFile("plain"));
  const auto metric = [&](const std::string& name) {
    const auto found =
        std::find_if(ended.metrics.begin(), ended.metrics.end(), [&](const auto& m) { return m.first == name; });
    return found == ended.metrics.end() ? -1 : found->second;
  };
  EXPECT_EQ(metric("test.sensitive_accuracy"), 0) << "it never saw them";
  EXPECT_GT(metric("test.accuracy"), 0.2);
}

class TaughtOn : public RonaTrial {};

TEST_F(TaughtOn, PlainTeachersSeeTheSplitsThatTheyAreTaughtOn) {
  TrialSpec spec = tiny_.Teacher("plain");
  std::set<std::string> digests;
  for (const TrainedOn on : {TrainedOn::private_split, TrainedOn::all, TrainedOn::public_split}) {
    spec.trained_on = on;
    digests.insert(RunAfresh(spec, "on-" + std::to_string(static_cast<int>(on)), "").parameters_digest);
    const std::int64_t examples = on == TrainedOn::all ? 160 : on == TrainedOn::public_split ? 40 : 120;
    EXPECT_EQ(host_.progress.back().total_steps, 3 * (examples / 40));
  }
  EXPECT_EQ(digests.size(), 3U);
}

}  // namespace
}  // namespace retort::worker
