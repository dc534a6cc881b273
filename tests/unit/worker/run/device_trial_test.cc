// Every method on a device that shares no memory with the CPU: the bits, the charges and the files are the
// CPU's. A tensor that stays behind on the CPU ends the trial here with the name of the operation that met
// it.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "experiments/methods/methods.h"
#include "storage/results/hdf5_conventions.h"
#include "tests/testing/pretend_device.h"
#include "tests/testing/temporary_directory.h"
#include "tests/unit/worker/gang/devices_only.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "tests/unit/worker/trial_cases.h"
#include "worker/data/dataset.h"
#include "worker/devices/devices.h"
#include "worker/gang/collective_decorators.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/release_replay.h"
#include "worker/run/failure.h"
#include "worker/run/gang_formation.h"
#include "worker/tensors/host_copy.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

using retort::testing::OpenPretend;
using retort::testing::PretendDevice;
using retort::testing::PretendNoises;
using retort::testing::PretendOperations;

struct DeviceRun {
  cluster::Ended ended;
  FakeTrialHost host;
  storage::AttemptFile file;
  std::int64_t operations = 0, noises = 0;  // on the pretended device, where they were counted
};

class DeviceTrial : public ::testing::TestWithParam<TrialCase> {
 protected:
  static void SetUpTestSuite() { tiny_ = new TinyTrials; }
  static void TearDownTestSuite() {
    delete tiny_;
    tiny_ = nullptr;
    whole_.clear();
  }

  // Attempt `number`; stops politely when asked the `stop_at`-th time, vanishes after the `vanish_at`-th
  // report.
  static DeviceRun Run(const std::string& device, const std::string& name, std::uint32_t number = 1,
                       std::int64_t stop_at = 0, std::int64_t vanish_at = 0) {
    const TrialCase& c = GetParam();
    const std::string teacher = c.teacher.empty() ? "" : tiny_->TeacherFile(c.teacher);
    TrialOrder order = tiny_->Order(c.spec(*tiny_), c.name + name, number, teacher);
    order.start.device = device;
    DeviceRun run;
    run.host.stop_at = stop_at;
    run.host.vanish_at = vanish_at;
    run.ended = RunTrial(order, run.host, storage::PosixEnv(), FormGang, OpenPretend);
    if (run.ended.succeeded) {
      auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
      EXPECT_TRUE(file.ok()) << file.status().message();
      if (file.ok()) run.file = std::move(*file);
    }
    return run;
  }

  // The undisturbed trial on a device: one for all tests of a case.
  static const DeviceRun& Whole(const std::string& device) {
    const auto [found, is_new] = whole_.try_emplace(GetParam().name + " on " + device);
    if (!is_new) return found->second;
    const std::int64_t operations = PretendOperations(), noises = PretendNoises();
    found->second = Run(device, device == "cpu" ? "-cpu" : "-device");
    found->second.operations = PretendOperations() - operations;
    found->second.noises = PretendNoises() - noises;
    return found->second;
  }

  static storage::Curves WithoutTimings(storage::Curves curves) {
    std::erase_if(curves, [](const auto& curve) { return storage::IsTiming(curve.first); });
    return curves;
  }

  static TinyTrials* tiny_;
  static std::map<std::string, DeviceRun> whole_;  // by case and device
};
TinyTrials* DeviceTrial::tiny_ = nullptr;
std::map<std::string, DeviceRun> DeviceTrial::whole_;

TEST_P(DeviceTrial, GivesTheRowAndTheChargesOfTheCpu) {
  const DeviceRun &want = Whole("cpu"), &got = Whole("pretend:0");
  ASSERT_TRUE(want.ended.succeeded) << want.ended.detail;
  ASSERT_TRUE(got.ended.succeeded) << got.ended.detail;
  EXPECT_GT(got.operations, 100) << "it did not run on the device";
  const TrialSpec spec = GetParam().spec(*tiny_);
  const bool noisy_gradients = FindKind(spec) == TrialKind::gradient_student;
  EXPECT_EQ(got.noises, noisy_gradients ? spec.steps : 0) << "noise was drawn elsewhere";
  EXPECT_EQ(got.ended.metrics, want.ended.metrics);
  EXPECT_EQ(got.ended.parameters_digest, want.ended.parameters_digest);
  EXPECT_EQ(got.file.parameters, want.file.parameters);
  EXPECT_EQ(WithoutTimings(got.file.curves), WithoutTimings(want.file.curves));
  ASSERT_EQ(got.file.samples.has_value(), want.file.samples.has_value());
  if (want.file.samples) {
    EXPECT_EQ(got.file.samples->images.bytes, want.file.samples->images.bytes);
    EXPECT_EQ(got.file.samples->released.bytes, want.file.samples->released.bytes);
  }
  ASSERT_EQ(got.host.grants.size(), want.host.grants.size());
  for (const auto& [id, grant] : want.host.grants) {
    EXPECT_EQ(privacy::EncodeEvent(got.host.grants.at(id).event), privacy::EncodeEvent(grant.event));
    EXPECT_EQ(got.host.grants.at(id).count, grant.count);
    EXPECT_EQ(got.host.grants.at(id).used, grant.used);
  }
}

TEST_P(DeviceTrial, GoesOnWithTheSameBitsAfterAnInterruption) {
  const DeviceRun& whole = Whole("pretend:0");
  ASSERT_TRUE(whole.ended.succeeded) << whole.ended.detail;
  for (const bool polite : {true, false}) {
    // On another device, and on the CPU, which here rounds alike.
    const std::string name = polite ? "-stopped" : "-crashed", second = polite ? "pretend:1" : "cpu";
    const DeviceRun first = Run("pretend:0", name, 1, polite ? 3 : 0, polite ? 0 : 1);
    ASSERT_EQ(first.ended.failure, polite ? FailureKind::stopped : FailureKind::agent_lost) << first.ended.detail;
    const DeviceRun again = Run(second, name, 2);
    ASSERT_TRUE(again.ended.succeeded) << again.ended.detail;
    EXPECT_EQ(again.ended.parameters_digest, whole.ended.parameters_digest);
    EXPECT_EQ(again.ended.metrics, whole.ended.metrics);
    // Nothing of what crashed was saved but the state before the first step, which counts as well.
    const std::string where = polite ? R"("trained_on":"pretend")" : R"("trained_on":"pretend, cpu")";
    EXPECT_NE(again.file.provenance_json.find(where), std::string::npos) << again.file.provenance_json;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, DeviceTrial, ::testing::ValuesIn(kTrialCases),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(LoneMethod, DeviceTrial, ::testing::ValuesIn(kLoneTrialCases),
                         [](const auto& test) { return test.param.name; });

// What the cases above leave at its default.
TrialSpec Varied(TrialSpec spec, const std::function<void(TrialSpec&)>& change) {
  change(spec);
  return spec;
}
const TrialCase kVariants[] = {
    {"Undetached",
     [](const TinyTrials& t) { return Varied(t.Student(Reading::working), [](auto& s) { s.release.detach = false; }); },
     "plain"},
    {"FrobeniusByKnowledge",
     [](const TinyTrials& t) {
       return Varied(t.Student(Reading::row_averaged), [](auto& s) {
         s.release.normalization = Normalization::frobenius;
         s.distill.loss = DistillationLoss::kd;
       });
     },
     "plain"},
    {"ClippedHardLabels",
     [](const TinyTrials& t) {
       return Varied(t.Student(Reading::working), [](auto& s) {
         s.release.normalization = Normalization::clip;
         s.distill.loss = DistillationLoss::ce_hard;
         s.distill.replay = 0;
       });
     },
     "plain"},
    {"StopsByItsAccuracy",
     [](const TinyTrials& t) {
       return Varied(t.VoteStudent(QuerySource::public_split), [](auto& s) {
         s.stop.metric = StopMetric::accuracy;
         s.stop.above = true;
         s.stop.threshold = 0;
         s.stop.after = 4;
         s.stop.every = 1;
       });
     },
     "ensemble"},
};
const TrialCase kNormalised[] = {
    {"StudentWithBatchNorms",
     [](const TinyTrials& t) {
       return Varied(t.Student(Reading::working), [](auto& s) { s.network = "dense-mnist"; });
     },
     "plain"},
};
INSTANTIATE_TEST_SUITE_P(Normalised, DeviceTrial, ::testing::ValuesIn(kNormalised),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Variants, DeviceTrial, ::testing::ValuesIn(kVariants),
                         [](const auto& test) { return test.param.name; });

// Group norms take torch's own formula where a device brings no kernel, so the last bits are not the CPU's.
class GroupNormTrial : public DeviceTrial {};

TEST_P(GroupNormTrial, MatchesCpuChargesAndRoundedParameters) {
  const DeviceRun want = Run("cpu", "-cpu"), got = Run("pretend:0", "-device");
  ASSERT_TRUE(want.ended.succeeded) << want.ended.detail;
  ASSERT_TRUE(got.ended.succeeded) << got.ended.detail;
  ASSERT_EQ(got.host.grants.size(), want.host.grants.size());
  for (const auto& [id, grant] : want.host.grants) EXPECT_EQ(got.host.grants.at(id).used, grant.used);
  ASSERT_EQ(got.file.parameters.size(), want.file.parameters.size());
  for (std::size_t i = 0; i < want.file.parameters.size(); ++i) {
    const at::Tensor a = MakeTensorFromBlob(got.file.parameters[i]).value(),
                     b = MakeTensorFromBlob(want.file.parameters[i]).value();
    EXPECT_TRUE(at::allclose(a, b, 1e-3, 1e-4)) << want.file.parameters[i].name;
  }
}

const TrialCase kGroupNorms[] = {
    {"DpSgd",
     [](const TinyTrials& t) {
       return Varied(t.DpSgdStudent(), [](auto& s) {
         s.network = "wrn16-1-gn";
         s.steps = 2;
       });
     },
     ""},
};
INSTANTIATE_TEST_SUITE_P(GroupNorms, GroupNormTrial, ::testing::ValuesIn(kGroupNorms),
                         [](const auto& test) { return test.param.name; });

class DeviceGang : public DeviceTrial {};

// Each member on a device of its own: autograd has one thread for each, as on real ones.
TEST_P(DeviceGang, GivesTheRowOfAGangOfCpus) {
  constexpr int kSize = 2;
  std::vector<cluster::Ended> first;
  for (const std::string kind : {"cpu", "pretend"}) {
    const TrialCase& c = GetParam();
    const std::string teacher = c.teacher.empty() ? "" : tiny_->TeacherFile(c.teacher);
    const TrialOrder order = tiny_->Order(c.spec(*tiny_), c.name + "-gang-" + kind, 1, teacher);
    auto gang = MakeLocalGang(kSize, std::chrono::seconds(20));
    std::vector<cluster::Ended> ended(kSize);
    std::vector<std::thread> members;
    for (int rank = 0; rank < kSize; ++rank) {
      members.emplace_back([&, rank, mine = order]() mutable {
        const auto at = static_cast<std::size_t>(rank);
        mine.start.gang_size = kSize;
        mine.start.gang_rank = rank;
        if (kind != "cpu") mine.start.device = "pretend:" + std::to_string(rank);
        const GangJoiner join = [&](const cluster::Start&, Generation, TrialHost&) {
          if (kind == "cpu") return Result<std::unique_ptr<Collective>>(std::move(gang[at]));
          return Result<std::unique_ptr<Collective>>(
              StageOn(PretendDevice(rank), std::make_unique<DevicesOnly>(std::move(gang[at]))));
        };
        FakeTrialHost host;
        ended[at] = RunTrial(mine, host, storage::PosixEnv(), join, OpenPretend);
      });
    }
    for (std::thread& member : members) member.join();
    for (const cluster::Ended& end : ended) ASSERT_TRUE(end.succeeded) << end.detail;
    first.push_back(ended[0]);
  }
  EXPECT_EQ(first[1].parameters_digest, first[0].parameters_digest);
  EXPECT_EQ(first[1].metrics, first[0].metrics);
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, DeviceGang, ::testing::ValuesIn(kTrialCases),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(OneStepMethod, DeviceGang, ::testing::ValuesIn(kOneStepTrialCases),
                         [](const auto& test) { return test.param.name; });

TEST(RandomNumbers, HaveTheSameBitsOnEveryDevice) {
  const RngStream stream(3, Purpose::dropout);
  const at::Tensor flat = at::arange(5 * 3 * 7 * 4, at::kFloat).view({5, 3, 7, 4});
  for (const at::Tensor& like : {flat, flat.contiguous(at::MemoryFormat::ChannelsLast), flat.flatten(1)}) {
    const at::Tensor there = like.to(PretendDevice());
    for (const std::int64_t first : {0, 11}) {
      const at::Tensor mask = DrawDropoutMask(there, 0.3, {stream, first});
      EXPECT_EQ(mask.device(), PretendDevice());
      EXPECT_EQ(mask.strides(), like.strides());
      EXPECT_TRUE(at::equal(mask.cpu(), DrawDropoutMask(like, 0.3, {stream, first})));
    }
  }
  const PixelScale scale{{0.1, 0.2, 0.3}, {0.5, 0.5, 0.25}};
  for (const int reach : {1, 2, 4})
    EXPECT_TRUE(at::equal(ShiftImages(flat.to(PretendDevice()), reach, scale, {stream, 2}).cpu(),
                          ShiftImages(flat, reach, scale, {stream, 2})));
}

TEST(HostCopy, HoldsTheValuesOfItsBeginning) {
  for (const at::Device device : {at::Device(at::kCPU), PretendDevice(), PretendDevice(1)}) {
    at::Tensor values = at::arange(12, at::kFloat).view({3, 4}).to(device);
    const std::unique_ptr<HostCopy> first = StartHostCopy(values), turned = StartHostCopy(values.t());
    values.fill_(-1);
    const std::unique_ptr<HostCopy> second = StartHostCopy(values);
    values = at::Tensor();
    const at::Tensor others = at::full({3, 4}, 7, at::device(device).dtype(at::kFloat));
    EXPECT_TRUE(at::equal(first->Await().value(), at::arange(12, at::kFloat).view({3, 4})));
    EXPECT_TRUE(at::equal(turned->Await().value(), at::arange(12, at::kFloat).view({3, 4}).t()));
    EXPECT_TRUE(at::equal(second->Await().value(), at::full({3, 4}, -1, at::kFloat)));
  }
}

// A device that fails says so when its copy is waited for, and the trial ends with it.
TEST(HostCopy, ErrorOfTheDeviceIsToldByTheNextAnswer) {
  class Failing final : public HostCopy {
    Result<at::Tensor> Await() override { return EnvironmentError("CUDA error: an illegal memory access"); }
  };
  testing::TemporaryDirectory folder;
  const auto store = storage::CheckpointStore::Open(storage::PosixEnv(), folder / "trials/t", 1).value();
  const std::unique_ptr<Collective> gang = MakeSoloCollective();
  ReleaseReplay tape(store.get(), *gang, at::kCPU, [](const at::Tensor&) { return std::make_unique<Failing>(); });
  release::MemoryPort port(INT64_MAX);
  release::ChargeBook book(&port, 1, 10);
  tape.UseChargeBook(book);
  int drawn = 0;
  const auto draw = [&](release::ChargeBook*) -> Result<at::Tensor> {
    ++drawn;
    return at::ones({2, 3});
  };
  ASSERT_TRUE(tape.Obtain(0, draw).ok()) << "nobody has waited";
  const Status waited = store->AwaitReleased();
  EXPECT_EQ(MakeReleaseFailure(waited).kind, FailureKind::device) << waited.message();
  EXPECT_EQ(tape.Obtain(1, draw).status().message(), waited.message());
  EXPECT_EQ(drawn, 1) << "what cannot be written down is not drawn";
}

TEST(DeviceName, ThatNoWorkerCanUseEndsTheTrialWithWhatIsMissing) {
  const TinyTrials tiny;
  Devices devices("/nowhere/libretort_cuda.so");
  const DeviceOpener open = [&](const std::string& name) { return devices.Open(name); };
  const auto end_on = [&](const std::string& device) {
    TrialOrder order = tiny.Order(tiny.DpSgdStudent(), "nowhere", 1);
    order.start.device = device;
    FakeTrialHost host;
    return RunTrial(order, host, storage::PosixEnv(), FormGang, open);
  };
  // The place is at fault, so another one may do.
  const cluster::Ended missing = end_on("cuda:0");
  EXPECT_EQ(missing.failure, FailureKind::device);
  EXPECT_NE(missing.detail.find("/nowhere/libretort_cuda.so"), std::string::npos) << missing.detail;
  for (const char* name : {"", "cuda", "cuda:", "cuda:-1", "cuda:0x", "cuda:999", "tpu:0"})
    EXPECT_EQ(end_on(name).failure, FailureKind::configuration) << name;
}

// What makes the tests above able to fail.
TEST(PretendDevice, RefusesTensorsOfTheCpu) {
  const at::Tensor there = at::ones({2, 3}, PretendDevice()), here = at::ones({2, 3});
  EXPECT_THROW(static_cast<void>(there + here), c10::Error);
  EXPECT_THROW(static_cast<void>(here + there), c10::Error);
  EXPECT_THROW(static_cast<void>(at::mm(there, here.t())), c10::Error);
  EXPECT_THROW(static_cast<void>(there.index_select(0, at::zeros({1}, at::kLong))), c10::Error);
  EXPECT_THROW(static_cast<void>(here.index_select(0, at::zeros({1}, there.options().dtype(at::kLong)))), c10::Error);
  EXPECT_THROW(static_cast<void>(at::cat({there, here})), c10::Error);
  EXPECT_THROW(static_cast<void>(there + at::ones({2, 3}, PretendDevice(1))), c10::Error);
  EXPECT_TRUE(at::equal((there + 1).cpu(), here + 1));
  EXPECT_TRUE(at::equal((there + at::ones({})).cpu(), here + 1));  // one number, as a real device allows
}

TEST(PretendDeviceDeathTest, KeepsItsBytesFromTheCpu) {
  const at::Tensor there = at::ones({4}, PretendDevice());
  EXPECT_DEATH(static_cast<void>(*static_cast<const volatile float*>(there.const_data_ptr())), "");
}

}  // namespace
}  // namespace retort::worker
