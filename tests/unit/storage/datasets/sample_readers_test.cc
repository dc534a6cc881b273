// What `retort sample` writes, `retort data check` reads, in every format; and what is wrong with such files is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "storage/datasets/data_check.h"
#include "storage/datasets/image_set_writer.h"
#include "storage/formats/npy_file.h"
#include "storage/formats/tar_archive.h"
#include "tests/unit/storage/datasets/data_fixtures.h"

namespace retort::storage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryDirectory;

constexpr WrittenImages kFourPictures{.count = 4, .channels = 1, .height = 2, .width = 3, .classes = 10};
const std::vector<std::int64_t> kFourLabels = {9, 0, 2, 2};

void WriteFour(const std::string& format, const std::string& folder) {
  auto writer = MakeImageSetWriter(PosixEnv(), format, folder, kFourPictures);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  for (std::size_t i = 0; i < kFourLabels.size(); ++i)
    ASSERT_TRUE((*writer)->Add(std::string(6, static_cast<char>('a' + i)), kFourLabels[i]).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  Write(folder + "/sample.json", "{}");
}

struct Written {
  const char *format, *reader;
};

class WrittenFormat : public ::testing::TestWithParam<Written> {};

TEST_P(WrittenFormat, IsReadBack) {
  const TemporaryDirectory folder;
  WriteFour(GetParam().format, folder.path());
  const auto report = CheckData(PosixEnv(), SpecFor(GetParam().reader, folder.path()), {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->examples, 4);
  EXPECT_EQ(report->class_counts, (std::vector<std::int64_t>{1, 0, 2, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(report->height, 2);
  EXPECT_EQ(report->width, 3);
  EXPECT_THAT(report->damaged, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, WrittenFormat,
                         ::testing::Values(Written{"idx", "idx"}, Written{"png", "pictures"}, Written{"npz", "npz"},
                                           Written{"webdataset", "webdataset"}),
                         [](const auto& test) { return std::string(test.param.format); });

// A format that the writer learns needs its reader, and its line above.
TEST(WrittenFormats, AreAllReadBack) {
  EXPECT_THAT(ListImageSetFormats(), ElementsAre("idx", "png", "npz", "webdataset"));
}

TEST(NpzArrays, KeepOrderAndPixels) {
  const TemporaryDirectory folder;
  WriteFour("npz", folder.path());
  for (const std::string& path : {folder.path(), folder / "samples.npz"}) {
    const auto store = OpenExamples(PosixEnv(), SpecFor("npz", path));
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ((*store)->labels(), kFourLabels);
    EXPECT_EQ((*store)->channels(), 1);
    EXPECT_EQ((*store)->pixels().size(), 24U);
    EXPECT_EQ((*store)->pixels()[23], 'd');
  }
}

TEST(WebDataset, KeepsOrderAndPixels) {
  const TemporaryDirectory folder;
  WriteFour("webdataset", folder.path());
  for (const std::string& path : {folder.path(), folder / "samples-000000.tar"}) {
    const auto store = OpenExamples(PosixEnv(), SpecFor("webdataset", path));
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ((*store)->labels(), kFourLabels);
    const auto image = (*store)->Read(3);
    ASSERT_TRUE(image.ok());
    EXPECT_THAT(*image, HasSubstr("PNG"));
  }
}

std::string Shard(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string bytes;
  for (const auto& [name, contents] : members) bytes += EncodeTarMember(name, contents);
  return bytes + EncodeTarEnd();
}

// Shards begin their numbers anew where others write them.
TEST(WebDataset, ShardsMayHoldFilesOfOneName) {
  const TemporaryDirectory folder;
  Write(folder / "b.tar", Shard({{"0.jpg", Jpeg()}, {"0.cls", "7\n"}}));
  Write(folder / "a.tar", Shard({{"0.jpg", Jpeg()}, {"0.cls", "3"}, {"0.txt", "a lorikeet"}}));
  const auto store = OpenExamples(PosixEnv(), SpecFor("webdataset", folder.path()));
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->labels(), (std::vector<std::int64_t>{3, 7}));
}

TEST(WebDataset, WhatIsWrongIsNamed) {
  const auto problem = [](const std::vector<std::pair<std::string, std::string>>& members) {
    const TemporaryDirectory folder;
    Write(folder / "a.tar", Shard(members));
    return Problem("webdataset", folder.path());
  };
  EXPECT_THAT(problem({{"0.jpg", Jpeg()}}), AllOf(HasSubstr("0.jpg"), HasSubstr("0.cls beside it says its class")));
  for (const char* label : {"", "cat", "-1", "65536", "1 2"})
    EXPECT_THAT(problem({{"0.jpg", Jpeg()}, {"0.cls", label}}),
                AllOf(HasSubstr("0.cls"), HasSubstr("expected the number of a class")))
        << label;
  EXPECT_THAT(problem({{"0.jpg", Jpeg()}, {"0.cls", "1"}, {"1.cls", "1"}}),
              AllOf(HasSubstr("1.cls"), HasSubstr("a class of no picture")));
  EXPECT_THAT(problem({{"0.jpg", Jpeg()}, {"0.png", Jpeg()}, {"0.cls", "1"}}), HasSubstr("a second picture"));
  EXPECT_THAT(problem({{"a.png", Jpeg()}, {"a.cls", "1"}, {"a.x.cls", "2"}}),
              AllOf(HasSubstr("a.x.cls"), HasSubstr("a second class of one picture, beside that of a/a.cls")));
  EXPECT_THAT(problem({{"0.txt", "x"}}), HasSubstr("expected archives of NAME.png"));
}

TEST(WebDataset, DamageIsReported) {
  const TemporaryDirectory folder;
  WriteFour("webdataset", folder.path());
  std::string bytes = Bytes(folder / "samples-000000.tar");
  Write(folder / "samples-000000.tar", bytes.substr(0, 600));
  EXPECT_THAT(Problem("webdataset", folder.path()), HasSubstr("samples-000000.tar"));
  bytes[bytes.find("IDAT") + 8] ^= 1;
  Write(folder / "samples-000000.tar", bytes);
  const auto report = CheckData(PosixEnv(), SpecFor("webdataset", folder.path()), {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->damaged.size(), 1U);
}

TensorBlob Images(std::vector<std::int64_t> shape, DType type = DType::u8) {
  TensorBlob images{"images", type, std::move(shape), {}};
  std::int64_t count = 1;
  for (const std::int64_t extent : images.shape) count *= extent;
  images.bytes.assign(static_cast<std::size_t>(count) * ComputeByteSize(type), 0);
  return images;
}

TEST(NpzArrays, WhatIsWrongIsNamed) {
  const TensorBlob labels{"labels", DType::u8, {2}, {0, 1}};
  const auto problem = [](const std::vector<TensorBlob>& arrays) {
    const TemporaryDirectory folder;
    Write(folder / "samples.npz", EncodeNpz(arrays).value());
    return Problem("npz", folder.path());
  };
  EXPECT_EQ(problem({Images({2, 1, 2, 2}), labels}), "");
  EXPECT_EQ(problem({Images({2, 2, 2}), labels}), "");
  EXPECT_THAT(problem({Images({2, 1, 2, 2})}), HasSubstr("has no array \"labels\""));
  EXPECT_THAT(problem({Images({3, 1, 2, 2}), labels}), HasSubstr("not of one label for each of 3 pictures"));
  EXPECT_THAT(problem({Images({2, 4}), labels}), HasSubstr("not of bytes [n, channels, H, W]"));
  EXPECT_THAT(problem({Images({2, 1, 2, 2}, DType::f32), labels}), HasSubstr("not of bytes [n, channels, H, W]"));
  EXPECT_EQ(problem({Images({2, 3, 2, 2}), labels}), "");
  EXPECT_THAT(problem({Images({2, 28, 28, 3}), labels}),
              AllOf(HasSubstr("images is of shape [2, 28, 28, 3]"),
                    HasSubstr("images.transpose(0, 3, 1, 2) of NumPy makes it [2, 3, 28, 28]")));
  EXPECT_EQ(problem({Images({2, 3, 4, 1}), labels}), "");
  const std::vector<std::vector<std::int64_t>> others = {{2, 32, 32, 4}, {2, 4, 4, 4}, {2, 4, 4, 1}, {2, 2, 3, 3}};
  for (const std::vector<std::int64_t>& shape : others)
    EXPECT_THAT(problem({Images(shape), labels}),
                AllOf(HasSubstr("[2, " + std::to_string(shape[1]) + ", "),
                      HasSubstr("[n, channels, H, W] of 1 or 3 channels"), HasSubstr(".transpose(0, 3, 1, 2)")));
  EXPECT_THAT(problem({Images({2, 1, 2, 2}), {"labels", DType::i64, {2}, std::vector<std::uint8_t>(16, 0xff)}}),
              HasSubstr("the label of example 0 is no class number"));
  const TemporaryDirectory empty;
  EXPECT_THAT(Problem("npz", empty.path()), HasSubstr("expected one file such as samples.npz"));
}

}  // namespace
}  // namespace retort::storage
