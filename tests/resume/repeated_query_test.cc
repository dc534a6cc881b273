// A generator that repeats an image after a restart gets the answer that it had before.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/fault_injection_env.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/method.h"
#include "worker/run/trial_inputs.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

// One process's part in a trial whose generator makes the same image again and again.
class Life {
 public:
  Life(const TrialInputs& inputs, storage::CheckpointStore& store, std::int64_t budget = INT64_MAX)
      : gang_(MakeSoloCollective()),
        tape_(&store, *gang_),
        port_(budget),
        book_(&port_, 64, 1000),
        method_(MakeMethod({inputs.spec, inputs.data, &*inputs.teacher, tape_, *gang_}).value()) {
    tape_.UseChargeBook(book_);
    method_->Register(state_);
    Load(state_.Save());
  }
  // With a generator of zeros, whose images are all alike.
  void Load(std::vector<storage::TensorBlob> state) {
    for (storage::TensorBlob& blob : state)
      if (blob.name.starts_with("generator/")) std::fill(blob.bytes.begin(), blob.bytes.end(), 0);
    EXPECT_TRUE(state_.Load(state).ok());
  }
  [[nodiscard]] std::vector<storage::TensorBlob> Save() const { return state_.Save(); }
  void Replay(const std::vector<storage::TranscriptRecord>& records) {
    for (const storage::TranscriptRecord& record : records) ASSERT_TRUE(tape_.Insert(record).ok());
    ASSERT_TRUE(tape_.ShareReplays().ok());
  }
  [[nodiscard]] Status TryStep(std::int64_t step) {
    Series series;
    return method_->Step(step, series);
  }
  void Step(std::int64_t step) {
    const Status done = TryStep(step);
    ASSERT_TRUE(done.ok()) << done.message();
  }
  [[nodiscard]] std::int64_t drawn() const { return book_.drawn(); }

 private:
  std::unique_ptr<Collective> gang_;
  ReleaseReplay tape_;
  release::MemoryPort port_;
  release::ChargeBook book_;
  std::unique_ptr<Method> method_;
  TrainState state_;
};

struct Asking {
  const char* name;
  TrialSpec (*spec)(const TinyTrials&);
  const char* teacher;
};

const Asking kAskings[] = {
    {"Votes", [](const TinyTrials& t) { return t.VoteStudent(QuerySource::generator); }, "ensemble"},
    {"Responses", [](const TinyTrials& t) { return t.ResponseStudent("dpsd-label", Reading::working); }, "plain"},
    {"SoftResponses",
     [](const TinyTrials& t) {
       TrialSpec spec = t.ResponseStudent("dp-dfd", Reading::printed);
       spec.generator.pretrain_steps = 0;
       spec.distill.replay = 1;  // the transfer set forgets what the memory must not
       return spec;
     },
     "plain"},
    {"ResponsesOfMembers", [](const TinyTrials& t) { return t.ResponseStudent("feddpsd", Reading::working); },
     "ensemble"},
};

class RepeatedQuery : public ::testing::TestWithParam<Asking> {
 protected:
  void SetUp() override {
    TrialSpec spec = GetParam().spec(tiny_);
    spec.noise = NoiseMode::secure;
    spec.generator.lr = 0;
    const TrialOrder order = tiny_.Order(spec, "repeats", 1, tiny_.TeacherFile(GetParam().teacher));
    const auto failure = LoadTrialInputs(order, storage::PosixEnv(), OpenHost, inputs_);
    ASSERT_FALSE(failure) << failure->detail;
    store_ = storage::CheckpointStore::Open(env_, "trials/t", 1).value();
  }

  TinyTrials tiny_;
  testing::FaultInjectionEnv env_;
  std::unique_ptr<storage::CheckpointStore> store_;
  TrialInputs inputs_;
};

TEST_P(RepeatedQuery, IsAnsweredFromTheCheckpoint) {
  Life first(inputs_, *store_);
  first.Step(0);
  first.Step(1);
  ASSERT_EQ(first.drawn(), 1) << "the case needs one image only";
  Life second(inputs_, *store_);
  second.Load(first.Save());
  second.Step(2);
  EXPECT_EQ(second.drawn(), 0);
}

TEST_P(RepeatedQuery, IsAnsweredFromTheTranscript) {
  Life first(inputs_, *store_);
  first.Step(0);
  ASSERT_EQ(first.drawn(), 1);
  Life second(inputs_, *store_);
  second.Replay(store_->Transcript().value());
  second.Step(0);
  second.Step(1);
  EXPECT_EQ(second.drawn(), 0);
}

// What a student that never learns is told of the one image, in three steps, the last of them after a restart.
std::vector<at::Tensor> Told(TrialSpec spec, const TinyTrials& tiny, const std::string& teacher) {
  spec.generator.lr = spec.optimization.lr = 0;
  TrialInputs inputs;
  const auto failure =
      LoadTrialInputs(tiny.Order(spec, "told", 1, tiny.TeacherFile(teacher)), storage::PosixEnv(), OpenHost, inputs);
  EXPECT_FALSE(failure);
  testing::FaultInjectionEnv env;
  const auto store = storage::CheckpointStore::Open(env, "trials/t", 1).value();
  Life first(inputs, *store);
  first.Step(0);
  first.Step(1);
  Life second(inputs, *store);
  second.Load(first.Save());
  second.Step(2);
  std::vector<at::Tensor> released;
  const std::vector<storage::TranscriptRecord> records = store->Transcript().value();
  for (const storage::TranscriptRecord& record : records)
    if (record.released[0].name == "released") released.push_back(MakeTensorFromBlob(record.released[0]).value());
  return released;
}

// An answer that was noised before is not noised again: no later row tells one teacher from another, at the same noise.
void ExpectOneAnswer(const TrialSpec& spec, const TinyTrials& tiny, const std::string& teacher,
                     const std::string& other) {
  const std::vector<at::Tensor> one = Told(spec, tiny, teacher), two = Told(spec, tiny, other);
  ASSERT_EQ(one.size(), 3U);
  ASSERT_EQ(two.size(), 3U);
  EXPECT_FALSE(at::equal(one[0][0], two[0][0])) << "the first row is answered";
  if (spec.reading != Reading::printed) {
    EXPECT_TRUE(at::equal(one[0].narrow(0, 1, 23), two[0].narrow(0, 1, 23)));
  }
  EXPECT_TRUE(at::equal(one[1], two[1]));
  EXPECT_TRUE(at::equal(one[2], two[2])) << "after a restart";
}

TEST(RepeatedGradientQuery, IsAnsweredOnceByOneTeacher) {
  const TinyTrials tiny;
  for (const Reading reading : {Reading::working, Reading::stated, Reading::printed, Reading::row_averaged}) {
    TrialSpec spec = tiny.Student(reading);
    EXPECT_NO_FATAL_FAILURE(ExpectOneAnswer(spec, tiny, "plain", "dpsgd"));
    spec.release.normalization = Normalization::clip;
    EXPECT_NO_FATAL_FAILURE(ExpectOneAnswer(spec, tiny, "plain", "dpsgd"));
  }
}

// It is saved as it was, and the step is begun anew: nothing of it was answered.
TEST(RepeatedGradientQuery, IsNotRememberedWhereTheStepEndsBeforeItsAnswer) {
  const TinyTrials tiny;
  TrialInputs inputs;
  const TrialOrder order = tiny.Order(tiny.Student(Reading::working), "told", 1, tiny.TeacherFile("plain"));
  ASSERT_FALSE(LoadTrialInputs(order, storage::PosixEnv(), OpenHost, inputs));
  testing::FaultInjectionEnv env;
  const auto store = storage::CheckpointStore::Open(env, "trials/t", 1).value();
  Life life(inputs, *store, 0);
  const auto asked = [&] {
    const std::vector<storage::TensorBlob> state = life.Save();
    return std::find_if(state.begin(), state.end(), [](const auto& blob) { return blob.name == "asked/digests"; })
        ->shape[0];
  };
  EXPECT_FALSE(life.TryStep(0).ok());
  EXPECT_EQ(asked(), 0);
}

TEST(RepeatedGradientQuery, IsAnsweredOnceByEveryMember) {
  const TinyTrials tiny;
  TrialSpec spec = tiny.Student(Reading::working);
  spec.method = "dpdfd-ensemble";
  ExpectOneAnswer(spec, tiny, "ensemble", "ridge");
}

INSTANTIATE_TEST_SUITE_P(Memories, RepeatedQuery, ::testing::ValuesIn(kAskings),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace retort::worker
