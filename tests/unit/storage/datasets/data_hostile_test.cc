// Archives and files that somebody made to do harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "storage/files/env.h"
#include "storage/formats/deflate.h"
#include "storage/formats/mat_file.h"
#include "storage/formats/pickle.h"
#include "storage/formats/zip_archive.h"
#include "storage/images/image_scan.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/unit/storage/datasets/data_fixtures.h"
#include "tests/unit/storage/datasets/gzip.h"

namespace retort::storage {
namespace {

using testing::FaultInjectionEnv;
using ::testing::HasSubstr;

std::string Octal(std::uint64_t value, std::size_t width) {
  std::string digits(width - 1, '0');
  for (std::size_t i = digits.size(); i > 0; --i, value /= 8) digits[i - 1] = static_cast<char>('0' + value % 8);
  return digits + '\0';
}

std::string Summed(std::string header) {
  header.replace(148, 8, "        ");
  std::uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 8, Octal(sum, 7) + " ");
  return header;
}

std::string TarHeader(const std::string& name, std::uint64_t size, char type) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(124, 12, Octal(size, 12));
  header[156] = type;
  header.replace(257, 6, std::string("ustar\0", 6));
  return Summed(std::move(header));
}

std::string MakeTar(const std::string& name, const std::string& bytes, char type = '0') {
  std::string tar = TarHeader(name, bytes.size(), type) + bytes;
  tar.resize((tar.size() + 511) / 512 * 512);
  return tar + std::string(1024, '\0');
}

Status Opened(const std::string& bytes, const std::string& name = "set.tar") {
  FaultInjectionEnv env;
  env.Put(name, bytes);
  return OpenFileTree(env, name).status();
}

TEST(Tar, NamesThatLeadOutsideAreRefusedByName) {
  EXPECT_THAT(Opened(MakeTar("../evil.jpg", "x")).message(), HasSubstr("\"../evil.jpg\" leads outside by \"..\""));
  EXPECT_THAT(Opened(MakeTar("a/../../b.jpg", "x")).message(), HasSubstr("leads outside"));
  EXPECT_THAT(Opened(MakeTar("/etc/passwd", "x")).message(), HasSubstr("\"/etc/passwd\" is absolute"));
  EXPECT_EQ(Opened(MakeTar("/etc/passwd", "x")).code(), StatusCode::refused);
}

TEST(Tar, LinksDevicesAndSparseFilesAreRefused) {
  EXPECT_THAT(Opened(MakeTar("a.jpg", "", '2')).message(), HasSubstr("\"a.jpg\" is a link"));
  EXPECT_THAT(Opened(MakeTar("a.jpg", "", '1')).message(), HasSubstr("is a link"));
  EXPECT_THAT(Opened(MakeTar("a.jpg", "", '6')).message(), HasSubstr("is a device or a pipe"));
  EXPECT_THAT(Opened(MakeTar("a.jpg", "x", 'S')).message(), HasSubstr("is a sparse file"));
}

TEST(Tar, SizeBeyondTheEndIsTruncation) {
  EXPECT_THAT(Opened(TarHeader("a.jpg", 1ULL << 32, '0') + std::string(512, 'x')).message(),
              HasSubstr("at byte 0: a member of 4294967296 bytes, and 512 are left"));
  const std::string tar = MakeTar("a.jpg", std::string(2000, 'x'));
  EXPECT_THAT(Opened(tar.substr(0, 700)).message(), HasSubstr("truncated"));
}

TEST(Tar, SizeThatSixtyFourBitsDoNotHoldIsRefused) {
  std::string header = TarHeader("a.jpg", 0, '0');
  header.replace(124, 12, std::string("\x80\0\0\2\0\0\0\0\0\0\0\1", 12));
  EXPECT_THAT(Opened(Summed(header) + std::string(1536, '\0')).message(), HasSubstr("its size is beyond any disk"));
  header.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\1", 12));
  EXPECT_TRUE(Opened(Summed(header) + std::string(1536, '\0')).ok());
}

TEST(Tar, LongNamesAndHeadersAreReadUpToABound) {
  EXPECT_THAT(Opened(MakeTar("././@LongLink", std::string(2 << 20, 'x'), 'L')).message(),
              HasSubstr("a name or header of 2097152 bytes"));
  EXPECT_THAT(Opened(MakeTar("p", "19 GNU.sparse.a=bc\n", 'x')).message(), HasSubstr("is a sparse file"));
}

TEST(Tar, BrokenChecksumIsNamedWithTheByte) {
  std::string tar = MakeTar("a.jpg", "x");
  tar = tar.substr(0, 1024) + tar;
  tar[1024 + 3] = '!';
  EXPECT_THAT(Opened(tar).message(), HasSubstr("set.tar: at byte 1024: the checksum of a header does not hold"));
  EXPECT_THAT(Opened(std::string(2048, 'q')).message(), HasSubstr("is no tar archive"));
}

TEST(Tar, OneNameTwiceIsRefused) {
  const std::string tar = MakeTar("a.jpg", "x");
  EXPECT_THAT(Opened(tar.substr(0, 1024) + tar).message(), HasSubstr("holds the name \"a.jpg\" twice"));
}

TEST(Tar, PackedOnesAreReadUpToABoundAndOthersSayHowToUnpack) {
  EXPECT_TRUE(Opened(Gzip(MakeTar("a.jpg", "x")), "set.tar.gz").ok());
  const std::string packed = Gzip(MakeTar("a.jpg", std::string(5000, 'x')));
  EXPECT_THAT(Opened(packed.substr(0, packed.size() - 9), "set.tar.gz").message(),
              HasSubstr("truncated inside its gzip stream"));
  EXPECT_THAT(Opened("BZh9" + std::string(600, 'x'), "set.tar.bz2").message(),
              HasSubstr("tar -xf 'set.tar.bz2' -C 'set.tar.bz2.unpacked'"));
}

TEST(Tar, BombIsUnpackedNoFurtherThanTheBound) {
  const auto file = MakeMemoryFile("bomb", Gzip(std::string(3 << 20, '\0')));
  const Status refused = Gunzip("bomb", *file, 1 << 20, "unpack it").status();
  EXPECT_EQ(refused.code(), StatusCode::refused);
  EXPECT_EQ(refused.message(), "bomb unpacks to more than 1 MiB; unpack it");
  EXPECT_EQ(Gunzip("bomb", *file, 3 << 20, "unpack it").value().size(), std::size_t{3} << 20);
}

TEST(Zip, HiddenFilesAndThoseOfMacOsAreNoExamples) {
  ZipWriter zip;
  for (const char* name :
       {"set/a/1.jpg", "__MACOSX/set/a/._1.jpg", "set/a/._1.jpg", "set/.cache/a/1.jpg", "set/b.c/2.jpg"})
    EXPECT_TRUE(zip.Add(name, "x").ok());
  FaultInjectionEnv env;
  env.Put("set.zip", std::move(zip).Finish());
  const auto tree = OpenFileTree(env, "set.zip");
  ASSERT_TRUE(tree.ok()) << tree.status().message();
  std::vector<std::string> names;
  for (const TreeFile& file : (*tree)->files()) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"set/a/1.jpg", "set/b.c/2.jpg"}));
}

TEST(Zip, NamesThatLeadOutsideAreRefusedByName) {
  const auto opened = [](const std::string& name) {
    ZipWriter zip;
    EXPECT_TRUE(zip.Add(name, "x").ok());
    return Opened(std::move(zip).Finish(), "set.zip");
  };
  EXPECT_TRUE(opened("a/b.jpg").ok());
  EXPECT_THAT(opened("../evil.jpg").message(), HasSubstr("\"../evil.jpg\" leads outside by \"..\""));
  EXPECT_THAT(opened("a/../../b.jpg").message(), HasSubstr("leads outside"));
  EXPECT_THAT(opened("/etc/passwd").message(), HasSubstr("\"/etc/passwd\" is absolute"));
  EXPECT_EQ(opened("/etc/passwd").code(), StatusCode::refused);
}

TEST(Pickle, HostileOnesEndWithTheByte) {
  const auto problem = [](const std::string& bytes) { return ParseNumpyPickle("p", bytes).status().message(); };
  EXPECT_THAT(problem("\x80\x02"
                      "cos\nsystem\n."),
              HasSubstr("p: at byte 2: the pickle asks for \"os system\""));
  EXPECT_THAT(problem("(dp0\n."), HasSubstr("no pickle of protocol 2 or later"));
  EXPECT_THAT(problem(std::string("\x80\x02") + "e."), HasSubstr("a mark is missing"));
  EXPECT_THAT(problem(std::string("\x80\x02T\xff\xff\xff\xff", 7)), HasSubstr("at byte 2: truncated"));
  EXPECT_THAT(problem(std::string("\x80\x02}r\xff\xff\xff\x7f.", 9)), HasSubstr("a memo beyond 4 million"));
  EXPECT_THAT(problem(std::string("\x80\x02]q\x00h\x00"
                                  "a.",
                                  9)),
              HasSubstr("the pickle is no dictionary"))
      << "a list in itself is left where it is";
}

TEST(Mat, BombsAndLiesAreRefused) {
  const std::string sound = Bytes(Fixture("svhn/test_32x32.mat"));
  for (const std::size_t cut : {20U, 127U, 130U, 140U, 200U, 3000U})
    EXPECT_FALSE(ParseMat("m", sound.substr(0, cut)).ok()) << cut;
  std::string big(128 + 8, '\0');
  big.replace(124, 4, std::string("\x00\x01IM", 4));
  const std::string zeros(std::size_t{64} << 20, '\0');
  std::string packed(1 << 20, '\0');
  uLongf size = packed.size();
  ASSERT_EQ(compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(zeros.data()),
                      zeros.size(), 9),
            Z_OK);
  big[128] = 15;
  for (unsigned i = 0; i < 4; ++i) big[132 + i] = static_cast<char>((size >> (8 * i)) & 255U);
  EXPECT_THAT(ParseMat("m", big + packed.substr(0, size)).status().message(),
              HasSubstr("a variable unpacks to more than"));
}

TEST(Picture, CutsAreSeenWhereverTheyAre) {
  for (const char* name : {"covidx/train/a.png", "covidx/test/c.jpeg"}) {
    const std::string sound = Bytes(Fixture(name));
    ASSERT_TRUE(CheckImageFile(name, sound).ok()) << CheckImageFile(name, sound).message();
    for (std::size_t size = 0; size < sound.size(); size += 7)
      EXPECT_FALSE(CheckImageFile(name, sound.substr(0, size)).ok()) << name << " cut to " << size;
  }
}

TEST(Folder, CirclesOfLinksEnd) {
  const testing::TemporaryDirectory folder;
  std::filesystem::create_directory(folder.path() + "/a");
  std::filesystem::create_directory_symlink("..", folder.path() + "/a/up");
  EXPECT_THAT(OpenFileTree(PosixEnv(), folder.path()).status().message(), HasSubstr("a link may lead in a circle"));
}

}  // namespace
}  // namespace retort::storage
