// Every method with its steps recorded: the bits are those of the steps as they are, and what is recorded is listed.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/privacy/privacy_event.h"
#include "storage/results/hdf5_conventions.h"
#include "tests/testing/pretend_device.h"
#include "tests/unit/worker/trial_cases.h"
#include "worker/devices/devices.h"
#include "worker/run/gang_formation.h"

namespace retort::worker {
namespace {

using retort::testing::CheckPretendReplays;
using retort::testing::OpenPretend;

// Of each case: its regions in order, "-" before those that nothing repeated, with the reason where there is one; else
// they run too seldom. Those without an entry have none.
const std::map<std::string, std::string> kRegions = {
    {"Undetached",
     "-evaluation, -generator (its images keep a graph to the teacher (detach = false)), student, student logits"},
    {"StudentWithBatchNorms", "-evaluation, generator, images, student, student logits, teacher"},
    {"TeacherByMomentumWithDropout", "-evaluation, teach"},
    {"PlainTeacher", "-evaluation, teach"},
    {"MeanEmbedding", "teach"},
    {"SpectralLabels", "teach"},
    {"LabelStages", "teach"},
    {"Alibi", "teach"},
    {"FederatedAveraging", "teach"},
    {"Working", "-evaluation, generator, images, student, student logits, teacher"},
    {"Printed", "-evaluation, generator, images, student, student logits, teacher"},
    {"RowAveraged", "-evaluation, generator, images, student, student logits, teacher"},
    {"Stated", "-evaluation, generator, images, student, student logits, teacher"},
    {"SoundByDpSgdTeacher", "-evaluation, generator, images, student, student logits, teacher"},
    {"ProceduralQueries", "-evaluation, student, student logits, teacher"},
    {"SoundOnProceduralQueries", "-evaluation, student, student logits, teacher"},
    {"SoundOnPublicMixes", "-evaluation, student, student logits, teacher"},
    {"VotesOnProceduralQueries", "teach, -teacher"},
    {"PrivateTeacherOnPublic", "teach, teacher"},
    {"PrivateTeacherOnPublicNeighbours", "teach, teacher"},
    {"VotesSpreadOverPublic", "teach, -teacher"},
    {"VotesOnPublic", "teach, -teacher"},
    {"ProbabilitiesOnPublic", "teach, -teacher"},
    {"Pate", "teach, -teacher"},
    {"VotesByClassOnPublic", "teach, -teacher"},
    {"VotesOnGenerator", "-evaluation, generator, images, teach, teacher"},
    {"VotesOnGeneratorWithARest", "-evaluation, generator, images, teach, teacher"},
    {"VotesOfRidgeMembers", "teach, -teacher"},
    {"NetworkEnsemble", "differentiate"},
    {"DirichletEnsemble", "differentiate"},
    {"VotesOfNetworks", "teach, -teacher"},
    {"EnsembleGradients", "-evaluation, generator, images, student, student logits, teacher"},
    {"FederatedGradients", "-evaluation, generator, images, student, student logits, teacher"},
    {"MaskedGradientsOfTrainedLatents", "-evaluation, generator, images, student, student logits, teacher"},
    {"TeacherAsDiscriminator",
     "-evaluation, generator, generator pretraining, images, student, student logits, teacher"},
    {"DirectTraining",
     "-evaluation, -student (the images of the batches are read by the host), student logits, teacher"},
    {"DirectTrainingByOwnLabels",
     "-evaluation, -student (the images of the batches are read by the host), student logits"},
    {"FastGenerator", "-evaluation, generator, images, student, student logits, teacher"},
    {"DescribedGenerator", "-evaluation, generator, images, student, student logits, teacher"},
    {"MeanEmbeddingByADescribedGenerator", "teach"},
    {"DenseByADescribedGenerator", "-evaluation, teach, teacher"},
    {"VotesOverCandidates", "-evaluation, generator, images, teach, teacher"},
    {"DpDfd", "-evaluation, generator, -generator pretraining, images, student, student logits, teacher"},
    {"DpDfdPrinted", "-evaluation, generator, -generator pretraining, images, student, student logits, teacher"},
    {"DpsdLabel", "-evaluation, generator, images, student, student logits, teacher"},
    {"DpsdLabelPrinted", "-evaluation, generator, images, student, student logits, teacher"},
    {"FedDpsdLabel", "-evaluation, generator, images, student, student logits, teacher"},
    {"FedDpsdLabelPrinted", "-evaluation, generator, images, student, student logits, teacher"},
    {"RonaWorking", "teach, teacher, teacher hints"},
    {"RonaPrinted", "teach, teacher, teacher hints"},
    {"RonaByDpSgdTeacher", "teach, teacher"},
    {"RonaByVotes", "teach, -teacher"},
    {"Dense", "-evaluation, teach, teacher"},
    {"DenseOfNetworks", "-evaluation, teach, teacher"},
    {"DpSgdInWholeChunks", "per-example gradients"},
    {"EvaluatedOften", "evaluation, generator, images, student, student logits, teacher"},
};

struct GraphRun {
  FakeTrialHost host;
  cluster::Ended ended;
  storage::AttemptFile file;
};

class GraphTrial : public ::testing::TestWithParam<TrialCase> {
 protected:
  static void SetUpTestSuite() { tiny_ = new TinyTrials; }
  static void TearDownTestSuite() {
    delete tiny_;
    tiny_ = nullptr;
    whole_.clear();
  }
  ~GraphTrial() override { CheckPretendReplays(false); }

  // Attempt `number`; stops politely when asked the `stop_at`-th time, vanishes after the `vanish_at`-th report.
  static GraphRun Run(const std::string& device, const std::string& name, std::uint32_t number = 1,
                      std::int64_t stop_at = 0, std::int64_t vanish_at = 0, GraphMode graphs = GraphMode::automatic) {
    const TrialCase& c = GetParam();
    const std::string teacher = c.teacher.empty() ? "" : tiny_->TeacherFile(c.teacher);
    TrialSpec spec = c.spec(*tiny_);
    spec.execution.graphs = graphs;
    TrialOrder order = tiny_->Order(spec, c.name + name, number, teacher);
    order.start.device = device;
    GraphRun run;
    run.host.stop_at = stop_at;
    run.host.vanish_at = vanish_at;
    run.ended = RunTrial(order, run.host, storage::PosixEnv(), FormGang, OpenPretend);
    if (!run.ended.succeeded) return run;
    auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
    EXPECT_TRUE(file.ok()) << file.status().message();
    if (file.ok()) run.file = std::move(*file);
    std::erase_if(run.file.curves, [](const auto& curve) { return storage::IsTiming(curve.first); });
    return run;
  }

  // The undisturbed trial on the CPU: one for all tests of a case.
  static const GraphRun& Whole() {
    const auto [found, is_new] = whole_.try_emplace(GetParam().name);
    if (is_new) found->second = Run("cpu", "-cpu");
    return found->second;
  }

  static void ExpectSame(const GraphRun& got, const GraphRun& want) {
    ASSERT_TRUE(want.ended.succeeded) << want.ended.detail;
    ASSERT_TRUE(got.ended.succeeded) << got.ended.detail;
    EXPECT_EQ(got.ended.metrics, want.ended.metrics);
    EXPECT_EQ(got.ended.parameters_digest, want.ended.parameters_digest);
    EXPECT_EQ(got.file.curves, want.file.curves);
    ASSERT_EQ(got.file.samples.has_value(), want.file.samples.has_value());
    if (!want.file.samples) return;
    EXPECT_EQ(got.file.samples->released.bytes, want.file.samples->released.bytes);
  }

  // Every draw is paid for as on the CPU.
  static void ExpectSameCharges(const GraphRun& got, const GraphRun& want) {
    ASSERT_EQ(got.host.grants.size(), want.host.grants.size());
    for (const auto& [id, grant] : want.host.grants) {
      EXPECT_EQ(privacy::EncodeEvent(got.host.grants.at(id).event), privacy::EncodeEvent(grant.event));
      EXPECT_EQ(got.host.grants.at(id).count, grant.count);
      EXPECT_EQ(got.host.grants.at(id).used, grant.used);
    }
  }

  // "teach, -teacher (why)".
  static std::string ListRegions(const GraphRun& run) {
    const auto json = nlohmann::json::parse(run.file.provenance_json);
    std::string list;
    if (!json.contains("graphs")) return list;
    for (const auto& [name, region] : json["graphs"].items()) {
      if (region["eager"] == 0 && region["recorded"] == 0) continue;
      list += (list.empty() ? "" : ", ") + std::string(region["replayed"] > 0 ? "" : "-") + name;
      if (region.contains("declined")) list += " (" + region["declined"].get<std::string>() + ")";
    }
    return list;
  }

  static TinyTrials* tiny_;
  static std::map<std::string, GraphRun> whole_;  // by case
};
TinyTrials* GraphTrial::tiny_ = nullptr;
std::map<std::string, GraphRun> GraphTrial::whole_;

TEST_P(GraphTrial, RecordedStepsGiveTheBitsOfTheCpu) {
  ASSERT_TRUE(Whole().ended.succeeded) << Whole().ended.detail;
  EXPECT_EQ(ListRegions(Whole()), "") << "a CPU records nothing";
  const GraphRun replayed = Run("pretend:0", "-replayed");
  ExpectSame(replayed, Whole());
  ExpectSameCharges(replayed, Whole());
  const auto regions = kRegions.find(GetParam().name);
  EXPECT_EQ(ListRegions(replayed), regions == kRegions.end() ? "" : regions->second);
}

TEST_P(GraphTrial, RecordedStepsKeepNoNumberOfTheHost) {
  CheckPretendReplays(true);
  ExpectSame(Run("pretend:0", "-checked"), Whole());
}

TEST_P(GraphTrial, RecordedStepsGoOnWithTheSameBitsAfterABreak) {
  for (const bool polite : {true, false}) {
    const std::string name = polite ? "-stopped" : "-crashed";
    const GraphRun first = Run("pretend:0", name, 1, polite ? 5 : 0, polite ? 0 : 1);
    if (first.ended.succeeded) continue;  // it has fewer steps
    ASSERT_EQ(first.ended.failure, polite ? FailureKind::stopped : FailureKind::agent_lost) << first.ended.detail;
    const GraphRun again = Run("pretend:0", name, 2);
    ASSERT_TRUE(again.ended.succeeded) << again.ended.detail;
    EXPECT_EQ(again.ended.parameters_digest, Whole().ended.parameters_digest);
    EXPECT_EQ(again.ended.metrics, Whole().ended.metrics);
  }
}

// What the cases of every method leave at its default.
TrialSpec Varied(TrialSpec spec, const std::function<void(TrialSpec&)>& change) {
  change(spec);
  return spec;
}
const TrialCase kVariants[] = {
    {"Undetached",
     [](const TinyTrials& t) { return Varied(t.Student(Reading::working), [](auto& s) { s.release.detach = false; }); },
     "plain"},
    {"StudentWithBatchNorms",
     [](const TinyTrials& t) {
       return Varied(t.Student(Reading::working), [](auto& s) { s.network = "dense-mnist"; });
     },
     "plain"},
    {"TeacherByMomentumWithDropout",
     [](const TinyTrials& t) {
       return Varied(t.Teacher("plain"), [](auto& s) {
         s.network = "datalens-x0.125";
         s.optimization.optimizer = Optimizer::sgd;
         s.optimization.lr_hold = 0.25;
       });
     },
     ""},
    {"EvaluatedOften",
     [](const TinyTrials& t) { return Varied(t.Student(Reading::working), [](auto& s) { s.steps = 60; }); }, "plain"},
};
INSTANTIATE_TEST_SUITE_P(Variants, GraphTrial, ::testing::ValuesIn(kVariants),
                         [](const auto& test) { return test.param.name; });

// A network so large that a sample is differentiated in chunks. Its group norms have other last bits than the CPU's.
class ChunkedGraphTrial : public GraphTrial {};

TEST_P(ChunkedGraphTrial, RecordedChunksGiveTheBitsOfChunksAsTheyAre) {
  const GraphRun want = Run("pretend:0", "-eager", 1, 0, 0, GraphMode::off), got = Run("pretend:0", "-replayed");
  ExpectSame(got, want);
  ExpectSameCharges(got, want);
  EXPECT_EQ(ListRegions(want), "") << "nobody asked for it";
  EXPECT_EQ(ListRegions(got), kRegions.at(GetParam().name));
  CheckPretendReplays(true);
  ExpectSame(Run("pretend:0", "-checked"), want);
}

const TrialCase kChunked[] = {{"DpSgdInWholeChunks",
                               [](const TinyTrials& t) {
                                 return Varied(t.DpSgdStudent(), [](auto& s) {
                                   s.network = "wrn16-1-gn";
                                   s.batch = 115;
                                   s.steps = 5;
                                 });
                               },
                               ""}};
INSTANTIATE_TEST_SUITE_P(Chunked, ChunkedGraphTrial, ::testing::ValuesIn(kChunked),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(EveryMethod, GraphTrial, ::testing::ValuesIn(kTrialCases),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(OneStepMethod, GraphTrial, ::testing::ValuesIn(kOneStepTrialCases),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(LoneMethod, GraphTrial, ::testing::ValuesIn(kLoneTrialCases),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace retort::worker
