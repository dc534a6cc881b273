// Which folders of a set of images are classes and parts, and which files are told of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cstdlib>
#include <filesystem>

#include "storage/datasets/data_check.h"
#include "storage/datasets/image_folders.h"
#include "tests/unit/storage/datasets/data_fixtures.h"

namespace retort::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PictureFolders : public ::testing::Test {
 protected:
  [[nodiscard]] std::string Path(const std::string& name = "") const { return folder_.path() + "/set" + name; }
  void Add(std::initializer_list<const char*> names) {
    for (const char* name : names) Write(Path("/") + name, Jpeg());
  }
  static ExampleSet Open(const std::string& path) {
    const auto store = OpenExamples(PosixEnv(), SpecFor("pictures", path));
    EXPECT_TRUE(store.ok()) << store.status().message();
    return store.ok() ? (*store)->set() : ExampleSet();
  }
  [[nodiscard]] ExampleSet Open() const { return Open(Path()); }
  static std::vector<std::string> Parts(const ExampleSet& set) {
    std::vector<std::string> parts;
    for (const DataPart& part : set.parts) parts.push_back(part.name + " " + std::to_string(part.size()));
    return parts;
  }
  testing::TemporaryDirectory folder_;
};

TEST_F(PictureFolders, ExtraOnesBesidePartsAreNoClassesAndAreToldOf) {
  Add({"train/cat/0.jpg", "train/dog/0.jpg", "test/cat/0.jpg", "test/dog/0.jpg", "pred/a.jpg", "docs/b.png"});
  std::filesystem::create_directories(Path("/empty"));
  const auto expect = [](const ExampleSet& set) {
    EXPECT_THAT(set.class_names, ElementsAre("cat", "dog"));
    EXPECT_THAT(Parts(set), ElementsAre("train 2", "test 2"));
    ASSERT_EQ(set.warnings.size(), 1U);
    EXPECT_THAT(set.warnings[0], HasSubstr("Beside the parts train, test lie docs (1 pictures), pred (1 pictures)"));
  };
  expect(Open());
  ASSERT_EQ(std::system(("cd " + folder_.path() + " && tar -cf s.tar set && python3 -m zipfile -c s.zip set").c_str()),
            0);
  expect(Open(folder_.path() + "/s.tar"));
  expect(Open(folder_.path() + "/s.zip"));
}

TEST_F(PictureFolders, NestedClassFoldersAreNotClasses) {
  Add({"cat/indoor/0.jpg", "cat/indoor/1.jpg", "dog/indoor/0.webp"});
  std::filesystem::create_directories(Path("/eel"));
  EXPECT_THAT(Open().class_names, ElementsAre("cat", "dog", "eel"));
  Add({"cat/outdoor/0.jpg"});
  EXPECT_THAT(Open().class_names, ElementsAre("cat", "dog", "eel")) << "dog has an indoor, too";
}

TEST_F(PictureFolders, EmptyOnesBesideTheFolderOfClassesAreToldOf) {
  Add({"set/cat/0.jpg", "set/dog/0.jpg"});
  EXPECT_THAT(Open().warnings, IsEmpty());
  std::filesystem::create_directories(Path("/runs"));
  const ExampleSet set = Open();
  EXPECT_THAT(set.class_names, ElementsAre("cat", "dog"));
  ASSERT_EQ(set.warnings.size(), 1U);
  EXPECT_THAT(set.warnings[0],
              HasSubstr("looked for in set/, which alone holds pictures that are read; beside it lie runs"));
}

TEST_F(PictureFolders, PartsThatAreTakenForClassesAreToldOf) {
  const auto warning = [this] {
    const ExampleSet set = Open();
    return set.warnings.size() == 1 ? set.warnings[0] : std::to_string(set.warnings.size()) + " warnings";
  };
  Add({"seg_train/seg_train/cat/0.jpg", "seg_train/seg_train/dog/0.jpg", "seg_test/seg_test/cat/0.jpg",
       "seg_pred/seg_pred/0.jpg"});
  EXPECT_THAT(warning(), HasSubstr("Taken for classes: seg_test, seg_train, of 3 (seg_pred, seg_test, seg_train)"));
  std::filesystem::remove_all(Path());
  Add({"images/train/cat/0.jpg", "images/val/cat/0.jpg", "figures/0.jpg"});
  EXPECT_THAT(warning(), HasSubstr("Taken for classes: images, of 2 (figures, images)"));
  std::filesystem::remove_all(Path());
  Add({"bullet_train/0.jpg", "bus/0.jpg", "car/0.jpg"});
  EXPECT_THAT(Open().warnings, IsEmpty()) << "one of several is a class";
}

TEST_F(PictureFolders, FoldersInsidePartsThatLookLikeNoClassAreToldOf) {
  Add({"train/cat/0.jpg", "train/dog/0.jpg", "train/thumbs/0.jpg", "test/cat/0.jpg"});
  const ExampleSet set = Open();
  EXPECT_THAT(set.class_names, ElementsAre("cat", "dog", "thumbs"));
  ASSERT_EQ(set.warnings.size(), 1U);
  EXPECT_THAT(set.warnings[0], HasSubstr("these too: thumbs, of 3 (cat, dog, thumbs)"));
}

TEST_F(PictureFolders, BackSlashesPartTheFoldersOfAZip) {
  Add({"train/cat/0.jpg", "train/dog/0.jpg", "test/dog/0.jpg"});
  const std::string pack =
      "import os, sys, zipfile\n"
      "z = zipfile.ZipFile(sys.argv[2], 'w')\n"
      "for d, _, names in os.walk(sys.argv[1]):\n"
      "  for n in names:\n"
      "    i = zipfile.ZipInfo('x')\n"
      "    i.filename = os.path.relpath(os.path.join(d, n), sys.argv[1]).replace('/', chr(92))\n"
      "    z.writestr(i, open(os.path.join(d, n), 'rb').read())\n";
  Write(folder_.path() + "/pack.py", pack);
  ASSERT_EQ(std::system(("cd " + folder_.path() + " && python3 pack.py set s.zip").c_str()), 0);
  const ExampleSet set = Open(folder_.path() + "/s.zip");
  EXPECT_THAT(set.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(Parts(set), ElementsAre("train 2", "test 1"));
}

TEST_F(PictureFolders, ALoneTrainIsAPartBesideFoldersWithoutClasses) {
  Add({"train/cat/0.jpg", "train/dog/0.jpg", "unlabeled/a.jpg"});
  EXPECT_THAT(Parts(Open()), ElementsAre("train 2"));
}

TEST_F(PictureFolders, PartsHaveTheNamesThatPeopleGiveThem) {
  Add({"Training/cat/0.jpg", "Training/dog/0.jpg", "Testing/dog/0.jpg", "Testing/cat/0.jpg", "valid/cat/0.jpg"});
  const ExampleSet set = Open();
  EXPECT_THAT(set.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(Parts(set), ElementsAre("train 2", "validation 1", "test 2"));
  for (const char* name : {"train", "Train", "TRAINING", "training_set", "train-images", "train set"})
    EXPECT_EQ(ParsePartName(name), "train") << name;
  for (const char* name : {"trains", "untrained", "cat", "test tube", "validity", ""})
    EXPECT_EQ(ParsePartName(name), "") << name;
}

TEST_F(PictureFolders, APartPackedInAFolderOfItsNameIsOnePart) {
  Add({"training_set/training_set/cat/0.jpg", "training_set/training_set/dog/0.jpg", "test_set/test_set/cat/0.jpg",
       "test_set/test_set/dog/0.jpg"});
  EXPECT_THAT(Open().class_names, ElementsAre("cat", "dog"));
}

// As before: what a release read right keeps its digest.
TEST_F(PictureFolders, AClassCalledTrainIsAClass) {
  Add({"bus/0.jpg", "car/0.jpg", "train/0.jpg"});
  const ExampleSet set = Open();
  EXPECT_THAT(set.class_names, ElementsAre("bus", "car", "train"));
  ASSERT_EQ(set.warnings.size(), 1U);
  EXPECT_THAT(set.warnings[0], HasSubstr("Taken for classes: train, of 3 (bus, car, train)."));
}

TEST_F(PictureFolders, ClassesThatLookLikePartsAreToldOf) {
  Add({"seg_train/cat/0.jpg", "seg_train/dog/0.jpg", "seg_test/cat/0.jpg", "seg_test/dog/0.jpg"});
  const ExampleSet set = Open();
  EXPECT_THAT(set.class_names, ElementsAre("seg_test", "seg_train"));
  ASSERT_EQ(set.warnings.size(), 1U);
  EXPECT_THAT(set.warnings[0], HasSubstr("Taken for classes: seg_test, seg_train, of 2"));
}

TEST_F(PictureFolders, WhatStorageKeepsBesideFilesIsNotSeen) {
  Add({"cat/0.jpg", "dog/0.jpg", "cat/@eaDir/0.jpg/SYNOPHOTO_THUMB_M.jpg", "cat/.thumbnails/0.png", "@eaDir/x.jpg"});
  Write(Path("/cat/Thumbs.db"), "x");
  std::filesystem::create_directories(Path("/lost+found"));
  const ExampleSet set = Open();
  EXPECT_THAT(set.labels, ElementsAre(0, 1));
  EXPECT_THAT(set.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(set.warnings, IsEmpty());
  EXPECT_THAT(set.findings, IsEmpty());
}

TEST_F(PictureFolders, FilesThatAreNotReadAreCountedByKind) {
  Add({"cat/0.jpg", "dog/0.jpg", "dog/1.JFIF"});
  for (const char* name : {"cat/1.webp", "cat/2.WEBP", "dog/3.bmp", "dog/4.tiff", "dog/5.gif"})
    Write(Path("/") + name, "x");
  Write(Path("/labels.txt"), "x");
  const ExampleSet set = Open();
  EXPECT_THAT(set.labels, ElementsAre(0, 1, 1)) << "JFIF is JPEG";
  ASSERT_EQ(set.warnings.size(), 1U);
  EXPECT_THAT(set.warnings[0],
              HasSubstr("5 pictures are of kinds that are not read (2 .webp, 1 .bmp, 1 .gif, 1 .tiff)"));
  ASSERT_EQ(set.findings.size(), 1U);
  EXPECT_THAT(set.findings[0], HasSubstr("1 .txt"));
}

TEST_F(PictureFolders, ASetOfOtherKindsAloneSaysSo) {
  Write(Path("/cat/1.webp"), "x");
  EXPECT_THAT(Problem("pictures", Path()), HasSubstr("1 picture is of kinds that are not read (1 .webp)"));
}

// 16-bit grey of 10 x 10 pixels, `bright` of them above 255.
std::string WideGrey(int bright) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp to, png_bytep data, png_size_t size) {
        static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<char*>(data), size);
      },
      nullptr);
  png_set_IHDR(png, info, 10, 10, 16, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int y = 0; y < 10; ++y) {
    std::string row(20, '\0');
    for (int x = 0; x < 10; ++x) row[static_cast<std::size_t>(2 * x)] = 10 * y + x < bright ? '\1' : '\0';
    png_write_row(png, reinterpret_cast<png_const_bytep>(row.data()));
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

TEST_F(PictureFolders, GreyOfSixteenBitsThatIsClippedIsToldOf) {
  Add({"ant/0.jpg"});
  Write(Path("/cat/0.png"), WideGrey(1));
  Write(Path("/cat/1.png"), WideGrey(30));
  Write(Path("/dog/0.png"), WideGrey(2));
  ASSERT_EQ(Open().warnings.size(), 1U);
  EXPECT_THAT(Open().warnings[0], HasSubstr("30 % of its pixels lie above 255"));
  const auto report = CheckData(PosixEnv(), SpecFor("pictures", Path()), {});
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->warnings.back(), HasSubstr("2 pictures of 16-bit grey have more than 1 %"));
}

}  // namespace
}  // namespace retort::storage
