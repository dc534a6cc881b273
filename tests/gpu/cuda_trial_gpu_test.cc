// Whole trials on cuda:0. Exits with 77, which ctest reports as skipped, when there is no device.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "storage/results/hdf5_conventions.h"
#include "tests/gpu/the_devices.h"
#include "tests/gpu/without_device.h"
#include "tests/unit/worker/trial_cases.h"
#include "worker/devices/devices.h"
#include "worker/run/gang_formation.h"
#include "worker/run/worker_service.h"

namespace retort::worker {
namespace {

// Sums in another order round differently; a few steps of Adam enlarge that. As for gangs.
constexpr double kTolerance = 2e-3;

Result<OpenDevice> Open(const std::string& name) { return TheDevices().Open(name); }

struct GpuRun {
  cluster::Ended ended;
  FakeTrialHost host;
  storage::AttemptFile file;
};

GpuRun RunOn(const TinyTrials& tiny, const TrialSpec& spec, const std::string& device, const std::string& name,
             const std::string& teacher = "", std::uint32_t number = 1, std::int64_t stop_at = 0,
             std::int64_t vanish_at = 0) {
  TrialOrder order = tiny.Order(spec, name, number, teacher);
  order.start.device = device;
  GpuRun run;
  run.host.stop_at = stop_at;
  run.host.vanish_at = vanish_at;
  run.ended = RunTrial(order, run.host, storage::PosixEnv(), FormGang, Open);
  if (!run.ended.succeeded) return run;
  auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
  EXPECT_TRUE(file.ok()) << file.status().message();
  if (file.ok()) run.file = std::move(*file);
  return run;
}

class CudaTrial : public ::testing::TestWithParam<TrialCase> {
 protected:
  static void SetUpTestSuite() { tiny_ = new TinyTrials; }
  static void TearDownTestSuite() {
    delete tiny_;
    tiny_ = nullptr;
  }
  static GpuRun Run(const std::string& device, const std::string& name, std::uint32_t number = 1,
                    std::int64_t stop_at = 0, std::int64_t vanish_at = 0, GraphMode graphs = GraphMode::off) {
    const TrialCase& c = GetParam();
    const std::string teacher = c.teacher.empty() ? "" : tiny_->TeacherFile(c.teacher);
    TrialSpec spec = c.spec(*tiny_);
    spec.execution.graphs = graphs;
    return RunOn(*tiny_, spec, device, c.name + name, teacher, number, stop_at, vanish_at);
  }
  static GpuRun RunRecorded(const std::string& name, std::uint32_t number = 1, std::int64_t vanish_at = 0) {
    return Run("cuda:0", name, number, 0, vanish_at, GraphMode::automatic);
  }
  static TinyTrials* tiny_;
};
TinyTrials* CudaTrial::tiny_ = nullptr;

TEST_P(CudaTrial, GivesTheRowOfTheCpuButForRounding) {
  const GpuRun want = Run("cpu", "-cpu"), got = Run("cuda:0", "-cuda");
  ASSERT_TRUE(want.ended.succeeded) << want.ended.detail;
  ASSERT_TRUE(got.ended.succeeded) << got.ended.detail;
  ASSERT_EQ(got.ended.metrics.size(), want.ended.metrics.size());
  for (std::size_t i = 0; i < want.ended.metrics.size(); ++i)
    EXPECT_NEAR(got.ended.metrics[i].second, want.ended.metrics[i].second, 0.051);  // two of forty
  for (const auto& [name, points] : want.file.curves) {
    ASSERT_TRUE(got.file.curves.contains(name));
    if (storage::IsTiming(name) || name == "public.accuracy") continue;
    const auto& found = got.file.curves.at(name);
    ASSERT_EQ(found.size(), points.size()) << name;
    for (std::size_t i = 0; i < points.size(); ++i)
      EXPECT_NEAR(found[i].second, points[i].second, kTolerance * (1 + std::abs(points[i].second))) << name;
  }
}

TEST_P(CudaTrial, ChargesWhatTheCpuCharges) {
  const GpuRun want = Run("cpu", "-charged-cpu"), got = Run("cuda:0", "-charged-cuda");
  ASSERT_EQ(got.host.grants.size(), want.host.grants.size());
  for (const auto& [id, grant] : want.host.grants) {
    EXPECT_EQ(privacy::EncodeEvent(got.host.grants.at(id).event), privacy::EncodeEvent(grant.event));
    EXPECT_EQ(got.host.grants.at(id).used, grant.used);
  }
}

TEST_P(CudaTrial, GoesOnWithTheSameBitsAfterAnInterruption) {
  const GpuRun whole = Run("cuda:0", "-whole");
  ASSERT_TRUE(whole.ended.succeeded) << whole.ended.detail;
  for (const bool polite : {true, false}) {
    const std::string name = polite ? "-stopped" : "-crashed";
    ASSERT_FALSE(Run("cuda:0", name, 1, polite ? 3 : 0, polite ? 0 : 1).ended.succeeded);
    const GpuRun again = Run("cuda:0", name, 2);
    ASSERT_TRUE(again.ended.succeeded) << again.ended.detail;
    EXPECT_EQ(again.ended.parameters_digest, whole.ended.parameters_digest);
  }
}

// What is not recorded here, and why, is printed: the twin on the pretend device lists what should be.
TEST_P(CudaTrial, RecordedStepsGiveTheBitsOfStepsAsTheyAre) {
  const GpuRun want = Run("cuda:0", "-eager"), got = RunRecorded("-recorded");
  ASSERT_TRUE(want.ended.succeeded) << want.ended.detail;
  ASSERT_TRUE(got.ended.succeeded) << got.ended.detail;
  EXPECT_EQ(got.ended.parameters_digest, want.ended.parameters_digest);
  EXPECT_EQ(got.ended.metrics, want.ended.metrics);
  for (const auto& [name, points] : want.file.curves) {
    if (storage::IsTiming(name)) continue;
    EXPECT_EQ(got.file.curves.at(name), points) << name;
  }
  const auto provenance = nlohmann::json::parse(got.file.provenance_json);
  const nlohmann::json graphs = provenance.value("graphs", nlohmann::json::object());
  std::int64_t replayed = 0, others = 0;
  for (const auto& [name, region] : graphs.items()) {
    replayed += region["replayed"].get<std::int64_t>();
    others += region["eager"].get<std::int64_t>();
    if (region.contains("declined"))
      std::printf("not recorded: %s: %s\n", name.c_str(), region["declined"].get<std::string>().c_str());
  }
  if (others > 0) {
    EXPECT_GT(replayed, 0);
  }
}

TEST_P(CudaTrial, RecordedStepsBeginAsTheCpuDoes) {
  const GpuRun want = Run("cpu", "-first-cpu"), got = RunRecorded("-first-recorded");
  for (const auto& [name, points] : want.file.curves) {
    if (storage::IsTiming(name) || name == "public.accuracy" || points.empty()) continue;
    ASSERT_FALSE(got.file.curves.at(name).empty()) << name;
    const double first = points.front().second;
    EXPECT_NEAR(got.file.curves.at(name).front().second, first, 1e-5 * (1 + std::abs(first))) << name;
  }
}

TEST_P(CudaTrial, RecordedStepsGoOnWithTheSameBitsAfterADeath) {
  const GpuRun whole = RunRecorded("-recorded-whole");
  ASSERT_TRUE(whole.ended.succeeded) << whole.ended.detail;
  ASSERT_FALSE(RunRecorded("-recorded-dies", 1, 1).ended.succeeded);
  const GpuRun again = RunRecorded("-recorded-dies", 2);
  ASSERT_TRUE(again.ended.succeeded) << again.ended.detail;
  EXPECT_EQ(again.ended.parameters_digest, whole.ended.parameters_digest);
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, CudaTrial, ::testing::ValuesIn(kTrialCases),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(LoneMethod, CudaTrial, ::testing::ValuesIn(kLoneTrialCases),
                         [](const auto& test) { return test.param.name; });

// A batch whose images no device holds.
TEST(CudaFault, OutOfMemoryIsNamedAndTheNextTrialSucceeds) {
  const TinyTrials tiny;
  const std::string teacher = tiny.TeacherFile("plain");
  TrialSpec large = tiny.Student(Reading::working);
  large.batch = 2'000'000;
  large.generator.width = 512;
  const GpuRun lost = RunOn(tiny, large, "cuda:0", "large", teacher);
  EXPECT_EQ(lost.ended.failure, FailureKind::out_of_memory) << lost.ended.detail;
  const GpuRun next = RunOn(tiny, tiny.Student(Reading::working), "cuda:0", "next", teacher);
  EXPECT_TRUE(next.ended.succeeded) << next.ended.detail;
}

// An index out of range trips an assertion on the device; nothing works in this context from then on.
void PoisonContext() {
  try {
    const at::TensorOptions on = at::device(at::Device(at::kCUDA, 0));
    const at::Tensor chosen = at::zeros({4}, on).index_select(0, at::full({1}, 1000, on.dtype(at::kLong)));
    static_cast<void>(chosen.item<float>());
  } catch (const c10::Error&) {
    return;
  }
  std::_Exit(3);
}

TEST(CudaFaultDeathTest, PoisonedContextIsAFailureOfTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const TinyTrials tiny;
        const TrialSpec spec = tiny.DpSgdStudent();
        const bool before = RunOn(tiny, spec, "cuda:0", "before").ended.succeeded;
        PoisonContext();
        const cluster::Ended after = RunOn(tiny, spec, "cuda:0", "after").ended;
        std::fprintf(stderr, "%s\n", after.detail.c_str());
        std::_Exit(before && after.failure == FailureKind::device ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "CUDA");
}

TEST(CudaDevice, ThatTheDriverDoesNotShowIsAFailureOfTheDevice) {
  const TinyTrials tiny;
  const cluster::Ended ended = RunOn(tiny, tiny.DpSgdStudent(), "cuda:99", "absent").ended;
  EXPECT_EQ(ended.failure, FailureKind::device);
  EXPECT_NE(ended.detail.find("'cuda:99'"), std::string::npos) << ended.detail;
}

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  retort::worker::PrepareTorch();
  const auto usable = retort::worker::TheDevices().CountCuda();
  if (!usable.ok()) {
    return retort::worker::WithoutDevice(usable.status());
  }
  return RUN_ALL_TESTS();
}
