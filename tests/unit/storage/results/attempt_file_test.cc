#include "storage/results/attempt_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/results/hdf5_reader.h"
#include "storage/results/hdf5_writer.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using retort::testing::FloatBlob;
using retort::testing::SampleAttempt;
using ::testing::HasSubstr;

class AttemptFileTest : public ::testing::Test {
 protected:
  void Write(const AttemptFile& file) {
    const Status status = WriteAttemptFile(PosixEnv(), path_, file);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  AttemptFile Read() {
    auto file = ReadAttemptFile(path_);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? *file : AttemptFile();
  }
  retort::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "attempt.h5";
};

TEST_F(AttemptFileTest, EveryFieldComesBackExactly) {
  const AttemptFile written = SampleAttempt();
  Write(written);
  const AttemptFile read = Read();
  EXPECT_EQ(read.trial, written.trial);
  EXPECT_EQ(read.sweep, written.sweep);
  EXPECT_EQ(read.spec_json, written.spec_json);
  EXPECT_EQ(read.provenance_json, written.provenance_json);
  EXPECT_EQ(read.attempt, written.attempt);
  EXPECT_EQ(read.teacher_digest, written.teacher_digest);
  EXPECT_EQ(read.metrics, written.metrics);
  EXPECT_EQ(read.timings, written.timings);
  EXPECT_EQ(read.curves, written.curves);
  EXPECT_EQ(read.parameters, written.parameters);
  EXPECT_EQ(read.claims, written.claims);
  ASSERT_TRUE(read.samples && read.evaluation);
  EXPECT_EQ(read.samples->images, written.samples->images);
  EXPECT_EQ(read.samples->released, written.samples->released);
  EXPECT_EQ(read.samples->step, written.samples->step);
  EXPECT_EQ(read.samples->mean, written.samples->mean);
  EXPECT_EQ(read.samples->std, written.samples->std);
  EXPECT_EQ(read.samples->claim, written.samples->claim);
  EXPECT_EQ(read.evaluation->confusion, written.evaluation->confusion);
  EXPECT_EQ(read.evaluation->classes, written.evaluation->classes);
  EXPECT_EQ(read.evaluation->accuracy, written.evaluation->accuracy);
  EXPECT_EQ(read.evaluation->top5, written.evaluation->top5);
  EXPECT_EQ(read.evaluation->n, written.evaluation->n);
}

TEST_F(AttemptFileTest, LedgerEntriesComeBackExactly) {
  Write(SampleAttempt());
  const AttemptFile read = Read();
  ASSERT_EQ(read.ledger.size(), 1U);
  const LedgerEntry written = retort::testing::SampleLedgerEntry();
  EXPECT_EQ(read.ledger[0].id, written.id);
  EXPECT_EQ(read.ledger[0].data_digest, written.data_digest);
  EXPECT_EQ(read.ledger[0].attempt, written.attempt);
  EXPECT_EQ(read.ledger[0].generation, written.generation);
  EXPECT_EQ(read.ledger[0].state, written.state);
  EXPECT_EQ(read.ledger[0].used, written.used);
  EXPECT_EQ(privacy::EncodeEvent(read.ledger[0].event), privacy::EncodeEvent(written.event));
}

TEST_F(AttemptFileTest, WhatWasRecordedComesWithoutParametersAndClaims) {
  Write(SampleAttempt());
  const AttemptFile whole = Read();
  const Result<AttemptFile> recorded = ReadAttemptResults(path_);
  ASSERT_TRUE(recorded.ok()) << recorded.status().message();
  EXPECT_EQ(recorded->curves, whole.curves);
  ASSERT_TRUE(recorded->samples && recorded->evaluation);
  EXPECT_EQ(recorded->samples->images, whole.samples->images);
  EXPECT_EQ(recorded->evaluation->confusion, whole.evaluation->confusion);
  EXPECT_EQ(recorded->evaluation->classes, whole.evaluation->classes);
  EXPECT_TRUE(recorded->parameters.empty() && recorded->claims.empty() && recorded->ledger.empty());
}

TEST_F(AttemptFileTest, AnAttemptWithNothingToShowIsStillAFile) {
  AttemptFile bare;
  bare.trial = "0000000000000001";
  bare.attempt = 1;
  Write(bare);
  const AttemptFile read = Read();
  EXPECT_EQ(read.trial, bare.trial);
  EXPECT_EQ(read.sweep, "");
  EXPECT_TRUE(read.curves.empty() && read.parameters.empty() && read.ledger.empty() && read.claims.empty());
  EXPECT_FALSE(read.samples || read.evaluation);
}

TEST_F(AttemptFileTest, EqualAttemptsGiveEqualBytes) {
  Write(SampleAttempt());
  const std::string first = PosixEnv().ReadFile(path_).value();
  const std::vector<std::string> disturb(1000, std::string(3000, '\x5a'));
  Write(SampleAttempt());
  EXPECT_EQ(PosixEnv().ReadFile(path_).value(), first);
}

TEST_F(AttemptFileTest, ParametersAreReadByPrefixInTheirOrder) {
  Write(SampleAttempt());
  const auto names = [&](const std::string& prefix) {
    std::vector<std::string> found;
    const auto parameters = ReadParameters(path_, prefix);
    for (const TensorBlob& tensor : *parameters) found.push_back(tensor.name);
    return found;
  };
  EXPECT_EQ(names("student/"),
            (std::vector<std::string>{"student/fc2.weight", "student/fc1.bias", "student/conv1.weight"}));
  EXPECT_EQ(names("student/fc"), (std::vector<std::string>{"student/fc2.weight", "student/fc1.bias"}));
  EXPECT_EQ(names("generator/"), std::vector<std::string>{"generator/bn.num_batches_tracked"});
  EXPECT_EQ(names("teacher/"), std::vector<std::string>{});
  EXPECT_EQ(names("").size(), 4U);
}

TEST_F(AttemptFileTest, ASpecBeyond64KiBFits) {
  AttemptFile file = SampleAttempt();
  file.spec_json = "{\"toml\":\"" + std::string(300'000, 'x') + "\"}";
  Write(file);
  EXPECT_EQ(Read().spec_json, file.spec_json);
}

TEST_F(AttemptFileTest, ImagesAreChunkedOnePerImage) {
  AttemptFile file = SampleAttempt();
  file.samples->images = retort::testing::Blob<std::uint8_t>("", DType::u8, {0, 1, 2, 3}, {});
  file.samples->released = retort::testing::Blob<float>("", DType::f32, {0, 2}, {});
  file.samples->step = {};
  Write(file);
  EXPECT_EQ(Read().samples->images.shape, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST_F(AttemptFileTest, WhatContradictsItselfIsRefusedAndNothingIsWritten) {
  AttemptFile file = SampleAttempt();
  file.parameters[0].name = "curves/sneaky";
  EXPECT_EQ(WriteAttemptFile(PosixEnv(), path_, file).code(), StatusCode::refused);
  file = SampleAttempt();
  file.samples->step.pop_back();
  EXPECT_EQ(WriteAttemptFile(PosixEnv(), path_, file).code(), StatusCode::refused);
  file = SampleAttempt();
  file.evaluation->classes = 3;
  EXPECT_EQ(WriteAttemptFile(PosixEnv(), path_, file).code(), StatusCode::refused);
  EXPECT_TRUE(PosixEnv().List(folder_.path())->empty());
}

TEST_F(AttemptFileTest, AMissingFileIsNamed) {
  const auto file = ReadAttemptFile(folder_ / "absent.h5");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::environment);
  EXPECT_THAT(file.status().message(), HasSubstr("absent.h5"));
}

TEST_F(AttemptFileTest, ATruncatedFileIsDamage) {
  Write(SampleAttempt());
  const std::string bytes = PosixEnv().ReadFile(path_).value();
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{96}, bytes.size() / 2, bytes.size() - 1}) {
    ASSERT_TRUE(PosixEnv().WriteFileAtomically(path_, bytes.substr(0, size)).ok());
    const auto file = ReadAttemptFile(path_);
    ASSERT_FALSE(file.ok()) << size;
    EXPECT_EQ(file.status().code(), StatusCode::damage) << file.status().message();
    EXPECT_THAT(file.status().message(), HasSubstr("attempt.h5"));
  }
}

TEST_F(AttemptFileTest, AnyChangedByteIsDamageThatNamesTheFile) {
  Write(SampleAttempt());
  const std::string whole = PosixEnv().ReadFile(path_).value();
  for (std::size_t position = 0; position < whole.size(); position += 997) {
    std::string bytes = whole;
    bytes[position] = static_cast<char>(static_cast<unsigned char>(bytes[position]) ^ (1U << (position % 8)));
    ASSERT_TRUE(PosixEnv().WriteFileAtomically(path_, bytes).ok());
    const auto file = ReadAttemptFile(path_);
    ASSERT_FALSE(file.ok()) << position;
    EXPECT_EQ(file.status().code(), StatusCode::damage) << file.status().message();
    EXPECT_THAT(file.status().message(), HasSubstr("attempt.h5"));
  }
}

TEST_F(AttemptFileTest, AFileWithoutASealNeverReachesTheLibrary) {
  Hdf5Writer writer("unsealed");
  writer.Attribute("/", "Conventions", std::string_view("Retort-1"));
  ASSERT_TRUE(PosixEnv().WriteFileAtomically(path_, writer.Finish().value()).ok());
  const auto file = ReadAttemptFile(path_);
  EXPECT_EQ(file.status().code(), StatusCode::damage);
  EXPECT_THAT(file.status().message(), HasSubstr("seal"));
}

TEST_F(AttemptFileTest, AFileOfAnotherVersionIsAUsageErrorThatNamesBoth) {
  Hdf5Writer writer("future");
  writer.Attribute("/", "Conventions", std::string_view("Retort-2"));
  const std::string image = writer.Finish().value();
  ASSERT_TRUE(PosixEnv().WriteFileAtomically(path_, image + MakeSeal(image)).ok());
  const auto file = ReadAttemptFile(path_);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::usage);
  EXPECT_THAT(file.status().message(), HasSubstr("Retort-2"));
  EXPECT_THAT(file.status().message(), HasSubstr("Retort-1"));
}

}  // namespace
}  // namespace retort::storage
