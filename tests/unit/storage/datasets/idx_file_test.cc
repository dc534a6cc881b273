#include "storage/datasets/idx_file.h"
#include "experiments/base/digests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "experiments/methods/spec_codec.h"
#include "tests/unit/storage/datasets/gzip.h"

namespace retort::storage {
namespace {

using ::testing::HasSubstr;

// Files in memory; only what a reader needs.
class MemoryEnv : public Env {
 public:
  std::map<std::string, std::string> files;

  Result<std::string> ReadFile(const std::string& path) override {
    if (!files.contains(path)) return EnvironmentError(path + " does not exist");
    return files.at(path);
  }
  bool Exists(const std::string& path) override {
    for (const auto& [name, bytes] : files) {
      if (name == path || name.starts_with(path + "/")) return true;
    }
    return false;
  }
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string&) override { return Refused("read only"); }
  Status WriteFileAtomically(const std::string&, std::string_view) override { return Refused("read only"); }
  Status PublishFile(const std::string&, const std::function<Status(const std::string&)>&) override {
    return Refused("read only");
  }
  Status Remove(const std::string&) override { return Refused("read only"); }
  Status CreateDirectories(const std::string&) override { return Refused("read only"); }
  Result<std::vector<std::string>> List(const std::string&) override { return Refused("read only"); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string&) override { return Refused("read only"); }
  Result<bool> IsLocked(const std::string&) override { return false; }
};

std::string Word(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((value >> shift) & 255U);
  return bytes;
}

std::string Images(std::uint32_t count, std::uint32_t height = 2, std::uint32_t width = 3) {
  std::string pixels(count * height * width, '\0');
  std::iota(pixels.begin(), pixels.end(), '\0');
  return Word(0x803) + Word(count) + Word(height) + Word(width) + pixels;
}

std::string Labels(const std::vector<int>& labels) {
  std::string bytes = Word(0x801) + Word(static_cast<std::uint32_t>(labels.size()));
  for (const int label : labels) bytes += static_cast<char>(label);
  return bytes;
}

constexpr const char* kImages = "/d/t10k-images-idx3-ubyte";
constexpr const char* kLabels = "/d/t10k-labels-idx1-ubyte";

DataSpec Digits() {
  DataSpec data;
  data.name = "digits";
  data.reader = "idx";
  data.path = "/d";
  return data;
}

// The message of inspecting and of loading these two files; fails unless both refuse with `code`.
std::string FindRefusal(const std::string& images, const std::string& labels, const std::string& suffix = "",
                        StatusCode code = StatusCode::damage) {
  MemoryEnv env;
  env.files = {{kImages + suffix, images}, {kLabels + suffix, labels}};
  DataSpec data = Digits();
  const Status inspected = InspectIdx(env, data);
  const auto loaded = LoadIdx(env, data);
  EXPECT_FALSE(inspected.ok());
  EXPECT_FALSE(loaded.ok());
  EXPECT_EQ(inspected.code(), code);
  EXPECT_EQ(data.digest, "") << "nothing is filled in";
  return inspected.message() + "\n" + loaded.status().message();
}

TEST(IdxFile, PlainAndGzippedFilesHoldTheSame) {
  MemoryEnv plain, packed;
  plain.files = {{kImages, Images(3)}, {kLabels, Labels({1, 9, 0})}};
  packed.files = {{std::string(kImages) + ".gz", Gzip(Images(3))},
                  {std::string(kLabels) + ".gz", Gzip(Labels({1, 9, 0}))}};
  for (MemoryEnv* env : {&plain, &packed}) {
    DataSpec data = Digits();
    ASSERT_TRUE(InspectIdx(*env, data).ok()) << InspectIdx(*env, data).message();
    EXPECT_EQ(data.examples, 3);
    EXPECT_EQ(data.channels, 1);
    EXPECT_EQ(data.height, 2);
    EXPECT_EQ(data.width, 3);
    EXPECT_EQ(data.classes, 10);
    const auto loaded = LoadIdx(*env, data);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(loaded->examples, 3);
    EXPECT_EQ(loaded->pixels.at(7), 7);
    EXPECT_THAT(loaded->labels, ::testing::ElementsAre(1, 9, 0));
  }
}

TEST(IdxFile, UnpackedDigestIsThatOfThePlainFiles) {
  MemoryEnv plain, packed, mixed;
  plain.files = {{kImages, Images(3)}, {kLabels, Labels({1, 9, 0})}};
  packed.files = {{std::string(kImages) + ".gz", Gzip(Images(3))},
                  {std::string(kLabels) + ".gz", Gzip(Labels({1, 9, 0}))}};
  mixed.files = {{kImages, Images(3)}, {std::string(kLabels) + ".gz", Gzip(Labels({1, 9, 0}))}};
  DataSpec data = Digits();
  ASSERT_TRUE(InspectIdx(plain, data).ok());
  const std::string digest = data.digest;
  for (MemoryEnv* env : {&plain, &packed, &mixed}) {
    ASSERT_TRUE(InspectIdx(*env, data).ok());
    EXPECT_EQ(data.digest == digest, env == &plain);
    EXPECT_EQ(ComputeUnpackedDigest(*env, data).value(), digest);
  }
  packed.files[std::string(kLabels) + ".gz"].resize(12);
  EXPECT_THAT(ComputeUnpackedDigest(packed, data).status().message(), HasSubstr("t10k-labels-idx1-ubyte.gz"));
}

TEST(IdxFile, DigestFramesTheBytesOnDisk) {
  MemoryEnv env;
  env.files = {{kImages, Images(1)}, {kLabels, Labels({4})}};
  DataSpec data = Digits();
  ASSERT_TRUE(InspectIdx(env, data).ok());
  const std::string framed =
      std::string("\x16\0\0\0\0\0\0\0", 8) + Images(1) + std::string("\x09\0\0\0\0\0\0\0", 8) + Labels({4});
  EXPECT_EQ(data.digest, ComputeSha256Hex(framed));
}

TEST(IdxFile, TrainComesBeforeTestAndBothCount) {
  MemoryEnv env;
  env.files = {{"/d/train-images-idx3-ubyte", Images(2)},
               {"/d/train-labels-idx1-ubyte", Labels({5, 6})},
               {kImages, Images(1)},
               {kLabels, Labels({7})}};
  DataSpec data = Digits();
  ASSERT_TRUE(InspectIdx(env, data).ok());
  EXPECT_EQ(data.examples, 3);
  EXPECT_THAT(LoadIdx(env, data)->labels, ::testing::ElementsAre(5, 6, 7));
  env.files[kImages] = Images(1, 3, 3);
  EXPECT_THAT(InspectIdx(env, data).message(), HasSubstr("images of 3x3, and those before are 2x3"));
}

TEST(IdxFile, PlainIsPreferredToGzipped) {
  MemoryEnv env;
  env.files = {{kImages, Images(1)}, {kLabels, Labels({4})}, {std::string(kLabels) + ".gz", "nonsense"}};
  DataSpec data = Digits();
  EXPECT_TRUE(InspectIdx(env, data).ok());
}

TEST(IdxFile, ChangedBytesAreRefusedAtLoading) {
  MemoryEnv env;
  env.files = {{kImages, Images(1)}, {kLabels, Labels({4})}};
  DataSpec data = Digits();
  ASSERT_TRUE(InspectIdx(env, data).ok());
  env.files[kLabels] = Labels({5});
  EXPECT_THAT(LoadIdx(env, data).status().message(), HasSubstr("have changed since the trial was planned"));
}

TEST(IdxFile, MissingFilesAreNamed) {
  MemoryEnv env;
  DataSpec data = Digits();
  EXPECT_THAT(InspectIdx(env, data).message(), HasSubstr("the folder /d does not exist"));
  EXPECT_EQ(InspectIdx(env, data).code(), StatusCode::environment);
  env.files = {{"/d/readme", ""}};
  EXPECT_THAT(InspectIdx(env, data).message(), HasSubstr("holds no IDX files; expected train-images-idx3-ubyte"));
  env.files = {{kImages, Images(1)}};
  EXPECT_THAT(InspectIdx(env, data).message(),
              HasSubstr("missing: /d/t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte.gz"));
}

TEST(IdxFile, TruncatedFilesAreRefused) {
  for (const std::size_t keep : {2U, 10U, 17U, 33U}) {
    EXPECT_THAT(FindRefusal(Images(3).substr(0, keep), Labels({1, 2, 3})),
                HasSubstr("t10k-images-idx3-ubyte: truncated"));
  }
  EXPECT_THAT(FindRefusal(Images(3), Labels({1, 2, 3}).substr(0, 9)), HasSubstr("t10k-labels-idx1-ubyte: truncated"));
  const std::string packed = Gzip(Images(3));
  for (std::size_t keep = 0; keep < packed.size(); ++keep) {
    EXPECT_THAT(FindRefusal(packed.substr(0, keep), Gzip(Labels({1, 2, 3})), ".gz"),
                HasSubstr("t10k-images-idx3-ubyte.gz"));
  }
}

TEST(IdxFile, TrailingBytesAreRefused) {
  EXPECT_THAT(FindRefusal(Images(3) + "x", Labels({1, 2, 3})), HasSubstr("trailing bytes"));
  EXPECT_THAT(FindRefusal(Images(3), Labels({1, 2, 3}) + "x"), HasSubstr("t10k-labels-idx1-ubyte: has trailing bytes"));
  EXPECT_THAT(FindRefusal(Gzip(Images(3) + "x"), Gzip(Labels({1, 2, 3})), ".gz"), HasSubstr("trailing bytes"));
  EXPECT_THAT(FindRefusal(Gzip(Images(3)), Gzip(Labels({1, 2, 3})) + "x", ".gz"),
              HasSubstr("bytes behind its gzip stream"));
}

TEST(IdxFile, WrongMagicIsRefused) {
  EXPECT_THAT(FindRefusal(Labels({1, 2, 3}), Labels({1, 2, 3})),
              HasSubstr("starts with 0x00000801, and an IDX file of images starts with 0x00000803"));
  EXPECT_THAT(FindRefusal(Images(3), Images(3)), HasSubstr("an IDX file of labels starts with 0x00000801"));
  EXPECT_THAT(FindRefusal(Images(3), Labels({1, 2, 3}), ".gz"), HasSubstr("not a sound gzip file"));
}

TEST(IdxFile, CountsMustAgree) {
  EXPECT_THAT(FindRefusal(Images(3), Labels({1, 2})),
              HasSubstr("holds 2 labels, and /d/t10k-images-idx3-ubyte holds 3 images"));
}

TEST(IdxFile, LabelsMustLieBelowTheClasses) {
  EXPECT_THAT(FindRefusal(Images(3), Labels({1, 10, 2})), HasSubstr("label 10 of example 1 is outside 0 to 9"));
  MemoryEnv env;
  env.files = {{kImages, Images(3)}, {kLabels, Labels({1, 10, 2})}};
  DataSpec data = Digits();
  data.classes = 11;
  EXPECT_TRUE(InspectIdx(env, data).ok());
}

TEST(IdxFile, AbsurdHeadersAreRefused) {
  EXPECT_THAT(FindRefusal(Word(0x803) + Word(0xffffffff) + Word(60000) + Word(60000), Labels({1})),
              HasSubstr("16 GiB"));
  EXPECT_THAT(FindRefusal(Word(0x803) + Word(0) + Word(28) + Word(28), Labels({1})), HasSubstr("holds no example"));
}

TEST(IdxFile, TestFilesOfNoExampleAreAsAbsentOnes) {
  const std::string bare = Word(0x803) + Word(0) + Word(2) + Word(3);
  MemoryEnv env;
  env.files = {{"/d/train-images-idx3-ubyte", Images(3)}, {"/d/train-labels-idx1-ubyte", Labels({1, 9, 0})}};
  DataSpec data = Digits();
  ASSERT_TRUE(InspectIdx(env, data).ok());
  const std::string digest = data.digest;
  env.files[kImages] = bare;
  env.files[kLabels] = Labels({});
  ASSERT_TRUE(InspectIdx(env, data).ok()) << InspectIdx(env, data).message();
  EXPECT_EQ(data.digest, digest);
  const auto loaded = LoadIdx(env, data);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(std::pair(loaded->examples, loaded->train), std::pair(std::int64_t{3}, std::int64_t{3}));
  env.files[kLabels] = Labels({4});
  EXPECT_THAT(InspectIdx(env, data).message(), HasSubstr("holds no example"));
}

TEST(IdxFile, TheDigitsOfTheProjectAreWhole) {
  DataSpec data = Digits();
  data.path = std::string(RETORT_SOURCE_DIR) + "/experiments/data/mnist10k";
  ASSERT_TRUE(InspectIdx(PosixEnv(), data).ok()) << InspectIdx(PosixEnv(), data).message();
  EXPECT_EQ(data.examples, 10000);
  EXPECT_EQ(data.height, 28);
  EXPECT_EQ(data.width, 28);
  EXPECT_EQ(data.digest, "ea4c593acbc239fbbb2f555d743c213e3c53752f0278d37549d6af5deff81d57");
  const auto loaded = LoadIdx(PosixEnv(), data);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::vector<int> counts(10);
  for (const std::uint8_t label : loaded->labels) ++counts[label];
  EXPECT_THAT(counts, ::testing::ElementsAre(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009));
}

}  // namespace
}  // namespace retort::storage
