// Each reader on files that independent tools wrote, and on damaged ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "storage/datasets/data_check.h"
#include "tests/unit/storage/datasets/data_fixtures.h"

namespace retort::storage {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryDirectory;

struct Case {
  const char* name;  // in expected.json
  const char* reader;
  const char* path;
  const char* target;
};

class Reader : public ::testing::TestWithParam<Case> {};

TEST_P(Reader, FindsWhatTheWriterWrote) {
  const auto expected = nlohmann::json::parse(Bytes(Fixture("expected.json"))).at(GetParam().name);
  const DataSpec data = SpecFor(GetParam().reader, Fixture(GetParam().path), GetParam().target);
  const auto store = OpenExamples(PosixEnv(), data);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->labels(), expected.at("labels").get<std::vector<std::int64_t>>());
  std::int64_t begin = 0;
  ASSERT_EQ((*store)->parts().size(), expected.at("parts").size());
  for (std::size_t i = 0; i < (*store)->parts().size(); ++i) {
    const DataPart& part = (*store)->parts()[i];
    EXPECT_EQ(part.name, expected.at("parts")[i][0]);
    EXPECT_EQ(part.begin, begin);
    EXPECT_EQ(part.size(), expected.at("parts")[i][1]);
    begin = part.end;
  }
  EXPECT_EQ(begin, (*store)->parts().empty() ? 0 : (*store)->size());
  if (expected.contains("sha256")) {
    const std::vector<std::int64_t> shape = {(*store)->size(), (*store)->channels(), (*store)->height(),
                                             (*store)->width()};
    EXPECT_EQ(shape, expected.at("shape").get<std::vector<std::int64_t>>());
    const auto& pixels = (*store)->pixels();
    EXPECT_EQ(ComputeSha256Hex({reinterpret_cast<const char*>(pixels.data()), pixels.size()}), expected.at("sha256"));
  } else {
    EXPECT_TRUE((*store)->encoded());
    EXPECT_EQ((*store)->height(), 10);
    EXPECT_EQ((*store)->width(), 12);
  }
}

TEST_P(Reader, ReportCountsEveryExampleOnce) {
  const DataSpec data = SpecFor(GetParam().reader, Fixture(GetParam().path), GetParam().target);
  const auto report = CheckData(PosixEnv(), data, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  std::int64_t sum = 0;
  for (const std::int64_t count : report->class_counts) sum += count;
  EXPECT_EQ(sum, report->examples);
  EXPECT_TRUE(report->damaged.empty());
  EXPECT_EQ(report->digests.content.size(), 64U);
}

INSTANTIATE_TEST_SUITE_P(
    All, Reader,
    ::testing::Values(Case{"cifar10", "cifar10", "cifar10-binary", ""},
                      Case{"cifar10", "cifar10", "cifar10-packed", ""},
                      Case{"cifar10", "cifar10", "cifar10-packed/cifar-10-python.tar.gz", ""},
                      Case{"cifar100-fine", "cifar100", "cifar100-python", "fine"},
                      Case{"cifar100-coarse", "cifar100", "cifar100-python", "coarse"},
                      Case{"svhn", "svhn", "svhn", ""}, Case{"pathmnist", "medmnist", "pathmnist.npz", ""},
                      Case{"celeba-gender", "celeba", "celeba", "gender"},
                      Case{"celeba-hair", "celeba", "celeba", "hair"}, Case{"covidx", "covidx", "covidx", ""},
                      Case{"tiny-imagenet", "tiny-imagenet", "tiny-imagenet-200.zip", ""},
                      Case{"imagenet", "imagenet", "imagenet", ""}, Case{"pictures", "pictures", "pictures.tar", ""},
                      Case{"samples", "npz", "samples.npz", ""}, Case{"shards", "webdataset", "shards", ""}),
    [](const auto& test) {
      std::string name = std::string(test.param.name) + "_" + test.param.path;
      for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      return name;
    });

DataDigests Digests(const std::string& reader, const std::string& path, const std::string& target = "") {
  const DataSpec data = SpecFor(reader, path, target);
  const auto store = OpenExamples(PosixEnv(), data);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? ComputeDataDigests(PosixEnv(), data, **store, {}).value() : DataDigests();
}

// The same JPEG in every file.
void WriteImage(const std::string& path) { Write(path, Jpeg()); }

std::vector<std::int64_t> LabelsIn(const std::string& path, const std::string& reader = "pictures") {
  const auto store = OpenExamples(PosixEnv(), SpecFor(reader, path));
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? (*store)->labels() : std::vector<std::int64_t>();
}

TEST(ClassFolders, OneWithoutPicturesKeepsItsNumberAndIsToldOf) {
  const TemporaryDirectory folder;
  WriteImage(folder.path() + "/ant/0.jpg");
  WriteImage(folder.path() + "/dog/0.jpg");
  Write(folder.path() + "/cat/0.webp", "RIFF");
  std::filesystem::create_directories(folder.path() + "/bee");
  EXPECT_EQ(LabelsIn(folder.path()), (std::vector<std::int64_t>{0, 3}));
  DataSpec data = SpecFor("pictures", folder.path());
  DataNotes notes;
  ASSERT_TRUE(InspectData(PosixEnv(), data, {}, &notes).ok());
  EXPECT_EQ(data.classes, 4);
  EXPECT_EQ(notes.class_names, (std::vector<std::string>{"ant", "bee", "cat", "dog"}));
  EXPECT_THAT(notes.warnings.back(),
              HasSubstr("2 of 4 classes hold no picture that is read: bee (number 1), cat (number 2)"));
}

TEST(ClassFolders, OnesOfAnIndexFileAreThoseThatItNumbers) {
  const TemporaryDirectory folder;
  WriteImage(folder.path() + "/ant/0.jpg");
  WriteImage(folder.path() + "/dog/0.jpg");
  std::filesystem::create_directories(folder.path() + "/bee");
  Write(folder.path() + "/class-index.csv", "0,ant\n1,dog\n");
  EXPECT_EQ(LabelsIn(folder.path()), (std::vector<std::int64_t>{0, 1}));
}

TEST(ClassFolders, EmptyOnesOfArchivesCountWhereTheyHaveAnEntry) {
  const TemporaryDirectory folder;
  WriteImage(folder.path() + "/set/ant/0.jpg");
  WriteImage(folder.path() + "/set/dog/0.jpg");
  std::filesystem::create_directories(folder.path() + "/set/cat");
  ASSERT_EQ(
      std::system(("cd " + folder.path() + " && tar -cf set.tar set && python3 -m zipfile -c set.zip set").c_str()), 0);
  EXPECT_EQ(LabelsIn(folder.path() + "/set.tar"), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(LabelsIn(folder.path() + "/set.zip"), (std::vector<std::int64_t>{0, 2}));
}

TEST(ClassFolders, EmptyWnidsOfImageNetKeepTheirNumbers) {
  const TemporaryDirectory folder;
  WriteImage(folder.path() + "/train/n01440764/0.JPEG");
  WriteImage(folder.path() + "/train/n01484850/0.JPEG");
  std::filesystem::create_directories(folder.path() + "/train/n01443537");
  std::filesystem::create_directories(folder.path() + "/train/notes");
  EXPECT_EQ(LabelsIn(folder.path(), "imagenet"), (std::vector<std::int64_t>{0, 2}));
}

// As editors on Windows save it.
void SaveWithMark(const std::string& path) {
  std::string text = "\xEF\xBB\xBF";
  for (const char c : Bytes(path)) text += c == '\n' ? "\r\n" : std::string(1, c);
  Write(path, text);
}

TEST(Lists, WithAByteOrderMarkAndCarriageReturnsSayTheSame) {
  const struct {
    const char *reader, *fixture;
    std::vector<std::string> lists;
  } cases[] = {{"celeba", "celeba", {"list_attr_celeba.txt", "list_eval_partition.txt"}},
               {"covidx", "covidx", {"train_COVIDx9B.txt", "test_COVIDx9B.txt"}},
               {"imagenet",
                "imagenet",
                {"LOC_val_solution.csv", "imagenet_2012_validation_synset_labels.txt", "val_map.txt",
                 "ILSVRC2012_validation_ground_truth.txt", "class-index.csv"}},
               {"tiny-imagenet", "tiny-imagenet-200.zip", {"val_annotations.txt", "wnids.txt"}}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.fixture);
    const TemporaryDirectory folder;
    const auto tree = OpenFileTree(PosixEnv(), Fixture(one.fixture)).value();
    std::size_t saved = 0;
    for (const TreeFile& file : tree->files()) {
      const std::string path = folder.path() + "/" + file.name;
      Write(path, tree->Read(file).value());
      const std::string name = path.substr(path.rfind('/') + 1);
      if (std::find(one.lists.begin(), one.lists.end(), name) == one.lists.end()) continue;
      SaveWithMark(path);
      ++saved;
    }
    EXPECT_GT(saved, 0U);
    EXPECT_EQ(LabelsIn(folder.path(), one.reader), LabelsIn(Fixture(one.fixture), one.reader));
  }
}

TEST(Lists, OfClassesAreNotPassedOverForTheirMark) {
  const TemporaryDirectory folder;
  WriteImage(folder.path() + "/ant/0.jpg");
  WriteImage(folder.path() + "/dog/0.jpg");
  Write(folder.path() + "/class-index.csv",
        "\xEF\xBB\xBF"
        "1,ant\r\n0,dog\r\n");
  EXPECT_EQ(LabelsIn(folder.path()), (std::vector<std::int64_t>{1, 0}));
  for (const char* text :
       {"1,ant \n0,dog\t\n", "\n\nindex,name\n\n1, ant\n 0 ,dog\n", "1,\"ant\"\r\r\n0,\"dog\",more\r\r\n"}) {
    Write(folder.path() + "/class-index.csv", text);
    EXPECT_EQ(LabelsIn(folder.path()), (std::vector<std::int64_t>{1, 0})) << text;
  }
  Write(folder.path() + "/class-index.csv", std::string("1\0,\0a\0", 6));
  EXPECT_THAT(Problem("pictures", folder.path()), HasSubstr("save it as UTF-8"));
  Write(folder.path() + "/class-index.csv", std::string("\xFF\xFE"
                                                        "1\0,\0",
                                                        6));
  EXPECT_THAT(Problem("pictures", folder.path()), HasSubstr("UTF-16"));
}

// The digests of releases before folders without images were counted.
TEST(DataDigest, OfSetsWithoutEmptyFoldersStays) {
  EXPECT_EQ(Digests("pictures", Fixture("pictures.tar")).content,
            "275326d22b1b28de3f00826ab79916064f79b5a65f4df4a5fb06c1fd43bc149c");
  EXPECT_EQ(Digests("imagenet", Fixture("imagenet")).content,
            "c1dded4885e9666e3cbd5e0247128de74b9e4b481900458c32be29d30bae7997");
  EXPECT_EQ(Digests("tiny-imagenet", Fixture("tiny-imagenet-200.zip")).content,
            "3a56ef95a746bc4377c6e134966ba492cb84c88ce6c40e6b4b43a5a8a3675f93");
}

// Beyond a tick of the file system's clock, within which a change may leave no trace.
void Settle() { std::this_thread::sleep_for(std::chrono::milliseconds(25)); }

// Writes as much into the same file as it held, and puts its time back.
void Exchange(const std::string& path, const std::string& bytes) {
  const auto time = std::filesystem::last_write_time(path);
  ASSERT_EQ(std::filesystem::file_size(path), bytes.size());
  Write(path, bytes);
  std::filesystem::last_write_time(path, time);
}

TEST(DataDigest, CountedBeforeForOtherLabelsIsNotTakenFromTheCache) {
  const TemporaryDirectory folder, cache;
  WriteImage(folder.path() + "/ant/0.jpg");
  WriteImage(folder.path() + "/dog/0.jpg");
  Write(folder.path() + "/class-index.csv", "0,ant\n1,dog\n");
  Settle();
  DataSpec data = SpecFor("pictures", folder.path());
  data.classes = 2;
  const auto digest = [&] {
    const auto store = OpenExamples(PosixEnv(), data);
    return ComputeDataDigests(PosixEnv(), data, **store, {cache.path()}).value().content;
  };
  const std::string first = digest();
  EXPECT_EQ(digest(), first);
  Exchange(folder.path() + "/class-index.csv", "1,ant\n0,dog\n");
  EXPECT_NE(digest(), first);
}

TEST(DataDigest, SeesReplacedFilesOfTheSameTimes) {
  const TemporaryDirectory folder, cache;
  WriteImage(folder.path() + "/ant/0.jpg");
  const std::string one = Bytes(folder.path() + "/ant/0.jpg");
  std::string other = one;
  other[other.size() - 3] = static_cast<char>(other[other.size() - 3] ^ 1);
  Write(folder.path() + "/dog/0.jpg", other);
  Settle();
  const DataSpec data = SpecFor("pictures", folder.path());
  const auto digest = [&] {
    const auto store = OpenExamples(PosixEnv(), data);
    return ComputeDataDigests(PosixEnv(), data, **store, {cache.path()}).value().content;
  };
  const std::string first = digest();
  Exchange(folder.path() + "/ant/0.jpg", other);
  Exchange(folder.path() + "/dog/0.jpg", one);
  EXPECT_NE(digest(), first);
}

TEST(DataDigest, IsCountedAnewByACheck) {
  const TemporaryDirectory folder, cache;
  WriteImage(folder.path() + "/ant/0.jpg");
  Settle();
  const DataSpec data = SpecFor("pictures", folder.path());
  const std::string right = CheckData(PosixEnv(), data, {cache.path()})->digests.content;
  const auto entry = std::filesystem::directory_iterator(cache.path())->path().string();
  const std::string digits(64, 'a'), text = "retort-digests-1 " + digits + " " + digits + " ";
  Write(entry, text + ComputeSha256Hex(text) + "\n");
  EXPECT_EQ(CheckData(PosixEnv(), data, {cache.path()})->digests.content, right);
  EXPECT_EQ(ComputeDataDigests(PosixEnv(), data, **OpenExamples(PosixEnv(), data), {cache.path()})->content, right)
      << "and what the cache said is replaced";
}

TEST(DataDigest, IsThatOfTheExamplesHoweverPacked) {
  const DataDigests binary = Digests("cifar10", Fixture("cifar10-binary"));
  EXPECT_EQ(binary.content, Digests("cifar10", Fixture("cifar10-packed")).content);
  const TemporaryDirectory folder;
  const auto tree = OpenFileTree(PosixEnv(), Fixture("pictures.tar")).value();
  for (const TreeFile& file : tree->files()) Write(folder.path() + "/" + file.name, tree->Read(file).value());
  EXPECT_EQ(Digests("pictures", folder.path()).content, Digests("pictures", Fixture("pictures.tar")).content);
  // Packed together with the folder that holds them, or not.
  const TemporaryDirectory deeper;
  std::filesystem::create_directories(deeper.path() + "/a");
  std::filesystem::copy(Fixture("covidx"), deeper.path() + "/a/b", std::filesystem::copy_options::recursive);
  EXPECT_EQ(Digests("covidx", deeper.path()).content, Digests("covidx", Fixture("covidx")).content);
}

TEST(DataDigest, LabelsTellSetsApartAndExamplesDoNot) {
  const DataDigests fine = Digests("cifar100", Fixture("cifar100-python"), "fine");
  const DataDigests coarse = Digests("cifar100", Fixture("cifar100-python"), "coarse");
  EXPECT_NE(fine.content, coarse.content);
  EXPECT_EQ(fine.examples, coarse.examples);
  EXPECT_EQ(Digests("celeba", Fixture("celeba"), "gender").examples,
            Digests("celeba", Fixture("celeba"), "hair").examples)
      << "pictures without hair class are examples, too";
}

TEST(DataDigest, TellsOfTheEndWhoeverReadTheLastFile) {
  const DataSpec data = SpecFor("celeba", Fixture("celeba"));
  const auto store = OpenExamples(PosixEnv(), data);
  ASSERT_TRUE(store.ok());
  std::vector<std::int64_t> told;
  const auto slow = [&told](std::int64_t done, std::int64_t of) {
    told.push_back(done);
    EXPECT_EQ(of, 6);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // in which others read the rest
    return Status();
  };
  ASSERT_TRUE(ComputeDataDigests(PosixEnv(), data, **store, {}, slow).ok());
  EXPECT_EQ(told.back(), 6);
  EXPECT_EQ(std::count(told.begin(), told.end(), 6), 1);
}

TEST(DataDigest, CacheServesUnchangedFilesOnly) {
  const TemporaryDirectory folder, cache;
  std::filesystem::copy(Fixture("covidx"), folder.path() + "/set", std::filesystem::copy_options::recursive);
  const DataSpec data = SpecFor("covidx", folder.path() + "/set");
  const DigestCache digests{cache.path()};
  const auto digest = [&] {
    return ComputeDataDigests(PosixEnv(), data, *OpenExamples(PosixEnv(), data).value(), digests)->content;
  };
  const std::string first = digest();
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator(cache.path()), {}), 1);
  const std::string entry = std::filesystem::directory_iterator(cache.path())->path().string();
  EXPECT_EQ(digest(), first);
  std::string text = Bytes(entry);
  text[20] = text[20] == 'a' ? 'b' : 'a';
  Write(entry, text);
  EXPECT_EQ(digest(), first) << "a damaged entry is not believed";
  const std::string image = folder.path() + "/set/train/a.png";
  const auto time = std::filesystem::last_write_time(image);
  std::string bytes = Bytes(image);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] + 1);
  Write(image, bytes);
  std::filesystem::last_write_time(image, time + std::chrono::seconds(1));
  EXPECT_NE(digest(), first);
}

TEST(Cifar, DamagedFilesAreNamedWithTheByte) {
  const TemporaryDirectory folder;
  std::filesystem::copy(Fixture("cifar10-binary"), folder.path() + "/set");
  const std::string batch = folder.path() + "/set/data_batch_3.bin";
  const std::string bytes = Bytes(batch);
  Write(batch, bytes.substr(0, 5000));
  EXPECT_THAT(Problem("cifar10", folder.path() + "/set"), HasSubstr("data_batch_3.bin: truncated at byte 5000"));
  Write(batch, '\x0a' + bytes.substr(1));
  EXPECT_THAT(Problem("cifar10", folder.path() + "/set"), HasSubstr("at byte 0: label 10 is outside 0 to 9"));
  std::filesystem::remove(batch);
  EXPECT_THAT(Problem("cifar10", folder.path() + "/set"), HasSubstr("set/data_batch_3.bin is missing"));
}

TEST(Cifar, PickleThatCallsSomethingIsRefusedAndNamed) {
  const TemporaryDirectory folder;
  const std::string hostile =
      "\x80\x02"
      "cposix\nsystem\nU\x04true\x85R.";
  for (const char* name : {"train", "test"}) Write(folder.path() + "/" + name, hostile);
  EXPECT_THAT(Problem("cifar100", folder.path()), HasSubstr("at byte 2: the pickle asks for \"posix system\""));
}

TEST(Svhn, DamageIsNamed) {
  const TemporaryDirectory folder;
  std::filesystem::copy(Fixture("svhn"), folder.path() + "/set");
  const std::string train = folder.path() + "/set/train_32x32.mat", bytes = Bytes(train);
  Write(train, bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(Problem("svhn", folder.path() + "/set"), HasSubstr("train_32x32.mat: at byte 128"));
  Write(train, "\x89HDF\r\n\x1a\n" + bytes);
  EXPECT_THAT(Problem("svhn", folder.path() + "/set"), HasSubstr("save(..., '-v7')"));
  std::filesystem::remove(train);
  EXPECT_THAT(Problem("svhn", folder.path() + "/set"), HasSubstr("train_32x32.mat is missing"));
}

TEST(CelebA, WrongListsAreNamedWithTheLine) {
  const TemporaryDirectory folder;
  std::filesystem::copy(Fixture("celeba"), folder.path() + "/set", std::filesystem::copy_options::recursive);
  const std::string list = folder.path() + "/set/list_attr_celeba.txt", text = Bytes(list);
  Write(list, "7" + text.substr(1));
  EXPECT_THAT(Problem("celeba", folder.path() + "/set"), HasSubstr("line 1: says \"7\" pictures, and 6 lines follow"));
  std::string wrong = text;
  wrong.replace(wrong.find("-1"), 2, " 0");
  Write(list, wrong);
  EXPECT_THAT(Problem("celeba", folder.path() + "/set", "hair"), HasSubstr("list_attr_celeba.txt: line 3"));
  Write(list, text);
  std::filesystem::remove(folder.path() + "/set/img_align_celeba/000003.jpg");
  EXPECT_THAT(Problem("celeba", folder.path() + "/set"), HasSubstr("img_align_celeba/000003.jpg is missing"));
}

TEST(Covidx, AnotherVersionIsToldFromTheLists) {
  DataSpec data = SpecFor("covidx", Fixture("covidx"));
  data.version = "9A";
  EXPECT_THAT(OpenExamples(PosixEnv(), data).status().message(),
              HasSubstr("train_COVIDx9A.txt is missing; there is labels/train_COVIDx9B.txt: set version"));
}

TEST(ImageNet, MissingValidationPicturesAreAFinding) {
  const auto report = CheckData(PosixEnv(), SpecFor("imagenet", Fixture("imagenet")), {});
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->findings, ::testing::Contains(HasSubstr(
                                    "Validation has 3 pictures; the published set has 50000: the first missing is "
                                    "ILSVRC2012_val_00000004.JPEG")));
}

TEST(Pictures, DamagedOnesAreListedWithNameAndByte) {
  const TemporaryDirectory folder;
  std::filesystem::copy(Fixture("covidx"), folder.path() + "/set", std::filesystem::copy_options::recursive);
  const std::string png = folder.path() + "/set/train/a.png", jpeg = folder.path() + "/set/test/c.jpeg";
  std::string bytes = Bytes(png);
  bytes[60] = static_cast<char>(bytes[60] + 1);
  Write(png, bytes);
  Write(jpeg, Bytes(jpeg).substr(0, 500));
  const auto report = CheckData(PosixEnv(), SpecFor("covidx", folder.path() + "/set"), {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(report->damaged,
              ::testing::UnorderedElementsAre(HasSubstr("train/a.png: at byte 33 of the picture: the checksum"),
                                              HasSubstr("test/c.jpeg: at byte 426 of the picture: truncated")));
}

TEST(Pictures, ABrokenFirstOneIsSkippedWhereTheSizeIsGiven) {
  const TemporaryDirectory folder;
  std::filesystem::copy(Fixture("covidx"), folder.path() + "/set", std::filesystem::copy_options::recursive);
  Write(folder.path() + "/set/train/a.png", "no picture");
  DataSpec data = SpecFor("covidx", folder.path() + "/set");
  EXPECT_FALSE(OpenExamples(PosixEnv(), data).ok());
  data.preprocessing = {.resize = 40, .crop = 32, .on_error = OnError::skip_and_count};
  data.height = data.width = 32;
  const auto store = OpenExamples(PosixEnv(), data);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->height(), 32);
}

TEST(Reader, UnknownNamesNameTheNearest) {
  EXPECT_THAT(Problem("cifar", "/nowhere"),
              HasSubstr("There is no reader \"cifar\"; nearest first, there are cifar10"));
  EXPECT_THAT(Problem("cifar10", "/nowhere"), HasSubstr("/nowhere does not exist"));
}

// The images that this machine may have; said to be skipped where it does not.
TEST(Pictures, OfCifarInATarAreRead) {
  const char* path = std::getenv("RETORT_TEST_CIFAR_TAR");
  if (path == nullptr) GTEST_SKIP() << "RETORT_TEST_CIFAR_TAR does not name cifar10-22k.tar";
  const auto store = OpenExamples(PosixEnv(), SpecFor("pictures", path));
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->classes(), 10);
  ASSERT_EQ((*store)->parts().size(), 2U);
  EXPECT_EQ((*store)->parts()[0].size(), 20000);
  EXPECT_EQ((*store)->parts()[1].size(), 2000);
  EXPECT_EQ((*store)->height(), 32);
}

}  // namespace
}  // namespace retort::storage
