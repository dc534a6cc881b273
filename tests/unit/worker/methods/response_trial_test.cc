// Students by randomised response: what they draw, what their claims say, and what reaches them of the teacher.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "experiments/privacy/accountants/randomized_response.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/method.h"
#include "worker/run/trial_inputs.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

using privacy::Adjacency;

class ResponseTrial : public ::testing::Test {
 protected:
  // The attempt's file; `teacher` as TinyTrials::TeacherFile has it.
  storage::AttemptFile Run(TrialSpec spec, const std::string& name, const std::string& teacher) {
    spec.noise = NoiseMode::secure;
    const TrialOrder order = tiny_.Order(spec, name, 1, tiny_.TeacherFile(teacher));
    const cluster::Ended ended = RunTrial(order, host_, storage::PosixEnv());
    EXPECT_TRUE(ended.succeeded) << ended.detail;
    auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(file).value() : storage::AttemptFile{};
  }

  // The proven claim of that adjacency under a changed answer or replacement, or why there is none.
  static privacy::Claim FindClaim(const storage::AttemptFile& file, Adjacency adjacency) {
    for (const privacy::Claim& claim : file.claims) {
      const bool formula = claim.status == privacy::ClaimStatus::paper_formula;
      const bool whole =
          claim.neighbour == privacy::Neighbour::replace || claim.neighbour == privacy::Neighbour::answer;
      if (!formula && claim.adjacency == adjacency && whole) return claim;
    }
    ADD_FAILURE() << "no claim about " << privacy::GetAdjacencyName(adjacency);
    return {};
  }

  static double Composed(const TrialSpec& spec) {
    return privacy::ComputeComposedResponseEpsilon(spec.release.epsilon0, 2, spec.steps * spec.batch,
                                                   spec.privacy.delta);
  }

  TinyTrials tiny_;
  FakeTrialHost host_;
};

// Through the student alone, with no teacher before the first release.
TrialSpec Apart(TrialSpec spec) {
  spec.generator.discriminator = Discriminator::student;
  spec.generator.pretrain_steps = 0;
  return spec;
}

TEST_F(ResponseTrial, EveryRowIsAnsweredOnce) {
  const TrialSpec spec = tiny_.ResponseStudent("dpsd-label", Reading::working);
  const storage::AttemptFile file = Run(spec, "rows", "plain");
  std::int64_t used = 0;
  for (const storage::LedgerEntry& entry : file.ledger) used += entry.used;
  EXPECT_EQ(used, spec.steps * spec.batch);
  ASSERT_TRUE(file.samples.has_value());
  const at::Tensor labels = MakeTensorFromBlob(file.samples->released).value();
  EXPECT_TRUE(labels.sum(1).eq(1).all().item<bool>());
  EXPECT_TRUE(labels.eq(0).logical_or(labels.eq(1)).all().item<bool>());
  for (const auto& [step, count] : file.curves.at("train.candidates")) EXPECT_EQ(count, 2) << step;
}

TEST_F(ResponseTrial, OneAnswerIsWorthEpsilonZeroAndTheTeacherAllOfThem) {
  for (const char* method : {"dp-dfd", "dpsd-label"}) {
    TrialSpec spec = Apart(tiny_.ResponseStudent(method, Reading::working));
    const storage::AttemptFile file = Run(spec, std::string(method) + "-claims", "plain");
    EXPECT_NEAR(FindClaim(file, Adjacency::answer).epsilon, spec.release.epsilon0, 1.1e-3);
    EXPECT_NEAR(FindClaim(file, Adjacency::teacher).epsilon, Composed(spec), 1.1e-3);
    EXPECT_NEAR(FindClaim(file, Adjacency::example).epsilon, Composed(spec), 1.1e-3) << "implied by the teacher's";
  }
}

TEST_F(ResponseTrial, PretrainingAgainstTheTeacherLeavesTheAnswerAlone) {
  const TrialSpec spec = tiny_.ResponseStudent("dp-dfd", Reading::working);
  const storage::AttemptFile file = Run(spec, "pretrained", "plain");
  EXPECT_NEAR(FindClaim(file, Adjacency::answer).epsilon, spec.release.epsilon0, 1.1e-3);
  for (const Adjacency adjacency : {Adjacency::teacher, Adjacency::example}) {
    EXPECT_TRUE(std::isinf(FindClaim(file, adjacency).epsilon));
    EXPECT_EQ(FindClaim(file, adjacency).reason, privacy::kVoidGeneratorTouchedTeacher);
  }
}

TEST_F(ResponseTrial, PrintedReadingsProveNothing) {
  const storage::AttemptFile soft = Run(Apart(tiny_.ResponseStudent("dp-dfd", Reading::printed)), "soft", "plain");
  const storage::AttemptFile leaks = Run(tiny_.ResponseStudent("dpsd-label", Reading::printed), "leaks", "plain");
  for (const Adjacency adjacency : {Adjacency::answer, Adjacency::teacher, Adjacency::example}) {
    EXPECT_TRUE(std::isinf(FindClaim(soft, adjacency).epsilon));
    EXPECT_TRUE(std::isinf(FindClaim(leaks, adjacency).epsilon));
  }
  EXPECT_EQ(FindClaim(soft, Adjacency::answer).reason, privacy::kVoidSoftOutput);
  EXPECT_EQ(FindClaim(leaks, Adjacency::answer).reason, privacy::kVoidSupportLeak);
}

TEST_F(ResponseTrial, EquationFiveOverEveryClassIsRandomisedResponse) {
  TrialSpec spec = tiny_.ResponseStudent("dpsd-label", Reading::printed);
  spec.release.top_k = 4;
  EXPECT_NEAR(FindClaim(Run(spec, "every", "plain"), Adjacency::answer).epsilon, spec.release.epsilon0, 1.1e-3);
}

TEST_F(ResponseTrial, MembersOfAFederationAnswerForThemselves) {
  const TrialSpec spec = tiny_.ResponseStudent("feddpsd", Reading::working);
  const storage::AttemptFile file = Run(spec, "federation", "ensemble");
  const at::Tensor labels = MakeTensorFromBlob(file.samples->released).value();
  EXPECT_TRUE(labels.sum(1).allclose(at::ones({labels.size(0)})));
  EXPECT_TRUE((labels * 6).allclose((labels * 6).round())) << "shares of six members";
  EXPECT_TRUE(labels.gt(0).logical_and(labels.lt(1)).any().item<bool>());
  EXPECT_NEAR(FindClaim(file, Adjacency::member).epsilon, Composed(spec), 1.1e-3);
  EXPECT_TRUE(std::isinf(FindClaim(file, Adjacency::teacher).epsilon)) << "all members at once";
}

// Steps of a trial whose teacher's last layer is scaled by `scale`: the same class for every image, with other
// probabilities.
std::vector<storage::TensorBlob> StateAfter(const TinyTrials& tiny, const TrialSpec& spec, double scale) {
  TrialInputs inputs;
  const TrialOrder order = tiny.Order(spec, "scaled", 1, tiny.TeacherFile("plain"));
  EXPECT_FALSE(LoadTrialInputs(order, storage::PosixEnv(), OpenHost, inputs));
  for (storage::TensorBlob& blob : inputs.teacher->parameters) {
    if (blob.name.starts_with("teacher/fc2"))
      blob = MakeTensorBlob(blob.name, MakeTensorFromBlob(blob).value() * scale);
  }
  testing::FaultInjectionEnv env;
  const auto store = storage::CheckpointStore::Open(env, "trials/t", 1).value();
  const auto gang = MakeSoloCollective();
  ReleaseReplay tape(store.get(), *gang);
  release::MemoryPort port;
  release::ChargeBook book(&port, 64, 100'000);
  tape.UseChargeBook(book);
  const auto method = MakeMethod({inputs.spec, inputs.data, &*inputs.teacher, tape, *gang}).value();
  TrainState state;
  method->Register(state);
  for (std::int64_t step = 0; step < method->steps(); ++step) {
    Series series;
    const Status done = method->Step(step, series);
    EXPECT_TRUE(done.ok()) << done.message();
  }
  return state.Save();
}

TEST_F(ResponseTrial, OnlyTheTeachersClassReachesTheStudent) {
  for (const char* method : {"dp-dfd", "dpsd-label"}) {
    const TrialSpec spec = Apart(tiny_.ResponseStudent(method, Reading::working));
    EXPECT_EQ(StateAfter(tiny_, spec, 2), StateAfter(tiny_, spec, 1)) << method;
  }
}

TEST_F(ResponseTrial, PrintedFormsTellMoreThanTheTeachersClass) {
  const TrialSpec soft = Apart(tiny_.ResponseStudent("dp-dfd", Reading::printed));
  EXPECT_NE(StateAfter(tiny_, soft, 2), StateAfter(tiny_, soft, 1));
  const TrialSpec critic = tiny_.ResponseStudent("dp-dfd", Reading::working);
  EXPECT_NE(StateAfter(tiny_, critic, 2), StateAfter(tiny_, critic, 1));
}

TEST_F(ResponseTrial, CriticOfBatchNormsNeedsATeacherThatHasSome) {
  TrialSpec spec = tiny_.ResponseStudent("dp-dfd", Reading::working);
  spec.generator.bn_statistics = 10;
  const cluster::Ended ended =
      RunTrial(tiny_.Order(spec, "no-norms", 1, tiny_.TeacherFile("plain")), host_, storage::PosixEnv());
  EXPECT_FALSE(ended.succeeded);
  EXPECT_NE(ended.detail.find("bn_statistics"), std::string::npos) << ended.detail;
}

}  // namespace
}  // namespace retort::worker
