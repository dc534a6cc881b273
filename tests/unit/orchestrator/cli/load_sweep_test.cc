// What a plan says of the files that its sweep names.
#include "orchestrator/cli/commands/load_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "storage/formats/byte_codec.h"
#include "tests/unit/storage/datasets/data_fixtures.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;

// Image folders ant, cat and dog, cat without an image, and a teacher whose file names classes.
class PictureSweep {
 public:
  PictureSweep() {
    setenv("XDG_CACHE_HOME", Path("cache").c_str(), 1);
    for (const char* name : {"ant/0.jpg", "ant/1.jpg", "dog/0.jpg", "dog/1.jpg"})
      storage::Write(Path("set/") + name, storage::Jpeg());
    std::filesystem::create_directories(Path("set/cat"));
    Name(R"([\"ant\",\"cat\",\"dog\"])");
    storage::Write(Path("s.toml"), R"(retort = 1
[data.p]
reader = "pictures"
path = "set"
size = [32, 32]
split = { shuffle = 1, train = 0.5, test = 0.5 }
[teacher]
t = { network = "logistic", weights = "t.safetensors" }
[trial]
method = "dense"
teacher = "t"
student = "logistic"
)");
  }

  void Name(const std::string& classes) {
    const std::string header =
        R"({"__metadata__":{"classes":")" + classes + R"("},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    storage::ByteWriter size;
    size.U64(header.size());
    storage::Write(Path("t.safetensors"), size.bytes() + header + std::string(4, '\0'));
  }
  [[nodiscard]] LoadedSweep Load() const {
    LoadRequest request;
    request.path = Path("s.toml");
    return LoadWithData(storage::PosixEnv(), request);
  }

 private:
  [[nodiscard]] std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  retort::testing::TemporaryDirectory folder_;
};

TEST(LoadWithData, WarnsOfClassesWithoutAPicture) {
  const LoadedSweep loaded = PictureSweep().Load();
  ASSERT_TRUE(loaded.plan) << loaded.errors.front().message;
  EXPECT_EQ(loaded.plan->data.front()->classes, 3);
  std::string warnings;
  for (const Diagnostic& warning : loaded.plan->warnings) warnings += warning.message + "\n";
  EXPECT_THAT(warnings, HasSubstr("1 of 3 classes hold no picture that is read: cat (number 1)"));
}

TEST(LoadWithData, RefusesATeacherThatNumbersTheClassesOtherwise) {
  PictureSweep sweep;
  sweep.Name(R"([\"ant\",\"dog\"])");
  const LoadedSweep loaded = sweep.Load();
  EXPECT_FALSE(loaded.plan);
  ASSERT_EQ(loaded.errors.size(), 1U);
  EXPECT_THAT(loaded.errors.front().message,
              HasSubstr("class \"dog\" is number 2 in the data and number 1 in the weights"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
