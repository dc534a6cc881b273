// Audits of tiny finished trials, by the real attacks.
#include "worker/audit/audit_run.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "experiments/methods/spec_codec.h"
#include "tests/testing/temporary_directory.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/audit/inversion.h"
#include "worker/audit/membership.h"

namespace retort::worker::audit {
namespace {

using privacy::AuditFinding;
using privacy::AuditKind;

// A folder of a test's own where temporary files go.
class TemporaryFiles {
 public:
  TemporaryFiles() { ::setenv("TMPDIR", folder_.path().c_str(), 1); }
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;
  ~TemporaryFiles() { ::unsetenv("TMPDIR"); }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

 private:
  retort::testing::TemporaryDirectory folder_{retort::testing::Place::memory};
};

class AuditRun : public ::testing::Test {
 protected:
  // Trains `spec`, and orders an audit of what it left.
  privacy::AuditOrder OrderFor(TrialSpec spec, const std::string& name, std::vector<AuditKind> kinds,
                               const std::string& teacher_file = "") {
    const TrialOrder run = trials_.Order(spec, name, 1, teacher_file);
    FakeTrialHost host;
    const cluster::Ended ended = RunTrial(run, host, storage::PosixEnv());
    EXPECT_TRUE(ended.succeeded) << ended.detail;
    privacy::AuditOrder order;
    order.trial = run.attempt.trial.Hex();
    order.spec = run.start.spec;
    order.data_path = run.start.data_path;
    order.attempt_file = run.start.attempt_directory + "/attempt.h5";
    order.teacher_file = teacher_file;
    order.kinds = std::move(kinds);
    order.samples = 2000;
    return order;
  }

  static std::vector<AuditFinding> Run(const privacy::AuditOrder& order) {
    auto findings =
        RunAudits(order, storage::PosixEnv(), OpenHost, [](const std::string&, std::int64_t, std::int64_t) {});
    EXPECT_TRUE(findings.ok()) << findings.status().message();
    return findings.ok() ? std::move(findings).value() : std::vector<AuditFinding>();
  }

  TinyTrials trials_;
};

const std::vector<AuditKind> kAll = {AuditKind::release_step, AuditKind::transcript, AuditKind::canary,
                                     AuditKind::membership, AuditKind::inversion};
// Without the one that trains networks to judge by.
const std::vector<AuditKind> kBounds(kAll.begin(), kAll.end() - 1);

std::string Ran(const std::vector<AuditFinding>& findings) {
  std::string kinds;
  for (const AuditFinding& finding : findings) {
    EXPECT_EQ(privacy::FindContradiction(finding), "");
    if (finding.ran) kinds += std::string(privacy::AuditKindName(finding.kind)) + " ";
    EXPECT_TRUE(finding.ran || !finding.note.empty());
  }
  return kinds;
}

TEST_F(AuditRun, TrialsGetApplicableAuditsAndReasonsForOthers) {
  EXPECT_EQ(Ran(Run(OrderFor(trials_.Teacher("plain"), "plain", kAll))), "membership inversion ");
  EXPECT_EQ(Ran(Run(OrderFor(trials_.Teacher("ensemble"), "shards", kAll))), "");
  EXPECT_EQ(Ran(Run(OrderFor(trials_.DpSgdStudent(), "dpsgd", kAll))), "release-step canary membership inversion ");
  EXPECT_EQ(Ran(Run(OrderFor(trials_.SpectralStudent(), "spectral", kBounds))), "release-step membership ");
  EXPECT_EQ(Ran(Run(OrderFor(trials_.Student(Reading::working), "working", kBounds, trials_.TeacherFile("plain")))),
            "release-step membership ");
  EXPECT_EQ(Ran(Run(OrderFor(trials_.VoteStudent(QuerySource::public_split), "votes", kBounds,
                             trials_.TeacherFile("ensemble")))),
            "release-step transcript membership ");
  EXPECT_EQ(Ran(Run(OrderFor(trials_.VoteStudent(QuerySource::generator), "asked", kBounds,
                             trials_.TeacherFile("ensemble")))),
            "release-step membership ");
}

TEST_F(AuditRun, UndetachedReleaseHasNoBoundToHoldAnythingAgainst) {
  TrialSpec spec = trials_.Student(Reading::working);
  spec.release.detach = false;
  const auto findings = Run(OrderFor(spec, "undetached", {AuditKind::release_step}, trials_.TeacherFile("plain")));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_FALSE(findings[0].ran);
  EXPECT_NE(findings[0].note.find("teacher-jacobian"), std::string::npos) << findings[0].note;
}

TEST_F(AuditRun, TranscriptShowsMostOfTheMuThatAllQueriesCost) {
  TrialSpec spec = trials_.VoteStudent(QuerySource::public_split);
  spec.release.vote_noise = 5;  // mu = sqrt(2 * 30) / 5 = 1.55
  privacy::AuditOrder order = OrderFor(spec, "votes", {AuditKind::transcript}, trials_.TeacherFile("ensemble"));
  order.samples = 8000;
  const auto findings = Run(order);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NEAR(findings[0].mu_proven.value_or(0), std::sqrt(60.0) / 5, 1e-9);
  EXPECT_GT(findings[0].mu_lower.value_or(0), 0.8 * *findings[0].mu_proven);
  EXPECT_GT(findings[0].claim->lower.value_or(0), 1);
}

// Equal queries are answered, and charged, once: 30 of them over one image for each of 4 classes.
TEST_F(AuditRun, TranscriptCountsEqualQueriesOnce) {
  {
    std::fstream images(trials_ / "data/t10k-images-idx3-ubyte", std::ios::in | std::ios::out | std::ios::binary);
    images.seekp(16);
    for (int i = 0; i < 200; ++i)
      for (int pixel = 0; pixel < 16 * 16; ++pixel)
        images.put(static_cast<char>(pixel / 64 == i % 4 ? (i < 120 ? 60 : 120) : 0));  // no private one is public
  }
  trials_.data()->split.shuffle = 0;
  ASSERT_TRUE(storage::InspectIdx(storage::PosixEnv(), *trials_.data()).ok());
  TrialSpec spec = trials_.VoteStudent(QuerySource::public_split);
  spec.release.vote_noise = 5;
  privacy::AuditOrder order = OrderFor(spec, "equal", {AuditKind::transcript}, trials_.TeacherFile("ensemble"));
  const auto findings = Run(order);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NEAR(findings[0].mu_proven.value_or(0), std::sqrt(8.0) / 5, 1e-9);
}

// A claim that says less than the transcript costs is refuted.
TEST_F(AuditRun, TranscriptRefutesAClaimThatIsTooSmall) {
  TrialSpec spec = trials_.VoteStudent(QuerySource::public_split);
  spec.release.vote_noise = 5;
  privacy::AuditOrder order = OrderFor(spec, "votes", {AuditKind::transcript}, trials_.TeacherFile("ensemble"));
  order.samples = 3000;
  privacy::Claim claim;
  claim.adjacency = privacy::Adjacency::member;
  claim.status = privacy::ClaimStatus::proven;
  claim.epsilon = 0.5;  // honest: 7
  order.claims = {claim};
  EXPECT_NE(privacy::FindContradiction(Run(order).at(0)), "");
}

TEST_F(AuditRun, CanariesAreFoundWhereNoNoiseHidesThem) {
  TrialSpec spec = trials_.DpSgdStudent();
  spec.network = "logistic";
  spec.steps = 150;
  spec.batch = 120;
  spec.release.norm_bound = 10;
  spec.release.noise_multiplier = 1e-4;
  spec.optimization.lr = 2;
  privacy::AuditOrder order = OrderFor(spec, "bare", {AuditKind::canary});
  order.canaries = 60;
  const AuditFinding finding = Run(order).at(0);
  EXPECT_GT(finding.claim->lower.value_or(0), 0.5) << privacy::EncodeAuditReport({"", "", {finding}});
  EXPECT_EQ(finding.figures.at(0).second, 60);
  EXPECT_EQ(finding.figures.at(1).second, 12);
}

TEST_F(AuditRun, ShadowNetworksOfADirectTrialAreTrainedAndCounted) {
  privacy::AuditOrder order = OrderFor(trials_.Teacher("plain"), "plain", {AuditKind::membership});
  order.shadows = 4;
  const TemporaryFiles files;
  const auto findings = Run(order);
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_NE(findings[1].subject.find("offline LiRA with 4 shadow networks"), std::string::npos);
  EXPECT_EQ(findings[2].subject.find("LiRA with 4 shadow networks"), 0U);
  EXPECT_EQ(findings[3].subject.find("RMIA with 4 shadow networks"), 0U);
  EXPECT_TRUE(std::filesystem::is_empty(files.folder()));
}

// The class of a tiny image is the quarter that is bright: a network that has learnt that gives it away.
// What has a name that can be guessed may be anybody's.
TEST_F(AuditRun, TemporaryFolderIsLeftAlone) {
  const TemporaryFiles files;
  const std::filesystem::path lies = files.folder() / ("retort-audit-" + std::to_string(::getpid()));
  std::filesystem::create_directory(lies);
  std::ofstream(lies / "manifest.log") << "somebody's";
  privacy::AuditOrder order = OrderFor(trials_.DpSgdStudent(), "dpsgd", {AuditKind::canary});
  order.canaries = 40;
  EXPECT_EQ(Run(order).size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(lies / "manifest.log"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(lies), {}), 1);
}

TEST_F(AuditRun, InversionDrawsWhatTheClassesLookLike) {
  TrialSpec spec = trials_.Teacher("plain");
  spec.network = "logistic";
  spec.epochs = 30;
  spec.optimization.lr = 0.01;
  const privacy::AuditOrder order = OrderFor(spec, "plain", {AuditKind::inversion});
  const AuditFinding finding = Run(order).at(0);
  const auto figure = [&](const std::string& name) {
    for (const auto& [each, value] : finding.figures)
      if (each == name) return value;
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_GT(figure("confidence"), 0.9);
  EXPECT_GT(figure("correlation_with_class_mean"), 0.5);
  EXPECT_LT(figure("correlation_untrained"), 0.4);
  EXPECT_GT(figure("nearest_private_rms"), 0);
  EXPECT_GT(figure("inception_score"), figure("inception_score_untrained"));
  EXPECT_LE(figure("inception_score"), 4.0);
  EXPECT_FALSE(finding.claim.has_value());
  EXPECT_EQ(privacy::FormatVerdict(finding), "figures alone, no bound");
  const auto image = storage::PosixEnv().ReadFile(trials_ / "trials/plain/audit-inversion.pgm");
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->substr(0, 13), "P5\n64 32\n255\n");
  EXPECT_EQ(image->size(), 13U + 64 * 32);
}

TEST_F(AuditRun, InversionsThatAreAskedForShareOneJudge) {
  TrialSpec spec = trials_.Teacher("plain");
  spec.network = "logistic";
  privacy::AuditOrder order = OrderFor(spec, "plain", {AuditKind::inversion});
  order.attacks = {privacy::InversionAttack::fredrikson, privacy::InversionAttack::gmi,
                   privacy::InversionAttack::plg_mi};
  order.gan_steps = order.latent_steps = 2;
  const auto findings = Run(order);
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(privacy::FormatAuditName(findings[0]), "inversion/fredrikson");
  EXPECT_EQ(privacy::FormatAuditName(findings[1]), "inversion/gmi");
  EXPECT_EQ(privacy::FormatAuditName(findings[2]), "inversion/plg-mi");
  for (const AuditFinding& finding : findings) {
    EXPECT_TRUE(finding.ran) << finding.note;
    EXPECT_EQ(finding.figures.at(0).first, "attack_accuracy");
    EXPECT_FALSE(finding.claim.has_value());
  }
  EXPECT_NE(findings[1].subject.find("2 steps on 40 public pictures"), std::string::npos) << findings[1].subject;
  EXPECT_NE(findings[1].subject.find("judged by bn-cnn"), std::string::npos) << findings[1].subject;
  for (const char* name : {"audit-inversion.pgm", "audit-gmi.pgm", "audit-plg-mi.pgm"})
    EXPECT_TRUE(std::filesystem::exists(trials_ / (std::string("trials/plain/") + name))) << name;
}

TEST_F(AuditRun, AttackerWithoutPublicPicturesHasTestPictures) {
  trials_.data()->split.public_range = {};
  ASSERT_TRUE(storage::InspectIdx(storage::PosixEnv(), *trials_.data()).ok());
  TrialSpec spec = trials_.Teacher("plain");
  spec.network = "logistic";
  privacy::AuditOrder order = OrderFor(spec, "plain", {AuditKind::inversion});
  order.attacks = {privacy::InversionAttack::gmi};
  order.gan_steps = order.latent_steps = 1;
  const auto findings = Run(order);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings[0].subject.find("20 test pictures, since the data set has no public split"), std::string::npos)
      << findings[0].subject;
}

TEST_F(AuditRun, InversionOfWhatIsNotReleasedSaysWhy) {
  privacy::AuditOrder order = OrderFor(trials_.Teacher("ensemble"), "shards", {AuditKind::inversion});
  order.attacks = {privacy::InversionAttack::gmi, privacy::InversionAttack::plg_mi};
  const auto findings = Run(order);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].attack, "gmi");
  EXPECT_EQ(findings[1].attack, "plg-mi");
  EXPECT_NE(findings[1].note.find("an ensemble is never released"), std::string::npos);
}

TEST(InceptionScore, CountsTheClassesThatAreShownForCertain) {
  EXPECT_NEAR(ComputeInceptionScore(at::eye(4)), 4, 1e-12);
  EXPECT_NEAR(ComputeInceptionScore(at::full({7, 4}, 0.25)), 1, 1e-12);
  EXPECT_NEAR(ComputeInceptionScore(at::tensor({1.0, 0.0, 1.0, 0.0}).view({2, 2})), 1, 1e-12);
  // Rows (3/4, 1/4) and (1/4, 3/4) of mean (1/2, 1/2): exp(3/4 ln 3/2 + 1/4 ln 1/2).
  EXPECT_NEAR(ComputeInceptionScore(at::tensor({0.75, 0.25, 0.25, 0.75}).view({2, 2})), 1.1397535284773888, 1e-12);
}

TEST_F(AuditRun, FilesOfAnotherTrialOrWithoutDataAreErrors) {
  privacy::AuditOrder order = OrderFor(trials_.Teacher("plain"), "plain", {AuditKind::membership});
  const auto run = [&](const privacy::AuditOrder& asked) {
    return RunAudits(asked, storage::PosixEnv(), OpenHost, [](const std::string&, std::int64_t, std::int64_t) {})
        .status();
  };
  privacy::AuditOrder wrong = order;
  wrong.trial = "00000000000000ff";
  EXPECT_EQ(run(wrong).code(), StatusCode::damage);
  wrong = order;
  wrong.attempt_file += ".gone";
  EXPECT_FALSE(run(wrong).ok());
  wrong = order;
  wrong.data_path = "/nowhere";
  EXPECT_NE(run(wrong).message().find("/nowhere"), std::string::npos);
}

TEST(Canaries, AreMislabelledWhereInAndNoNumbersWhereOut) {
  const Examples train{at::ones({4, 1, 2, 2}), at::tensor({0, 1, 2, 2}, at::kLong)};
  const Examples planted = PlantCanaries(train, 3, {true, false, true});
  EXPECT_TRUE(at::equal(planted.Range(0, planted.size())[0], train.Range(0, train.size())[0]));
  EXPECT_TRUE(planted.Range(0, planted.size())[1].isnan().all().item<bool>());
  EXPECT_TRUE(at::equal(planted.Range(0, planted.size())[3], train.Range(0, train.size())[3]));
  for (std::int64_t i = 0; i < 3; ++i)
    EXPECT_NE(planted.labels[i].item<std::int64_t>(), train.labels[i].item<std::int64_t>());
  EXPECT_EQ(planted.labels[3].item<std::int64_t>(), 2);
  EXPECT_FALSE(train.Range(0, train.size()).isnan().any().item<bool>());
}

class MembershipBound : public ::testing::Test {
 protected:
  MembershipBound() {
    auto data = std::make_shared<DataSpec>();
    data->split.shuffle = 1;
    trial_.inputs.spec.data = data;
    data_ = data;
  }
  static std::vector<double> Scores(double mean, unsigned seed) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal(mean, 1);
    std::vector<double> scores(2000);
    for (double& score : scores) score = normal(engine);
    return scores;
  }
  AuditedTrial trial_;
  std::shared_ptr<DataSpec> data_;
};

TEST_F(MembershipBound, OfScoresThatTellIsPositiveAndRefutesSmallClaims) {
  privacy::Claim claim;
  claim.status = privacy::ClaimStatus::proven;
  claim.epsilon = 0.25;
  trial_.order.claims = trial_.order.alarm_claims = {claim};
  const AuditFinding finding = MakeMembershipFinding(trial_, "a test", Scores(1, 1), Scores(0, 2));
  EXPECT_GT(finding.claim->lower.value_or(0), 1);
  EXPECT_NE(privacy::FindContradiction(finding), "");
  EXPECT_GT(*finding.ceiling, finding.claim->lower.value_or(0));
  EXPECT_LT(*finding.detectable, 0.5);
  EXPECT_EQ(*finding.alarm_proven, 0.25);
}

TEST_F(MembershipBound, OfEqualScoresIsZero) {
  const AuditFinding finding = MakeMembershipFinding(trial_, "a test", Scores(0, 3), Scores(0, 4));
  EXPECT_EQ(finding.claim->lower.value_or(1), 0);
  EXPECT_EQ(privacy::FormatVerdict(finding), "no leak detected at this power");
}

TEST_F(MembershipBound, NeedsACoinWhichFileOrderIsNot) {
  data_->split.shuffle = 0;
  const AuditFinding finding = MakeMembershipFinding(trial_, "a test", Scores(2, 1), Scores(0, 2));
  EXPECT_FALSE(finding.claim.has_value());
  EXPECT_NE(finding.note.find("file order"), std::string::npos);
  EXPECT_EQ(privacy::FormatVerdict(finding), "figures alone, no bound");
}

}  // namespace
}  // namespace retort::worker::audit
