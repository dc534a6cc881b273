#include "storage/results/hdf5_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <string>

#include "storage/results/attempt_file.h"
#include "storage/results/hdf5_reader.h"
#include "storage/results/hdf5_writer.h"
#include "tests/testing/hostile_hdf5.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using retort::testing::HostileFile;
using ::testing::HasSubstr;

constexpr std::size_t kDepth = 20'000;

class HostileHdf5Test : public ::testing::Test {
 protected:
  HostileHdf5Test() {
    EXPECT_TRUE(PosixEnv().WriteFileAtomically(secret_, "sixteen letters!").ok());
    files_ = retort::testing::HostileFiles(folder_.path(), secret_, kDepth);
  }
  void Put(const std::string& bytes) { ASSERT_TRUE(PosixEnv().WriteFileAtomically(path_, bytes).ok()); }

  retort::testing::TemporaryDirectory folder_;
  std::string secret_ = folder_ / "secret", path_ = folder_ / "attempt.h5";
  std::vector<HostileFile> files_;
};

TEST_F(HostileHdf5Test, EveryKindIsDamageThatNamesTheFileAndTheReason) {
  ASSERT_GE(files_.size(), 20U);
  for (const HostileFile& hostile : files_) {
    Put(hostile.bytes);
    const auto file = ReadAttemptFile(path_);
    ASSERT_FALSE(file.ok()) << hostile.kind;
    EXPECT_EQ(file.status().code(), StatusCode::damage) << hostile.kind << ": " << file.status().message();
    EXPECT_THAT(file.status().message(), HasSubstr("attempt.h5")) << hostile.kind;
    EXPECT_THAT(file.status().message(), HasSubstr(hostile.reason)) << hostile.kind;
  }
}

TEST_F(HostileHdf5Test, NoParameterComesFromAnyOfThem) {
  for (const HostileFile& hostile : files_) {
    Put(hostile.bytes);
    EXPECT_FALSE(ReadParameters(path_, "student/").ok()) << hostile.kind;
  }
}

TEST_F(HostileHdf5Test, AResultFileLinksToAttemptsBesideItAlone) {
  const auto write = [&](const std::string& link, const std::string& file, const std::string& object) {
    Hdf5Writer writer("results");
    writer.ExternalLink(link, file, object);
    Put(writer.Finish().value());
    return Hdf5Reader::OpenResultFile(path_);
  };
  const std::string link = "/attempts/1f3a9c2e00000001", file = "trials/a-1f3a9c2e00000001/attempt-2/attempt.h5";
  ASSERT_TRUE(write(link, file, "/").ok());
  EXPECT_TRUE(write(link, file, "/")->Has(link));
  EXPECT_FALSE(write(link, "/etc/passwd", "/").ok());
  EXPECT_FALSE(write(link, "../trials/a/attempt-2/attempt.h5", "/").ok());
  EXPECT_FALSE(write(link, "trials/../attempt-2/attempt.h5", "/").ok());
  EXPECT_FALSE(write(link, "trials/a/b/attempt-2/attempt.h5", "/").ok());
  EXPECT_FALSE(write(link, file, "/student").ok());
  EXPECT_FALSE(write("/claims", file, "/").ok());
  EXPECT_FALSE(write("/attempts/" + std::string(16, 'g'), file, "/").ok());
}

TEST_F(HostileHdf5Test, APipeIsNotWaitedForAndAFolderIsNoFile) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const auto piped = ReadAttemptFile(path_);
  EXPECT_THAT(piped.status().message(), HasSubstr("plain file"));
  EXPECT_THAT(Hdf5Reader::OpenResultFile(folder_.path()).status().message(), HasSubstr("plain file"));
}

class Hdf5TreeTest : public ::testing::Test {
 protected:
  static Hdf5Reader Reread(Hdf5Writer& writer) {
    bytes() = writer.Finish().value();
    auto reader = Hdf5Reader::OpenView(bytes(), "image");
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    return std::move(reader).value();
  }
  static std::string& bytes() {
    static std::string held;
    return held;
  }
};

// More than eight attributes lie in a heap that is indexed by a tree, large ones beside it.
TEST_F(Hdf5TreeTest, AttributesComeBackHoweverManyAndLarge) {
  for (const std::size_t count : {7U, 9U, 40U, 700U, 5'000U}) {
    Hdf5Writer writer("attributes");
    const auto value = [](std::size_t i) {
      return std::string(1 + i % 97 * (i % 5 == 0 ? 71 : 1), static_cast<char>('a' + i % 26));
    };
    for (std::size_t i = 0; i < count; ++i) writer.Attribute("/", "a" + std::to_string(i), value(i));
    writer.Attribute("/", "large", std::string(300'000, 'x'));
    const Hdf5Reader reader = Reread(writer);
    const auto all = reader.TextAttributes("/").value();
    ASSERT_EQ(all.size(), count + 1);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(all.at("a" + std::to_string(i)), value(i)) << count;
    EXPECT_EQ(all.at("large").size(), 300'000U);
  }
}

TEST_F(Hdf5TreeTest, ObjectsComeBackHoweverMany) {
  for (const std::size_t count : {1U, 9U, 33U, 300U, 5'000U}) {
    Hdf5Writer writer("objects");
    for (std::size_t i = 0; i < count; ++i) {
      writer.Dataset("/many/d" + std::to_string(i), std::vector<double>{static_cast<double>(i)});
      writer.ExternalLink("/elsewhere/l" + std::to_string(i), "f", "/");
    }
    const std::string image = writer.Finish().value();
    EXPECT_FALSE(ReadHdf5Tree(image, "objects", Hdf5Outside::refused).ok());
    Hdf5Writer inside("objects");
    for (std::size_t i = 0; i < count; ++i)
      inside.Dataset("/many/d" + std::to_string(i), std::vector<double>{static_cast<double>(i)});
    const Hdf5Reader reader = Reread(inside);
    EXPECT_EQ(reader.DatasetsBelow("/many").size(), count);
    const TensorBlob last = reader.Dataset("/many/d" + std::to_string(count - 1)).value();
    EXPECT_EQ(last, retort::testing::Blob<double>("", DType::f64, {1}, {static_cast<double>(count - 1)}));
  }
}

TEST_F(Hdf5TreeTest, LinksToAttemptsComeBackHoweverMany) {
  for (const std::size_t count : {1U, 9U, 300U, 5'000U}) {
    Hdf5Writer writer("links");
    const auto trial = [](std::size_t i) {
      std::string text = std::to_string(i);
      return std::string(16 - text.size(), '0') + text;
    };
    for (std::size_t i = 0; i < count; ++i)
      writer.ExternalLink("/attempts/" + trial(i), "trials/t-" + trial(i) + "/attempt-1/attempt.h5", "/");
    const std::string image = writer.Finish().value();
    const auto tree = ReadHdf5Tree(image, "links", Hdf5Outside::attempts);
    ASSERT_TRUE(tree.ok()) << tree.status().message();
    ASSERT_EQ(tree->outside.size(), count);
    EXPECT_EQ(tree->outside.at("/attempts/" + trial(count - 1)),
              "trials/t-" + trial(count - 1) + "/attempt-1/attempt.h5");
  }
}

TEST_F(Hdf5TreeTest, TablesAndPicturesOfManyChunksComeBack) {
  for (const std::int64_t rows : {0, 1, 70, 4'000, 60'000}) {
    Hdf5Writer writer("chunks");
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows));
    std::vector<std::string> texts(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<std::int64_t>(i * i);
      texts[i] = "row " + std::to_string(i);
    }
    writer.CompoundTable("/t", {{"number", numbers}, {"text", texts}});
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(rows * 6));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
    const TensorBlob images = retort::testing::Blob<std::uint8_t>("", DType::u8, {rows, 2, 3}, pixels);
    writer.Dataset("/p", images, {1, 2, 3});
    const Hdf5Reader reader = Reread(writer);
    const Table table = reader.CompoundTable("/t").value();
    EXPECT_EQ(FindColumn<std::int64_t>(table, "number").value(), numbers);
    EXPECT_EQ(FindColumn<std::string>(table, "text").value(), texts);
    EXPECT_EQ(reader.Dataset("/p").value(), images);
  }
}

TEST_F(Hdf5TreeTest, AttributesOfNumbersComeBack) {
  Hdf5Writer writer("numbers");
  writer.Attribute("/", "one", 0.5);
  writer.Attribute("/", "some", std::vector<double>{1, 2, 3});
  writer.Attribute("/", "whole", std::int64_t{-7});
  const Hdf5Reader reader = Reread(writer);
  EXPECT_EQ(reader.NumberAttribute("/", "one").value(), 0.5);
  EXPECT_EQ(reader.NumbersAttribute("/", "some").value(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(reader.IntegerAttribute("/", "whole").value(), -7);
  EXPECT_FALSE(reader.NumberAttribute("/", "some").ok());
  EXPECT_FALSE(reader.IntegerAttribute("/", "one").ok());
  EXPECT_FALSE(reader.TextAttribute("/", "one").ok());
}

}  // namespace
}  // namespace retort::storage
