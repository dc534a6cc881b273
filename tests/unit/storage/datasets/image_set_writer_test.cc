// Images that were written are read by the readers that others' sets have; what a format cannot hold is refused.
#include "storage/datasets/image_set_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "storage/datasets/idx_file.h"
#include "storage/formats/npy_file.h"
#include "storage/formats/tar_archive.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr WrittenImages kSet{.count = 3, .channels = 1, .height = 2, .width = 2, .classes = 11};
const std::vector<std::string> kShown = {std::string("\0\1\2\3", 4), std::string("\4\5\6\7", 4),
                                         std::string("\xff\xfe\0\1", 4)};
const std::vector<std::int64_t> kWrittenLabels = {10, 0, 2};

void WriteThree(const std::string& format, const std::string& folder) {
  auto writer = MakeImageSetWriter(PosixEnv(), format, folder, kSet);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  for (std::size_t i = 0; i < kShown.size(); ++i) ASSERT_TRUE((*writer)->Add(kShown[i], kWrittenLabels[i]).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
}

TEST(ImageSetWriter, IdxIsReadAsMnistIs) {
  const testing::TemporaryDirectory folder;
  WriteThree("idx", folder.path());
  const auto images = ParseIdxImages("i", *PosixEnv().ReadFile(folder / "train-images-idx3-ubyte"));
  const auto labels = ParseIdxLabels("l", *PosixEnv().ReadFile(folder / "train-labels-idx1-ubyte"));
  ASSERT_TRUE(images.ok() && labels.ok());
  EXPECT_EQ(std::vector<std::int64_t>({images->count, images->height, images->width}),
            std::vector<std::int64_t>({3, 2, 2}));
  EXPECT_THAT(images->pixels, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 255, 254, 0, 1));
  EXPECT_THAT(*labels, ElementsAre(10, 0, 2));
}

// torchvision.datasets.MNIST looks for all four files, and offers to fetch MNIST's in place of all when one is missing.
TEST(ImageSetWriter, IdxHasTheFourFilesOfMnist) {
  const testing::TemporaryDirectory folder;
  WriteThree("idx", folder.path());
  EXPECT_EQ(*PosixEnv().ReadFile(folder / "t10k-images-idx3-ubyte"),
            std::string("\0\0\x8\x3\0\0\0\0\0\0\0\2\0\0\0\2", 16));
  EXPECT_EQ(*PosixEnv().ReadFile(folder / "t10k-labels-idx1-ubyte"), std::string("\0\0\x8\x1\0\0\0\0", 8));
  DataSpec data;
  data.path = folder.path();
  data.classes = kSet.classes;
  ASSERT_TRUE(InspectIdx(PosixEnv(), data).ok()) << InspectIdx(PosixEnv(), data).message();
  EXPECT_EQ(data.examples, 3);
}

TEST(ImageSetWriter, NpzHoldsImagesAndLabels) {
  const testing::TemporaryDirectory folder;
  WriteThree("npz", folder.path());
  const auto file = NpzFile::Open(PosixEnv(), folder / "samples.npz");
  ASSERT_TRUE(file.ok());
  const auto images = file->Read("images"), labels = file->Read("labels");
  ASSERT_TRUE(images.ok() && labels.ok());
  EXPECT_THAT(images->shape, ElementsAre(3, 1, 2, 2));
  EXPECT_THAT(CopyValues<std::uint8_t>(*images), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 255, 254, 0, 1));
  EXPECT_THAT(CopyValues<std::int64_t>(*labels), ElementsAre(10, 0, 2));
}

TEST(ImageSetWriter, ShardsNameEachPictureAndItsClass) {
  const testing::TemporaryDirectory folder;
  WriteThree("webdataset", folder.path());
  const std::string path = folder / "samples-000000.tar";
  const auto file = PosixEnv().OpenInput(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->size() % kTarBlock, 0U);
  const auto members = ReadTarMembers(**file, path);
  ASSERT_TRUE(members.ok()) << members.status().message();
  std::vector<std::string> names;
  for (const auto& [name, member] : *members) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("00000000.cls", "00000000.png", "00000001.cls", "00000001.png", "00000002.cls",
                                 "00000002.png"));
  const TarMember label = members->at("00000000.cls");
  EXPECT_EQ(*ReadBytes(**file, label.offset, label.size), "10");
}

// Else the classes behind an empty one would have other numbers.
TEST(ImageSetWriter, EveryClassHasItsFolder) {
  const testing::TemporaryDirectory folder;
  WriteThree("png", folder.path());
  EXPECT_EQ(PosixEnv().List(folder.path())->size(), 11U);
  EXPECT_THAT(*PosixEnv().List(folder / "10"), ElementsAre("00000000.png"));
  EXPECT_THAT(*PosixEnv().List(folder / "00"), ElementsAre("00000001.png"));
  EXPECT_THAT(*PosixEnv().List(folder / "02"), ElementsAre("00000002.png"));
  EXPECT_TRUE(PosixEnv().List(folder / "01")->empty());
}

TEST(ImageSetWriter, WhatAFormatCannotHoldIsRefused) {
  WrittenImages colours = kSet;
  colours.channels = 3;
  EXPECT_THAT(CheckImageSetFormat("idx", colours).message(), HasSubstr("png, npz or webdataset"));
  EXPECT_TRUE(CheckImageSetFormat("png", colours).ok());
  WrittenImages many = kSet;
  many.classes = 257;
  EXPECT_EQ(CheckImageSetFormat("idx", many).code(), StatusCode::usage);
  WrittenImages large = kSet;
  large.count = std::int64_t{1} << 31;
  EXPECT_EQ(CheckImageSetFormat("npz", large).code(), StatusCode::usage);
  EXPECT_EQ(CheckImageSetFormat("idx", large).code(), StatusCode::usage);
  WrittenImages spectral = kSet;
  spectral.channels = 5;
  EXPECT_EQ(CheckImageSetFormat("webdataset", spectral).code(), StatusCode::usage);
  EXPECT_TRUE(CheckImageSetFormat("npz", spectral).ok());
}

TEST(ImageSetWriter, FolderThatIsNotThereIsAnError) {
  const testing::TemporaryDirectory folder;
  EXPECT_EQ(MakeImageSetWriter(PosixEnv(), "idx", folder / "none", kSet).status().code(), StatusCode::environment);
}

TEST(TarArchive, MembersFillBlocksAndFitTheirChecksum) {
  for (const std::size_t size : {0U, 1U, 512U, 513U}) {
    const std::string member = EncodeTarMember("a/b.txt", std::string(size, 'x'));
    EXPECT_EQ(member.size(), kTarBlock * (1 + (size + 511) / 512));
    EXPECT_TRUE(TarChecksumFits(member));
    EXPECT_EQ(*ParseTarNumber(std::string_view(member).substr(124, 12)), size);
  }
}

}  // namespace
}  // namespace retort::storage
