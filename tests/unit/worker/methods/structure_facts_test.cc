// What the runner records of a trial's structure, and what happens when the structure is another one.
#include "experiments/methods/methods.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "worker/methods/method.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "experiments/privacy/claim.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/unit/worker/trial_cases.h"
#include "worker/methods/generator_source.h"
#include "worker/models/ensemble.h"
#include "worker/models/model_registry.h"
#include "worker/run/ledger_view.h"

namespace retort::worker {
namespace {

class RecordedFacts : public ::testing::TestWithParam<TrialCase> {
 protected:
  static void SetUpTestSuite() { tiny_ = new TinyTrials; }
  static void TearDownTestSuite() {
    delete tiny_;
    tiny_ = nullptr;
  }
  static TinyTrials* tiny_;
};
TinyTrials* RecordedFacts::tiny_ = nullptr;

TEST_P(RecordedFacts, AreInEveryEventOfTheLedgerAsPlanned) {
  const TrialCase& c = GetParam();
  const TrialSpec spec = c.spec(*tiny_);
  const std::string teacher = c.teacher.empty() ? "" : tiny_->TeacherFile(c.teacher);
  const TrialOrder order = tiny_->Order(spec, c.name + "-facts", 1, teacher);
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  const auto planned = privacy::PlanEvents(spec).value();
  EXPECT_EQ(host.grants.empty(), planned.empty());
  // Raw answers and noised losses have no claim that could need a fact; the runner records what it knows all the same.
  const bool raw = !planned.empty() && (planned.front().kind == privacy::MechanismKind::none ||
                                        planned.front().kind == privacy::MechanismKind::loss_noise);
  const auto as_planned = [&](const privacy::PrivacyEvent& event) {
    return raw ? !event.facts.empty() : event.facts == planned.front().facts;
  };
  for (const auto& [id, grant] : host.grants) EXPECT_TRUE(as_planned(grant.event)) << privacy::EncodeEvent(grant.event);
  const auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5").value();
  for (const storage::LedgerEntry& entry : file.ledger) EXPECT_TRUE(as_planned(entry.event));
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, RecordedFacts, ::testing::ValuesIn(kTrialCases),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(OneStepMethod, RecordedFacts, ::testing::ValuesIn(kOneStepTrialCases),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(LoneMethod, RecordedFacts, ::testing::ValuesIn(kLoneTrialCases),
                         [](const auto& test) { return test.param.name; });

TEST(TrialCases, HaveEveryKindThatTrains) {
  const TinyTrials tiny;
  KindMask kinds = 0;
  for (const TrialCase& one : kTrialCases) kinds |= MakeMask(FindKind(one.spec(tiny)));
  for (const TrialCase& one : kOneStepTrialCases) kinds |= MakeMask(FindKind(one.spec(tiny)));
  for (const TrialCase& one : kLoneTrialCases) kinds |= MakeMask(FindKind(one.spec(tiny)));
  for (const TrialKind kind : kTrialKinds)
    EXPECT_EQ((kinds & MakeMask(kind)) != 0, !IsSleeper(kind) && !IsLoaded(kind)) << GetKindName(kind);
}

class GrantingPort final : public release::LedgerClient {
 public:
  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t) override {
    last = event;
    return 1;
  }
  Status Settle(std::uint64_t, std::int64_t) override { return {}; }
  privacy::PrivacyEvent last;
};

TEST(StructureFacts, EventsReservedBeforeAnythingIsKnownHaveNone) {
  testing::FaultInjectionEnv env;
  const auto store = storage::CheckpointStore::Open(env, "trials/t", 1).value();
  GrantingPort host;
  LedgerView view(host, *store, {TrialId(1), 1}, 1, "digest");
  privacy::PrivacyEvent event;
  event.facts = {"of the caller's own making"};
  ASSERT_TRUE(view.Reserve(event, 1).ok());
  EXPECT_TRUE(host.last.facts.empty());
  view.Record({"seen"});
  ASSERT_TRUE(view.Reserve(event, 1).ok());
  EXPECT_EQ(host.last.facts, std::vector<std::string>{"seen"});
  EXPECT_EQ(view.entries().back().event.facts, host.last.facts);
}

// An ensemble that got past the plan with a stop rule: what it decided together is in every member.
TEST(StructureFacts, VotesOfAnEnsembleThatStoppedTogetherHaveNoBound) {
  const TinyTrials tiny;
  TrialSpec teacher = tiny.Teacher("ensemble");
  teacher.stop.metric = StopMetric::loss;
  teacher.stop.threshold = 0.9;
  const TrialOrder trained = tiny.Order(teacher, "stopping", 1);
  FakeTrialHost alone;
  ASSERT_TRUE(RunTrial(trained, alone, storage::PosixEnv()).succeeded);
  TrialSpec spec = tiny.VoteStudent(QuerySource::public_split);
  spec.noise = NoiseMode::secure;
  for (const bool apart : {false, true}) {
    const std::string file = apart ? tiny.TeacherFile("ensemble") : trained.start.attempt_directory + "/attempt.h5";
    const TrialOrder order = tiny.Order(spec, apart ? "apart" : "together", 1, file);
    FakeTrialHost host;
    const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
    ASSERT_TRUE(ended.succeeded) << ended.detail;
    std::vector<privacy::PrivacyEvent> events;
    for (const auto& [id, grant] : host.grants) {
      events.push_back(grant.event);
      events.back().count = grant.count;
    }
    for (const privacy::Claim& claim : privacy::ComputeClaims({&spec, {}}, events)) {
      if (claim.status == privacy::ClaimStatus::paper_formula || claim.adjacency == privacy::Adjacency::answer)
        continue;
      EXPECT_EQ(claim.status, apart ? privacy::ClaimStatus::proven : privacy::ClaimStatus::unbounded);
      EXPECT_EQ(claim.reason == "unrecorded-members-trained-apart", !apart) << claim.reason;
    }
  }
}

TEST(StructureFacts, OverlappingShardsAreNotDisjoint) {
  for (const std::int64_t members : {1, 3, 7, 120})
    EXPECT_TRUE(CheckDisjoint(MakeDisjointShards(120, members), 120).ok());
  at::Tensor shards = MakeDisjointShards(120, 7);
  shards[3][5] = shards[0][0];
  EXPECT_FALSE(CheckDisjoint(shards, 120).ok());
}

TEST(StructureFacts, NoNetworkMixesTheRowsOfABatch) {
  for (const char* name : {"datalens", "tanh-cnn", "logistic"}) {
    const auto network = MakeNetwork(name, {1, 28, 28}, 4, RngStream(1, Purpose::parameters)).value();
    const at::Tensor rows = at::randn({3, 1, 28, 28});
    at::Tensor others = rows.clone();
    others.slice(0, 1).mul_(5);
    EXPECT_TRUE(at::allclose(network->Forward(rows).logits[0], network->Forward(others).logits[0], 1e-5, 1e-6)) << name;
    for (const Layer& layer : network->layers()) EXPECT_FALSE(MixesRows(layer.kind));
  }
  EXPECT_TRUE(MixesRows(LayerKind::batch_norm));
  EXPECT_TRUE(MixesRows(static_cast<LayerKind>(200))) << "a kind that nobody has judged";
}

TEST(StructureFacts, DpSgdRefusesBatchNormWithAnAlternative) {
  const TinyTrials tiny;
  TrialSpec spec = tiny.DpSgdStudent();
  spec.network = "wrn16-1";
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(tiny.Order(spec, "mixing", 1), host, storage::PosixEnv());
  EXPECT_FALSE(ended.succeeded);
  EXPECT_NE(ended.detail.find("'wrn16-1-gn'"), std::string::npos) << ended.detail;
  EXPECT_TRUE(host.grants.empty());
}

TEST(StructureFacts, TargetWithAGraphIsNotDetached) {
  TrialSpec spec;
  const at::Tensor plain = at::ones({2, 3});
  const at::Tensor graph = at::ones({2, 3}).requires_grad_(true) * 2;
  EXPECT_TRUE(GeneratorSource::CheckDetached(spec, {}).ok());
  EXPECT_TRUE(GeneratorSource::CheckDetached(spec, {plain, {}, 0}).ok());
  EXPECT_EQ(GeneratorSource::CheckDetached(spec, {graph, {}, 0}).code(), StatusCode::refused);
  EXPECT_EQ(GeneratorSource::CheckDetached(spec, {plain, graph, 1}).code(), StatusCode::refused);
  spec.release.detach = false;
  EXPECT_TRUE(GeneratorSource::CheckDetached(spec, {plain, graph, 1}).ok());
}

}  // namespace
}  // namespace retort::worker
