// Files that say, or unpack to, more than the memory holds are errors that name file and size.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "storage/datasets/data_inspection.h"
#include "storage/datasets/idx_file.h"
#include "storage/files/read_limits.h"
#include "storage/formats/byte_codec.h"
#include "storage/formats/mat_file.h"
#include "storage/formats/npy_file.h"
#include "storage/formats/pickle.h"
#include "storage/log/record_log.h"
#include "storage/results/attempt_file.h"
#include "storage/weights/read_weights.h"
#include "tests/testing/bounded_memory.h"
#include "tests/testing/packed_zeros.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using retort::testing::IdxOfZeros;
using retort::testing::MessageWithin;
using retort::testing::NpzOfZeros;
using retort::testing::PackedZeros;
using retort::testing::Packing;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr std::size_t kMemory = 512 * kMebibyte;

class DeclaredSizesTest : public ::testing::Test {
 protected:
  std::string Put(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ / name;
    EXPECT_TRUE(PosixEnv().WriteFileAtomically(path, bytes).ok());
    return path;
  }
  // A file of that size that takes no room on the disk.
  std::string PutSparse(const std::string& name, const std::string& begin, off_t size) {
    const std::string path = Put(name, begin);
    EXPECT_EQ(::truncate(path.c_str(), size), 0);
    return path;
  }
  DataSpec Data(const std::string& reader) {
    DataSpec data;
    data.name = "d";
    data.reader = reader;
    data.path = folder_.path();
    return data;
  }

  retort::testing::TemporaryDirectory folder_;
};

std::string BigEndian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((value >> shift) & 255U);
  return bytes;
}

TEST(UnpackedSize, IsBoundedByWhatIsPackedAndByWhatDeflateCanDo) {
  EXPECT_TRUE(CheckUnpackedSize("f", 47'040'016, 9'912'422).ok());
  EXPECT_TRUE(CheckUnpackedSize("f", 64 * kMebibyte, 70'000).ok());
  const Status refused = CheckUnpackedSize("f: a", std::uint64_t{8} << 30, 8'400'000);
  EXPECT_EQ(refused.code(), StatusCode::refused);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("f: a"), HasSubstr("8589934592"), HasSubstr("8400000")));
  EXPECT_EQ(CheckUnpackedSize("f", 64 * kMebibyte, 10).code(), StatusCode::damage);
  EXPECT_EQ(CheckUnpackedSize("f", ~std::uint64_t{0}, ~std::uint64_t{0} / 2).code(), StatusCode::ok);
}

TEST_F(DeclaredSizesTest, EightGibibytesInAGzippedIdxFileAreRefusedUnread) {
  const std::string packed = IdxOfZeros(8192);
  EXPECT_LT(packed.size(), 10 * kMebibyte);
  Put("train-images-idx3-ubyte.gz", packed);
  Put("train-labels-idx1-ubyte", BigEndian(0x801) + BigEndian(8192) + std::string(8192, '\1'));
  const auto told = AllOf(HasSubstr("train-images-idx3-ubyte.gz"), HasSubstr("8589934608"));
  EXPECT_THAT(MessageWithin(kMemory, [&] { return LoadIdx(PosixEnv(), Data("idx")).status(); }), told);
  EXPECT_THAT(MessageWithin(kMemory,
                            [&] {
                              DataSpec data = Data("idx");
                              return InspectIdx(PosixEnv(), data);
                            }),
              told);
  EXPECT_THAT(MessageWithin(kMemory, [&] { return ComputeUnpackedDigest(PosixEnv(), Data("idx")).status(); }),
              HasSubstr("train-images-idx3-ubyte.gz"));
}

TEST_F(DeclaredSizesTest, GibibytesInAnNpzAreRefusedUnread) {
  const std::string path = Put("pathmnist.npz", NpzOfZeros(3000));
  EXPECT_THAT(MessageWithin(kMemory,
                            [&]() -> Status {
                              RETORT_ASSIGN_OR_RETURN(const NpzFile npz, NpzFile::Open(PosixEnv(), path));
                              return npz.Read("a").status();
                            }),
              AllOf(HasSubstr("pathmnist.npz: a"), HasSubstr("3145728128")));
}

// The same array is read where it is no more than packed bytes become.
TEST_F(DeclaredSizesTest, WhatUnpacksToLittleIsReadHoweverWellItIsPacked) {
  const auto npz = NpzFile::Open(PosixEnv(), Put("a.npz", NpzOfZeros(40)));
  ASSERT_TRUE(npz.ok()) << npz.status().message();
  const auto array = npz->Read("a");
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->bytes, std::vector<std::uint8_t>(40 * kMebibyte));
}

TEST_F(DeclaredSizesTest, ManySmallVariablesOfAMatFileAreCountedTogether) {
  // A column of 2^20 bytes.
  constexpr std::uint32_t kBytes = 1 << 20;
  std::uint32_t checksum = 0;
  ByteWriter element;
  for (const std::uint32_t word : {14U, 48U + kBytes, 6U, 8U, 9U, 0U, 5U, 8U, kBytes, 1U, 1U, 0U, 2U, kBytes})
    element.U32(word);
  const std::string packed = PackedZeros(Packing::zlib, element.bytes(), 1, checksum);
  ByteWriter file;
  file.Raw(std::string(124, ' ') + std::string("\0\1IM", 4));
  for (int i = 0; i < 2000; ++i) {
    file.U32(15);
    file.U32(static_cast<std::uint32_t>(packed.size()));
    file.Raw(packed);
  }
  EXPECT_THAT(MessageWithin(kMemory + 256 * kMebibyte, [&] { return ParseMat("set.mat", file.bytes()).status(); }),
              AllOf(HasSubstr("set.mat: at byte "), HasSubstr("200 times")));
}

TEST_F(DeclaredSizesTest, ATarUnpacksNoFurtherThanItsPackedBytesAllow) {
  std::uint32_t crc = 0;
  const std::string path = Put("cifar-10-python.tar.gz", PackedZeros(Packing::gzip, std::string(512, 'x'), 2000, crc));
  DataSpec data = Data("cifar10");
  data.path = path;
  EXPECT_THAT(MessageWithin(2 * kMemory, [&] { return OpenExamples(PosixEnv(), data).status(); }),
              AllOf(HasSubstr("cifar-10-python.tar.gz"), HasSubstr("unpacks to more than")));
}

// A list that is named a thousand times.
TEST_F(DeclaredSizesTest, APickleTakesNoMoreThanSixteenTimesItsBytes) {
  std::string pickle("\x80\x02}(", 4);
  const auto key = [](int i) {
    const std::string text = "k" + std::to_string(i);
    return "U" + std::string(1, static_cast<char>(text.size())) + text;
  };
  pickle += key(0) + "](";
  for (int i = 0; i < 100'000; ++i) pickle += "K\1";
  pickle += std::string("eq\0", 3);
  for (int i = 1; i < 1000; ++i) pickle += key(i) + std::string("h\0", 2);
  pickle += "u.";
  EXPECT_THAT(MessageWithin(kMemory, [&] { return ParseNumpyPickle("batch", pickle).status(); }), HasSubstr("batch: "));
}

// A text that is decoded a thousand times.
TEST_F(DeclaredSizesTest, APickleDecodesItsTextsOnce) {
  std::string pickle("\x80\x02](c_codecs\nencode\nq\0", 22);
  const std::string text(1 << 20, 'x');
  ByteWriter size;
  size.U32(static_cast<std::uint32_t>(text.size()));
  pickle += "X" + size.bytes() + text + "q\1";
  for (int i = 0; i < 1000; ++i) pickle += std::string("h\0h\1\x85R", 6);
  pickle += "e.";
  EXPECT_THAT(MessageWithin(kMemory, [&] { return ParseNumpyPickle("batch", pickle).status(); }),
              HasSubstr("texts decode"));
}

TEST_F(DeclaredSizesTest, FilesLargerThanTheMemoryAreErrorsThatNameThem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends the program where memory does not suffice";
#endif
  constexpr off_t kSize = off_t{1} << 36;
  const std::string size = std::to_string(kSize);
  const auto message = [](const std::function<Status()>& run) { return MessageWithin(kMemory, run); };
  const std::string attempt = PutSparse("attempt.h5", "\x89HDF", kSize);
  EXPECT_THAT(message([&] { return ReadAttemptFile(attempt).status(); }),
              AllOf(HasSubstr("attempt.h5"), HasSubstr(size)));
  const std::string log = PutSparse("journal.log", "RETORTLG", kSize);
  EXPECT_THAT(message([&] { return ReadRecordLog(PosixEnv(), log, LogKind::journal).status(); }),
              AllOf(HasSubstr("journal.log"), HasSubstr(size)));
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (68719476608,), }";
  const std::string array = PutSparse(
      "a.npy", std::string("\x93NUMPY\1\0\x76\0", 10) + header + std::string(117 - header.size(), ' ') + "\n", kSize);
  EXPECT_THAT(message([&] { return ReadNpy(PosixEnv(), array).status(); }),
              AllOf(HasSubstr("a.npy"), HasSubstr("68719476608")));
  const std::string text = R"({"w":{"dtype":"U8","shape":[68719476608],"data_offsets":[0,68719476608]}})";
  ByteWriter weights;
  weights.U64(120);
  weights.Raw(text + std::string(120 - text.size(), ' '));
  const std::string path = PutSparse("w.safetensors", weights.bytes(), kSize);
  EXPECT_THAT(message([&] { return ReadWeights(PosixEnv(), path, {.digest = false}).status(); }),
              HasSubstr("w.safetensors"));
}

}  // namespace
}  // namespace retort::storage
