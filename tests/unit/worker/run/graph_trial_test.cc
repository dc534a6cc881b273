// Every method with its steps recorded: the bits are those of the steps as they are, and what is recorded is listed.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "storage/results/hdf5_conventions.h"
#include "tests/testing/pretend_device.h"
#include "tests/unit/worker/trial_cases.h"
#include "worker/devices/devices.h"
#include "worker/run/gang_formation.h"

namespace retort::worker {
namespace {

using retort::testing::CheckPretendReplays;
using retort::testing::OpenPretend;

// Of each case: its regions in order, "-" before those that are not recorded.
const std::map<std::string, std::string> kRegions = {};

struct GraphRun {
  cluster::Ended ended;
  storage::AttemptFile file;
};

class GraphTrial : public ::testing::TestWithParam<TrialCase> {
 protected:
  static void SetUpTestSuite() { tiny_ = new TinyTrials; }
  static void TearDownTestSuite() {
    delete tiny_;
    tiny_ = nullptr;
  }
  ~GraphTrial() override { CheckPretendReplays(false); }

  static GraphRun Run(const TrialCase& c, const std::string& device, const std::string& name) {
    const std::string teacher = c.teacher.empty() ? "" : tiny_->TeacherFile(c.teacher);
    TrialSpec spec = c.spec(*tiny_);
    spec.execution.graphs = GraphMode::automatic;
    TrialOrder order = tiny_->Order(spec, c.name + name, 1, teacher);
    order.start.device = device;
    FakeTrialHost host;
    GraphRun run;
    run.ended = RunTrial(order, host, storage::PosixEnv(), FormGang, OpenPretend);
    EXPECT_TRUE(run.ended.succeeded) << run.ended.detail;
    if (!run.ended.succeeded) return run;
    auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
    EXPECT_TRUE(file.ok()) << file.status().message();
    if (file.ok()) run.file = std::move(*file);
    std::erase_if(run.file.curves, [](const auto& curve) { return storage::IsTiming(curve.first); });
    return run;
  }

  static void ExpectSame(const GraphRun& got, const GraphRun& want) {
    EXPECT_EQ(got.ended.metrics, want.ended.metrics);
    EXPECT_EQ(got.ended.parameters_digest, want.ended.parameters_digest);
    EXPECT_EQ(got.file.curves, want.file.curves);
    ASSERT_EQ(got.file.samples.has_value(), want.file.samples.has_value());
    if (!want.file.samples) return;
    EXPECT_EQ(got.file.samples->released.bytes, want.file.samples->released.bytes);
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
};
TinyTrials* GraphTrial::tiny_ = nullptr;

TEST_P(GraphTrial, RecordedStepsGiveTheBitsOfTheCpu) {
  const GraphRun want = Run(GetParam(), "cpu", "-cpu");
  EXPECT_EQ(ListRegions(want), "") << "a CPU records nothing";
  const GraphRun replayed = Run(GetParam(), "pretend:0", "-replayed");
  ExpectSame(replayed, want);
  const auto regions = kRegions.find(GetParam().name);
  EXPECT_EQ(ListRegions(replayed), regions == kRegions.end() ? "" : regions->second);
  CheckPretendReplays(true);
  ExpectSame(Run(GetParam(), "pretend:0", "-checked"), want);
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, GraphTrial, ::testing::ValuesIn(kTrialCases),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(OneStepMethod, GraphTrial, ::testing::ValuesIn(kOneStepTrialCases),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(LoneMethod, GraphTrial, ::testing::ValuesIn(kLoneTrialCases),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace retort::worker
