// NumPy arrays and archives, and the zip layer below them.
#include "storage/formats/npy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "storage/files/env.h"
#include "storage/formats/byte_codec.h"
#include "storage/formats/zip_archive.h"
#include "tests/testing/fault_injection_env.h"

namespace retort::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Npy(const std::string& header, const std::string& data, char major = 1) {
  ByteWriter writer;
  writer.Raw("\x93NUMPY");
  writer.U8(static_cast<std::uint8_t>(major));
  writer.U8(0);
  if (major == 1)
    writer.U16(static_cast<std::uint16_t>(header.size()));
  else
    writer.U32(static_cast<std::uint32_t>(header.size()));
  writer.Raw(header);
  return writer.bytes() + data;
}

std::string Message(const std::string& header, const std::string& data = "") {
  const Result<TensorBlob> blob = ParseNpy("a.npy", Npy(header, data));
  EXPECT_FALSE(blob.ok()) << header;
  EXPECT_THAT(blob.status().message(), HasSubstr("a.npy"));
  return blob.status().message();
}

// numpy.save(numpy.arange(6, dtype='<i4').reshape(2, 3)), NumPy 2.3.5.
const std::string kSaved =
    Npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }" + std::string(58, ' ') + "\n",
        std::string("\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0", 24));

TEST(Npy, WhatNumpySavedIsRead) {
  const Result<TensorBlob> blob = ParseNpy("a.npy", kSaved);
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  EXPECT_EQ(blob->dtype, DType::i32);
  EXPECT_EQ(blob->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(blob->bytes[20], 5);
}

TEST(Npy, WhatIsWrittenIsNumpysOwnBytesAndReadBack) {
  const TensorBlob blob = ParseNpy("a.npy", kSaved).value();
  EXPECT_EQ(EncodeNpy(blob), kSaved);
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {1}, {0, 4}, {1, 1, 1}}) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    const TensorBlob made{"", DType::f64, shape, std::vector<std::uint8_t>(8 * count, 3)};
    EXPECT_EQ(ParseNpy("a.npy", EncodeNpy(made)).value(), made);
    EXPECT_EQ(EncodeNpy(made).size() % 64, made.bytes.size() % 64);
  }
}

TEST(Npy, LaterVersionsAndOtherSpellingsAreRead) {
  EXPECT_TRUE(ParseNpy("a", Npy("{\"shape\":(2L,),\"descr\":\"|b1\",\"fortran_order\":True}", "ab", 2)).ok());
  EXPECT_TRUE(ParseNpy("a", Npy("{'descr': '<u8', 'fortran_order': False, 'shape': ()}\n", "12345678", 3)).ok());
}

TEST(Npy, WhatIsSoundAndNotReadSaysTheRemedy) {
  const std::string order = "'fortran_order': False, 'shape': (1,)}";
  EXPECT_THAT(Message("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1)}", "1234"),
              HasSubstr("ascontiguousarray"));
  EXPECT_THAT(Message("{'descr': '>f4', " + order, "1234"), HasSubstr("big endian"));
  EXPECT_THAT(Message("{'descr': '|O', " + order, "1234"), HasSubstr("pickled Python objects"));
  EXPECT_THAT(Message("{'descr': '<c8', " + order, "12345678"), HasSubstr("'<c8' are not read"));
}

TEST(Npy, HostileHeadersAreRefusedWithTheirOffset) {
  const std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  for (const char* shape : {"(3)", "(-1,)", "(1e3,)", "(9999999999999999999,)", "(2, 3", "[2, 3]", "__import__('os')"})
    EXPECT_THAT(Message(head + shape + "}"), HasSubstr("offset ")) << shape;
  EXPECT_THAT(Message(head + "(999999999999999999, 999999999999999999)}"), HasSubstr("beyond"));
  EXPECT_THAT(Message("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}"), HasSubstr("plain type"));
  EXPECT_THAT(Message("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "1234"),
              HasSubstr("offset"));
  EXPECT_THAT(Message(head + "(" + std::string(200, '1') + ",)}"), HasSubstr("offset"));
  EXPECT_THAT(Message(head + "(2,)}", "1234567"), HasSubstr("need 8 bytes"));
  EXPECT_THAT(Message(head + "(2,)}", "123456789"), HasSubstr("need 8 bytes"));
}

TEST(Npy, EveryCutIsAnError) {
  for (std::size_t size = 0; size < kSaved.size(); ++size)
    EXPECT_FALSE(ParseNpy("a.npy", std::string_view(kSaved).substr(0, size)).ok()) << size;
}

TEST(Npy, AnArrayBeyondTheLimitIsRefusedBeforeItIsRead) {
  retort::testing::FaultInjectionEnv env;
  env.Put("a.npy", kSaved);
  EXPECT_TRUE(ReadNpy(env, "a.npy", 24).ok());
  EXPECT_THAT(ReadNpy(env, "a.npy", 23).status().message(), HasSubstr("at most 23"));
}

class Npz : public ::testing::Test {
 protected:
  Result<NpzFile> Open(const std::string& bytes) {
    env_.Put("a.npz", bytes);
    return NpzFile::Open(env_, "a.npz");
  }
  static std::string TwoArrays() {
    TensorBlob a = ParseNpy("a", kSaved).value(), b{"b", DType::u8, {3}, {1, 2, 3}};
    a.name = "a";
    return EncodeNpz({a, b}).value();
  }
  retort::testing::FaultInjectionEnv env_;
};

TEST_F(Npz, ArraysAreReadUnderTheirNames) {
  const Result<NpzFile> npz = Open(TwoArrays());
  ASSERT_TRUE(npz.ok()) << npz.status().message();
  EXPECT_THAT(npz->names(), ElementsAre("a", "b"));
  EXPECT_EQ(npz->Read("b").value().bytes, (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(npz->Header("a").value().shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_THAT(npz->Read("c").status().message(), HasSubstr("there is a, b"));
  EXPECT_THAT(npz->Read("a", 20).status().message(), HasSubstr("at most 20"));
}

TEST_F(Npz, EveryCutIsAnError) {
  const std::string whole = TwoArrays();
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(Open(whole.substr(0, size)).ok()) << size;
}

TEST_F(Npz, AFlippedBitAnywhereIsAnErrorOrChangesNoValue) {
  const std::string whole = TwoArrays();
  const TensorBlob a = Open(whole)->Read("a").value();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    const Result<NpzFile> npz = Open(bytes);
    if (!npz.ok() || !npz->Has("a")) continue;
    const Result<TensorBlob> read = npz->Read("a");
    EXPECT_TRUE(!read.ok() || *read == a) << at;
  }
}

// One deflated entry that says it has `says` bytes.
std::string Deflated(const std::string& name, const std::string& contents, std::uint32_t says) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(compressBound(contents.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
  stream.avail_in = static_cast<uInt>(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  ZipWriter zip;
  EXPECT_TRUE(zip.Add(name, packed).ok());
  std::string bytes = std::move(zip).Finish();
  const std::size_t central = bytes.find("PK\x01\x02");
  const auto put = [&](std::size_t at, std::uint32_t value) { std::memcpy(bytes.data() + at, &value, 4); };
  bytes[8] = bytes[central + 10] = 8;
  put(central + 16, ExtendCrc32(0, contents));
  put(central + 24, says);
  return bytes;
}

TEST_F(Npz, DeflatedArraysAreRead) {
  const Result<NpzFile> npz = Open(Deflated("a.npy", kSaved, static_cast<std::uint32_t>(kSaved.size())));
  ASSERT_TRUE(npz.ok()) << npz.status().message();
  EXPECT_EQ(npz->Read("a").value().bytes[20], 5);
}

TEST_F(Npz, ABombIsInflatedNoFurtherThanItSays) {
  const std::string bomb = Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (16,)}", std::string(1 << 24, '\0'));
  const Result<NpzFile> npz = Open(Deflated("a.npy", bomb, static_cast<std::uint32_t>(bomb.size() - (1 << 24) + 16)));
  ASSERT_TRUE(npz.ok()) << npz.status().message();
  EXPECT_THAT(npz->Read("a").status().message(), HasSubstr("more contents than it says"));
}

TEST_F(Npz, AnEntryWithLessThanItSaysIsRefused) {
  const auto size = static_cast<std::uint32_t>(kSaved.size());
  const Result<NpzFile> npz = Open(Deflated("a.npy", kSaved, size + 3));
  ASSERT_TRUE(npz.ok()) << npz.status().message();
  EXPECT_THAT(npz->Read("a").status().message(),
              HasSubstr("has " + std::to_string(size) + " bytes and says " + std::to_string(size + 3)));
}

TEST_F(Npz, AnEntryThatReachesIntoTheDirectoryIsRefused) {
  std::string bytes = TwoArrays();
  const std::size_t last = bytes.rfind("PK\x01\x02");
  bytes[last + 20] = static_cast<char>(bytes[last + 20] + 1);  // its size as stored
  bytes[last + 24] = static_cast<char>(bytes[last + 24] + 1);  // and of its contents
  EXPECT_THAT(Open(bytes).status().message(), HasSubstr("is cut short or overlaps the directory"));
}

TEST_F(Npz, ADirectoryOfImpossibleSizeIsRefusedBeforeItIsRead) {
  const auto problem = [&](std::uint64_t entries, std::uint64_t directory) {
    ByteWriter zip;
    zip.U32(0x06064b50);  // zip64 end record
    zip.U64(44);
    for (int i = 0; i < 3; ++i) zip.U32(0);  // versions, disks
    zip.U64(entries);
    zip.U64(entries);
    zip.U64(directory);
    zip.U64(0);
    zip.U32(0x07064b50);  // its locator
    zip.U32(0);
    zip.U64(0);
    zip.U32(1);
    zip.U32(0x06054b50);  // end record, which refers to it
    zip.U32(0);
    for (int i = 0; i < 3; ++i) zip.U32(0xFFFFFFFF);
    zip.U16(0);
    return Open(zip.bytes()).status().message();
  };
  constexpr std::uint64_t kEntry = 46, kEnd = 76;  // bytes of an entry, where the end record lies
  EXPECT_THAT(problem(1, kEntry), HasSubstr("no entry of the zip directory"));
  EXPECT_THAT(problem(2, 2 * kEntry - 1), HasSubstr("beyond what is read"));
  EXPECT_THAT(problem((1 << 18) + 1, ((1 << 18) + 1) * kEntry), HasSubstr("beyond what is read"));
  EXPECT_THAT(problem(1, (64 << 20) + 1), HasSubstr("beyond what is read"));
  EXPECT_THAT(problem(1, kEnd + 1), HasSubstr("beyond its end"));
}

TEST_F(Npz, DuplicateAndEncryptedEntriesAreRefused) {
  const std::string whole = TwoArrays();
  std::string same = whole, local = whole, encrypted = whole;
  for (std::size_t at = 0; (at = same.find("b.npy", at)) != std::string::npos;) same[at] = 'a';
  EXPECT_THAT(Open(same).status().message(), HasSubstr("two zip entries are named 'a.npy'"));
  local[local.find("b.npy")] = 'c';
  EXPECT_THAT(Open(local).status().message(), HasSubstr("'b.npy' and the directory contradict each other"));
  encrypted[encrypted.find("PK\x01\x02") + 8] |= 1;
  EXPECT_THAT(Open(encrypted).status().message(), HasSubstr("'a.npy' is encrypted"));
}

TEST_F(Npz, AnEntryBeyondTheLimitIsRefusedBeforeItIsRead) {
  const auto zip = ZipFile::Open(MakeMemoryFile("z", TwoArrays()), "z");
  ASSERT_TRUE(zip.ok()) << zip.status().message();
  const ZipEntry& entry = zip->entries().front();
  EXPECT_EQ(zip->Read(entry, entry.bytes).value().size(), entry.bytes);
  const Status refused = zip->Read(entry, entry.bytes - 1).status();
  EXPECT_EQ(refused.code(), StatusCode::refused);
  EXPECT_THAT(refused.message(), HasSubstr("at most " + std::to_string(entry.bytes - 1) + " are read here"));
}

TEST_F(Npz, OverlappingEntriesAreRefused) {
  std::string bytes = TwoArrays();
  const std::size_t second = bytes.find("PK\x01\x02", bytes.find("PK\x01\x02") + 1);
  const std::uint32_t zero = 0;
  std::memcpy(bytes.data() + second + 42, &zero, 4);  // its local header is the first entry's
  EXPECT_THAT(Open(bytes).status().message(), HasSubstr("overlaps"));
}

TEST(Crc32, TheFastWayGivesZlibsSums) {
  std::string bytes;
  std::uint32_t state = 1;
  for (int i = 0; i < 700; ++i) {
    bytes += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    EXPECT_EQ(ExtendCrc32(state, bytes), ::crc32_z(state, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()))
        << i;
  }
  EXPECT_EQ(ExtendCrc32(0, "123456789"), 0xCBF43926U);
}

}  // namespace
}  // namespace retort::storage
