// Teachers that come from a file, and what their students' ledgers say of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <fstream>

#include "experiments/base/digests.h"
#include "experiments/methods/teacher_outputs.h"
#include "experiments/privacy/privacy_event.h"
#include "storage/weights/write_weights.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

using ::testing::HasSubstr;

class LoadedTeacherTest : public ::testing::Test {
 protected:
  cluster::Ended Run(const TrialSpec& spec, const std::string& name, const std::string& teacher = "") {
    order_ = tiny_.Order(spec, name, 1, teacher);
    return RunTrial(order_, host_, storage::PosixEnv());
  }
  std::string File() const { return order_.start.attempt_directory + "/attempt.h5"; }
  storage::AttemptFile Read(const std::string& path) const {
    auto file = storage::ReadAttemptFile(path);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(file).value() : storage::AttemptFile{};
  }

  // The trained teacher's parameters, under torchvision's names.
  std::vector<storage::TensorBlob> Trained() {
    std::vector<storage::TensorBlob> blobs = Read(tiny_.TeacherFile("plain")).parameters;
    for (storage::TensorBlob& blob : blobs) blob.name = blob.name.substr(std::string("teacher/").size());
    return blobs;
  }
  TrialSpec Loaded(const std::string& bytes, const std::string& file) {
    std::ofstream(tiny_ / file, std::ios::binary) << bytes;
    TrialSpec spec = tiny_.Teacher("loaded");
    spec.weights = tiny_ / file;
    spec.weights_digest = ComputeSha256Hex(bytes);
    return spec;
  }
  TrialSpec FromTorchScript(std::int64_t classes, const std::string& factor = "3.0") {
    torch::jit::Module module("Tiny");
    module.define("def forward(self, x):\n    return x.flatten(1)[:, :" + std::to_string(classes) + "] * " + factor +
                  "\n");
    module.save(tiny_ / "module.pt");
    std::ifstream file(tiny_ / "module.pt", std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    TrialSpec spec = tiny_.Teacher("loaded");
    spec.network = kTorchScript;
    spec.torchscript = tiny_ / "module.pt";
    spec.weights_digest = ComputeSha256Hex(bytes);
    return spec;
  }

  // The trained teacher within a network of six outputs: its class c is output kPlaces[c], and the two others are drawn
  // towards every image.
  std::vector<storage::TensorBlob> Wider() {
    std::vector<storage::TensorBlob> blobs = Trained();
    const auto last = [&blobs](const std::string& end) {
      return std::find_if(blobs.rbegin(), blobs.rend(), [&end](const auto& blob) { return blob.name.ends_with(end); });
    };
    for (const char* end : {"weight", "bias"}) {
      storage::TensorBlob& blob = *last(end);
      const std::size_t row = blob.bytes.size() / 4;
      std::vector<std::uint8_t> wide;
      const std::vector<float> filler(row / sizeof(float), 50.0F);
      for (std::int64_t output = 0; output < 6; ++output) {
        const auto place = std::find(kPlaces.begin(), kPlaces.end(), output);
        const auto* bytes = place == kPlaces.end() ? reinterpret_cast<const std::uint8_t*>(filler.data())
                                                   : blob.bytes.data() + row * (place - kPlaces.begin());
        wide.insert(wide.end(), bytes, bytes + row);
      }
      blob.bytes.assign(wide.begin(), wide.end());
      blob.shape.front() = 6;
    }
    return blobs;
  }
  const std::vector<std::int64_t> kPlaces = {4, 0, 5, 2};

  TinyTrials tiny_;
  FakeTrialHost host_;
  TrialOrder order_;
};

TEST_F(LoadedTeacherTest, IsTheNetworkThatWasSavedAndReleasesNothing) {
  const auto expected = Read(tiny_.TeacherFile("plain"));
  for (const bool torch : {true, false}) {
    const std::string bytes =
        torch ? storage::EncodeTorch(Trained()).value() : storage::EncodeSafetensors(Trained()).value();
    const cluster::Ended ended = Run(Loaded(bytes, "weights"), torch ? "torch" : "safetensors");
    ASSERT_TRUE(ended.succeeded) << ended.detail;
    const storage::AttemptFile file = Read(File());
    EXPECT_EQ(file.parameters, expected.parameters);
    EXPECT_EQ(file.evaluation->accuracy, expected.evaluation->accuracy);
    ASSERT_EQ(file.claims.size(), 1U);
    EXPECT_EQ(file.claims[0].reason, "loaded-weights");
  }
  EXPECT_TRUE(host_.grants.empty());
}

TEST_F(LoadedTeacherTest, AFileThatChangedSinceThePlanIsRefused) {
  const TrialSpec spec = Loaded(storage::EncodeSafetensors(Trained()).value(), "weights");
  std::vector<storage::TensorBlob> other = Trained();
  other.front().bytes.front() ^= 1;
  std::ofstream(spec.weights, std::ios::binary) << storage::EncodeSafetensors(other).value();
  const cluster::Ended ended = Run(spec, "changed");
  EXPECT_FALSE(ended.succeeded);
  EXPECT_THAT(ended.detail, HasSubstr("is not the file that was planned"));
}

TEST_F(LoadedTeacherTest, NamesAndShapesThatDoNotFitAreRefusedByName) {
  std::vector<storage::TensorBlob> missing = Trained();
  const std::string name = missing.back().name;
  missing.pop_back();
  cluster::Ended ended = Run(Loaded(storage::EncodeSafetensors(missing).value(), "missing"), "missing");
  EXPECT_FALSE(ended.succeeded);
  EXPECT_THAT(ended.detail, HasSubstr(name));
  std::vector<storage::TensorBlob> extra = Trained();
  extra.push_back({"surplus.weight", storage::DType::f32, {1}, {0, 0, 0, 0}});
  ended = Run(Loaded(storage::EncodeSafetensors(extra).value(), "extra"), "extra");
  EXPECT_FALSE(ended.succeeded);
  EXPECT_THAT(ended.detail, HasSubstr("surplus.weight"));
  ended = Run(Loaded("no weights at all", "garbage"), "garbage");
  EXPECT_FALSE(ended.succeeded);
  EXPECT_THAT(ended.detail, HasSubstr(tiny_ / "garbage"));
}

TEST_F(LoadedTeacherTest, TheOutputsThatAreNamedAreItsClasses) {
  const auto expected = Read(tiny_.TeacherFile("plain"));
  ASSERT_GT(expected.evaluation->accuracy, 0.5);
  TrialSpec spec = Loaded(storage::EncodeSafetensors(Wider()).value(), "wider");
  spec.outputs = FormatOutputs(kPlaces);
  const cluster::Ended ended = Run(spec, "named");
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  const storage::AttemptFile file = Read(File());
  EXPECT_EQ(file.parameters, expected.parameters) << "to the bit, and so is every logit of it";
  EXPECT_EQ(file.evaluation->accuracy, expected.evaluation->accuracy);
  EXPECT_EQ(file.claims[0].reason, "loaded-weights");
  spec.outputs = "0 4 5 2";  // classes 0 and 1 of each other
  ASSERT_TRUE(Run(spec, "swapped").succeeded);
  EXPECT_NE(Read(File()).parameters, expected.parameters);
  EXPECT_LT(Read(File()).evaluation->accuracy, expected.evaluation->accuracy);
}

TEST_F(LoadedTeacherTest, OutputsThatTheFileLacksAreRefused) {
  TrialSpec spec = Loaded(storage::EncodeSafetensors(Wider()).value(), "wider");
  spec.outputs = "4 0 6 2";
  const std::string beyond = Run(spec, "beyond").detail;
  EXPECT_THAT(beyond, HasSubstr("outputs names output 6, but " + spec.weights + " has 6 outputs"));
  EXPECT_THAT(beyond, HasSubstr("write integers from 0 to 5"));
  spec.outputs = "";
  EXPECT_THAT(Run(spec, "unnamed").detail, HasSubstr("The file has 6 outputs"));
}

TEST_F(LoadedTeacherTest, StudentsAskTheNamedOutputsOfAModule) {
  const auto taught = [this](const TrialSpec& module, const std::string& name) {
    const cluster::Ended loaded = Run(module, name);
    EXPECT_TRUE(loaded.succeeded) << loaded.detail;
    const std::string teacher = File();
    TrialSpec spec = tiny_.Student(Reading::working);
    spec.noise = NoiseMode::seeded;
    EXPECT_TRUE(Run(spec, name + "-student", teacher).succeeded);
    return Read(File()).parameters;
  };
  const auto direct = taught(FromTorchScript(4), "four");
  TrialSpec nine = FromTorchScript(9);
  nine.outputs = "0 1 2 3";
  EXPECT_EQ(taught(nine, "nine"), direct);
  nine.outputs = "0 1 3 2";
  EXPECT_NE(taught(nine, "other"), direct);
  nine.outputs = "0 1 2 9";
  EXPECT_THAT(Run(nine, "beyond").detail, HasSubstr("write integers from 0 to 8"));
}

TEST_F(LoadedTeacherTest, EveryReleaseOfItsStudentsIsMarked) {
  ASSERT_TRUE(Run(Loaded(storage::EncodeSafetensors(Trained()).value(), "weights"), "loaded").succeeded);
  const std::string teacher = File();
  TrialSpec spec = tiny_.Student(Reading::row_averaged);
  spec.noise = NoiseMode::secure;
  const cluster::Ended ended = Run(spec, "student", teacher);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  ASSERT_FALSE(host_.grants.empty());
  for (const auto& [id, grant] : host_.grants)
    EXPECT_THAT(grant.event.voids, ::testing::ElementsAre(std::string(privacy::kVoidLoadedWeights)));
  const storage::AttemptFile file = Read(File());
  const auto with = [&](privacy::Adjacency adjacency) {
    return *std::find_if(file.claims.begin(), file.claims.end(), [&](const privacy::Claim& claim) {
      return claim.adjacency == adjacency && claim.status != privacy::ClaimStatus::paper_formula;
    });
  };
  EXPECT_EQ(with(privacy::Adjacency::example).reason, "loaded-weights");
  EXPECT_EQ(with(privacy::Adjacency::teacher).status, privacy::ClaimStatus::proven);
}

TEST_F(LoadedTeacherTest, StudentsOfTeachersTrainedHereAreNot) {
  ASSERT_TRUE(Run(tiny_.Student(Reading::working), "student", tiny_.TeacherFile("plain")).succeeded);
  ASSERT_FALSE(host_.grants.empty());
  for (const auto& [id, grant] : host_.grants) EXPECT_TRUE(grant.event.voids.empty());
}

TEST_F(LoadedTeacherTest, ATorchScriptModuleTeaches) {
  const cluster::Ended loaded = Run(FromTorchScript(4), "module");
  ASSERT_TRUE(loaded.succeeded) << loaded.detail;
  const std::string teacher = File();
  std::filesystem::remove(tiny_ / "module.pt");  // the attempt holds it
  const cluster::Ended ended = Run(tiny_.Student(Reading::working), "student", teacher);
  EXPECT_TRUE(ended.succeeded) << ended.detail;
}

TEST_F(LoadedTeacherTest, AModuleThatChangedSinceThePlanIsRefused) {
  const TrialSpec planned = FromTorchScript(4);
  ASSERT_NE(FromTorchScript(4, "2.0").weights_digest, planned.weights_digest);  // takes its place
  const cluster::Ended ended = Run(planned, "changed");
  EXPECT_FALSE(ended.succeeded);
  EXPECT_THAT(ended.detail, HasSubstr("is not the file that was planned"));
}

TEST_F(LoadedTeacherTest, AModuleOfOtherClassesIsRefused) {
  const cluster::Ended ended = Run(FromTorchScript(3), "module");
  EXPECT_FALSE(ended.succeeded);
  EXPECT_THAT(ended.detail, HasSubstr("has 4 classes"));
}

TEST_F(LoadedTeacherTest, ANetworkThatIsNotTrainedKeepsItsFirstParameters) {
  TrialSpec spec = tiny_.Teacher("plain");
  spec.epochs = 0;
  ASSERT_TRUE(Run(spec, "once").succeeded);
  const auto once = Read(File()).parameters;
  ASSERT_TRUE(Run(spec, "twice").succeeded);
  EXPECT_EQ(Read(File()).parameters, once);
  EXPECT_NE(Read(tiny_.TeacherFile("plain")).parameters, once);
}

TEST_F(LoadedTeacherTest, TrainingKeysChangeWhatIsLearnedAndItStaysFinite) {
  const auto learned = [&](const char* name, const auto& edit) {
    TrialSpec spec = tiny_.Teacher("plain");
    edit(spec);
    const cluster::Ended ended = Run(spec, name);
    EXPECT_TRUE(ended.succeeded) << name << ": " << ended.detail;
    return Read(File()).parameters;
  };
  const auto plain = learned("plain", [](TrialSpec&) {});
  const auto by_sgd = [](TrialSpec& spec) {
    spec.optimization.optimizer = Optimizer::sgd;
    spec.optimization.lr = 0.05;
  };
  const auto sgd = learned("sgd", by_sgd);
  EXPECT_NE(sgd, plain);
  EXPECT_NE(learned("decay",
                    [&](TrialSpec& spec) {
                      by_sgd(spec);
                      spec.optimization.weight_decay = 0.1;
                    }),
            sgd);
  EXPECT_NE(learned("cosine", [](TrialSpec& spec) { spec.optimization.schedule = Schedule::cosine; }), plain);
  EXPECT_NE(learned("step", [](TrialSpec& spec) { spec.optimization.schedule = Schedule::step; }), plain);
  EXPECT_NE(learned("bfloat16", [](TrialSpec& spec) { spec.precision = Precision::bfloat16; }), plain);
  EXPECT_EQ(learned("tf32", [](TrialSpec& spec) { spec.precision = Precision::tf32; }), plain);  // a CPU has none
  EXPECT_NE(learned("crop", [](TrialSpec& spec) { spec.inputs.augment = Augment::crop_flip; }), plain);
  EXPECT_NE(learned("resized", [](TrialSpec& spec) { spec.inputs.augment = Augment::random_resized_crop; }), plain);
  EXPECT_EQ(learned("none", [](TrialSpec& spec) { spec.inputs.augment = Augment::none; }),
            learned("still", [](TrialSpec& spec) { spec.inputs.shift = 0; }));
}

}  // namespace
}  // namespace retort::worker
