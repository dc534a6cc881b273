// Saved weights: what PyTorch and safetensors wrote is read to the bit; what is damaged or hostile is refused with the
// file and the place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "storage/formats/byte_codec.h"
#include "storage/formats/npy_file.h"
#include "storage/formats/zip_archive.h"
#include "storage/weights/class_names.h"
#include "storage/weights/read_weights.h"
#include "storage/weights/stored_state.h"
#include "storage/weights/write_weights.h"
#include "tests/testing/fault_injection_env.h"

namespace retort::storage {
namespace {

using ::testing::HasSubstr;

constexpr const char* kContainers[] = {"weights.zip.pth", "weights.legacy.pth", "weights.tar.pth",
                                       "weights.safetensors"};

std::string Fixture(const std::string& name) {
  return PosixEnv().ReadFile(std::string(RETORT_SOURCE_DIR "/tests/unit/storage/fixtures/") + name).value();
}

Result<StateDict> Read(const std::string& bytes, const WeightsOptions& options = {}) {
  retort::testing::FaultInjectionEnv env;
  env.Put("file", bytes);
  return ReadWeights(env, "file", options);
}

std::string Refusal(const std::string& bytes) {
  const Result<StateDict> dict = Read(bytes);
  EXPECT_FALSE(dict.ok());
  EXPECT_TRUE(dict.ok() || dict.status().code() == StatusCode::refused || dict.status().code() == StatusCode::damage);
  return dict.status().message();
}

// Element k of a tensor that make_weights.py made, before views.
std::int64_t Whole(std::int64_t k) { return k * 7 % 23 - 11; }

std::vector<float> Floats(const TensorBlob& blob) {
  std::vector<float> values(blob.bytes.size() / sizeof(float));
  std::memcpy(values.data(), blob.bytes.data(), blob.bytes.size());
  return values;
}

std::map<std::string, TensorBlob> ByName(const StateDict& dict) {
  std::map<std::string, TensorBlob> map;
  for (const TensorBlob& blob : dict.tensors) map[blob.name] = blob;
  return map;
}

void ExpectSequence(const TensorBlob& blob) {
  ASSERT_EQ(blob.dtype, DType::f32);
  const std::vector<float> values = Floats(blob);
  for (std::size_t k = 0; k < values.size(); ++k)
    EXPECT_EQ(values[k], static_cast<float>(Whole(static_cast<std::int64_t>(k))) / 4) << blob.name << " " << k;
}

TEST(Weights, EveryContainerGivesTheValuesThatWereSaved) {
  for (const char* name : kContainers) {
    SCOPED_TRACE(name);
    const Result<StateDict> dict = Read(Fixture(name));
    ASSERT_TRUE(dict.ok()) << dict.status().message();
    auto tensors = ByName(*dict);
    EXPECT_EQ(tensors.at("conv.weight").shape, (std::vector<std::int64_t>{4, 3, 2, 2}));
    ExpectSequence(tensors.at("conv.weight"));
    ExpectSequence(tensors.at("conv.bias"));
    ExpectSequence(tensors.at("kind.float64"));
    EXPECT_EQ(tensors.at("empty").shape, (std::vector<std::int64_t>{0, 3}));
    EXPECT_TRUE(tensors.at("empty").bytes.empty());
    EXPECT_EQ(tensors.at("scalar").dtype, DType::i64);
    EXPECT_TRUE(tensors.at("scalar").shape.empty());
    EXPECT_EQ(dict->digest.size(), 64U);
  }
}

TEST(Weights, ViewsAreGatheredAlongTheirStrides) {
  for (const char* name : kContainers) {
    SCOPED_TRACE(name);
    const Result<StateDict> dict = Read(Fixture(name));
    ASSERT_TRUE(dict.ok()) << dict.status().message();
    auto tensors = ByName(*dict);
    const std::vector<float> transposed = Floats(tensors.at("view.transposed"));
    for (std::int64_t r = 0; r < 5; ++r)
      for (std::int64_t c = 0; c < 6; ++c)
        EXPECT_EQ(transposed[static_cast<std::size_t>(r * 6 + c)], static_cast<float>(Whole(c * 5 + r)) / 4);
    EXPECT_EQ(Floats(tensors.at("view.row"))[1], static_cast<float>(Whole(11)) / 4);
    EXPECT_EQ(Floats(tensors.at("view.column"))[2], static_cast<float>(Whole(11)) / 4);
    EXPECT_EQ(Floats(tensors.at("view.spread"))[10], static_cast<float>(Whole(1)) / 4);
    ExpectSequence(tensors.at("view.last"));
  }
}

TEST(Weights, EveryElementTypeBecomesFloatOrInteger) {
  for (const char* name : {"weights.zip.pth", "weights.legacy.pth", "weights.safetensors"}) {
    SCOPED_TRACE(name);
    const Result<StateDict> dict = Read(Fixture(name));
    ASSERT_TRUE(dict.ok());
    auto tensors = ByName(*dict);
    for (const char* kind : {"kind.float16", "kind.bfloat16", "kind.float64"}) ExpectSequence(tensors.at(kind));
    for (const char* kind : {"kind.int64", "kind.int32", "kind.int16", "kind.int8", "kind.uint8", "kind.bool"}) {
      const TensorBlob& blob = tensors.at(kind);
      ASSERT_EQ(blob.dtype, DType::i64) << kind;
      ASSERT_EQ(blob.bytes.size(), 40U) << kind;
      std::int64_t last = 0;
      std::memcpy(&last, blob.bytes.data() + 24, 8);
      EXPECT_EQ(last, std::string(kind) == "kind.bool" ? 1 : Whole(3) + (std::string(kind) == "kind.uint8" ? 11 : 0))
          << kind;
    }
  }
}

TEST(Weights, HalfPrecisionIsExactAtItsEnds) {
  const std::uint16_t halves[] = {0x0001, 0x83FF, 0x0400, 0x7BFF, 0x8000, 0x3C01};
  const float expected[] = {0x1p-24F, -0x3FFp-24F, 0x1p-14F, 65504.0F, -0.0F, 1.0009765625F};
  std::vector<std::uint8_t> out;
  const std::string_view bytes(reinterpret_cast<const char*>(halves), sizeof(halves));
  EXPECT_TRUE(AppendConverted(ElementType::f16, bytes, out).finite);
  EXPECT_EQ(std::memcmp(out.data(), expected, sizeof(expected)), 0);
  const std::uint16_t infinite = 0x7C00;
  EXPECT_FALSE(AppendConverted(ElementType::f16, {reinterpret_cast<const char*>(&infinite), 2}, out).finite);
}

TEST(Weights, AStateDictInsideATrainingCheckpointIsFound) {
  for (const char* name : {"nested.pth", "nested-best.pth"}) {
    const Result<StateDict> dict = Read(Fixture(name));
    ASSERT_TRUE(dict.ok()) << dict.status().message();
    EXPECT_EQ(dict->path, std::vector<std::string>{"state_dict"}) << name;
    ASSERT_EQ(dict->tensors.size(), 1U);
    EXPECT_EQ(dict->tensors[0].name, "module.fc.weight");
  }
}

// As some tools pack archives anew; torch.load takes them.
TEST(Weights, DeflatedArchivesHoldWhatStoredOnesDo) {
  const Result<StateDict> stored = Read(Fixture("weights.zip.pth")), packed = Read(Fixture("weights.deflated.pth"));
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ(packed->tensors, stored->tensors);
  EXPECT_EQ(packed->container, "torch-zip");
  for (std::size_t size = 0; size < 3900; size += 97)
    EXPECT_THAT(Refusal(Fixture("weights.deflated.pth").substr(0, size)), HasSubstr("file"));
}

TEST(Weights, NumpysArchivesAreStateDicts) {
  const auto expected = ByName(*Read(Fixture("weights.zip.pth")));
  for (const char* name : {"weights.npz", "weights.packed.npz"}) {
    SCOPED_TRACE(name);
    const Result<StateDict> dict = Read(Fixture(name));
    ASSERT_TRUE(dict.ok()) << dict.status().message();
    EXPECT_EQ(dict->container, "npz");
    EXPECT_EQ(dict->tensors.size(), 9U);
    for (const TensorBlob& blob : dict->tensors) EXPECT_EQ(blob, expected.at(blob.name)) << blob.name;
  }
  const std::vector<TensorBlob> tensors = {{"fc.weight", DType::f32, {1, 2}, std::vector<std::uint8_t>(8)}};
  const Result<StateDict> own = Read(EncodeNpz(tensors).value());
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_EQ(own->tensors, tensors) << "the product's own export";
}

TEST(Weights, NotANumberIsRefusedByTensorUnlessAskedFor) {
  EXPECT_THAT(Refusal(Fixture("nan.pth")), HasSubstr("the tensor 'w' holds NaN"));
  EXPECT_TRUE(Read(Fixture("nan.pth"), {true, true}).ok());
}

TEST(Weights, AScriptedModuleIsPointedToItsOwnOption) {
  EXPECT_THAT(Refusal(Fixture("scripted.pt")), HasSubstr("--torchscript"));
}

TEST(Weights, EveryCutIsAnErrorThatNamesTheFile) {
  for (const char* name : kContainers) {
    const std::string whole = Fixture(name);
    // Behind the end marker of a tar archive nothing is missed.
    const std::size_t needed =
        std::string(name).find(".tar.") == std::string::npos ? whole.size() : whole.find_last_not_of('\0');
    for (std::size_t size = 0; size < needed; size += 1 + size / 40) {
      const std::string message = Refusal(whole.substr(0, size));
      EXPECT_THAT(message, HasSubstr("file")) << name << " cut to " << size;
    }
  }
}

TEST(Weights, AFlippedValueFailsTheChecksumOfAZipContainer) {
  std::string bytes = Fixture("weights.zip.pth");
  const float value = static_cast<float>(Whole(1)) / 4;
  std::string pattern(4, '\0');
  std::memcpy(pattern.data(), &value, 4);
  bytes[bytes.find(pattern)] = 1;
  EXPECT_THAT(Refusal(bytes), HasSubstr("checksum"));
}

// A zip container around any pickle, with one storage "0" of 16 bytes.
std::string MakeZip(const std::string& pickle) {
  ZipWriter zip;
  EXPECT_TRUE(zip.Add("a/data.pkl", pickle).ok());
  EXPECT_TRUE(zip.Add("a/data/0", std::string(16, '\0')).ok());
  return std::move(zip).Finish();
}

std::string Text(const std::string& text) {
  ByteWriter size;
  size.U32(static_cast<std::uint32_t>(text.size()));
  return "X" + size.bytes() + text;
}

// {"w": a tensor of storage "0"} with this offset, shape and strides (each one opcode sequence).
std::string TensorPickle(const std::string& count, const std::string& rest) {
  return "\x80\x02}" + Text("w") + "ctorch._utils\n_rebuild_tensor_v2\n((" + Text("storage") +
         "ctorch\nFloatStorage\n" + Text("0") + Text("cpu") + count + "tQ" + rest + "\x89}tRs.";
}

TEST(HostileWeights, TheFixtureOfTheseTestsIsSound) {
  const Result<StateDict> dict = Read(MakeZip(TensorPickle("K\x04", std::string("K\0", 2) + "(K\x04t(K\x01t")));
  ASSERT_TRUE(dict.ok()) << dict.status().message();
  EXPECT_EQ(dict->tensors[0].shape, std::vector<std::int64_t>{4});
}

std::vector<std::string> NamesIn(const std::string& bytes) {
  retort::testing::FaultInjectionEnv env;
  env.Put("file", bytes);
  return ReadClassNames(env, "file").value();
}

TEST(ClassNames, AreFoundBesideTheTensorsHoweverTheyAreKept) {
  const std::vector<std::string> expected = {"ant", "dog"};
  const std::string list = "](" + Text("ant") + Text("dog") + "e";
  const std::string by_name = "}(" + Text("dog") + "K\x01" + Text("ant") + std::string("K\0", 2) + "u";
  const std::string by_number = "}(K\x01" + Text("dog") + std::string("K\0", 2) + Text("ant") + "u";
  const std::string state = TensorPickle("K\x04", std::string("K\0", 2) + "(K\x04t(K\x01t");
  const std::pair<std::string, std::string> kept[] = {
      {"classes", list},
      {"class_to_idx", by_name},
      {"idx_to_class", by_number},
      {"id2label", "}(" + Text("1") + Text("dog") + Text("0") + Text("ant") + "u"}};
  for (const auto& [key, names] : kept)
    EXPECT_EQ(NamesIn(MakeZip("\x80\x02}" + Text(key) + names + "s" + state.substr(3))), expected) << key;
  EXPECT_EQ(NamesIn(MakeZip("\x80\x02}" + Text("meta") + "}" + Text("CLASSES") + list + "ss" + state.substr(3))),
            expected);
  EXPECT_EQ(NamesIn(MakeZip("\x80\x02}" + Text("meta") + "}" + Text("dataset_meta") + "}" + Text("classes") + list +
                            "sss" + state.substr(3))),
            expected);
  EXPECT_TRUE(NamesIn(MakeZip(state)).empty());
  for (const char* names : {"ant, dog", "['ant', 'dog']", "{'ant': 0, 'dog': 1}", R"([\"ant\",\"dog\"])",
                            R"({\"dog\":1,\"ant\":0})", R"({\"0\":\"ant\",\"1\":\"dog\"})"}) {
    const std::string header = R"({"__metadata__":{"classes":")" + std::string(names) +
                               R"("},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    ByteWriter size;
    size.U64(header.size());
    EXPECT_EQ(NamesIn(size.bytes() + header + std::string(4, '\0')), expected) << names;
  }
}

TEST(ClassNames, MayBeNumbersAndBeginBehindZero) {
  const std::string state = TensorPickle("K\x04", std::string("K\0", 2) + "(K\x04t(K\x01t").substr(3);
  const auto in = [&](const std::string& value) {
    return NamesIn(MakeZip("\x80\x02}" + Text("classes") + value + "s" + state));
  };
  EXPECT_EQ(in("](K\x02K\x0a"
               "e"),
            (std::vector<std::string>{"2", "10"}));
  EXPECT_EQ(in("}(" + Text("dog") + "K\x02" + Text("ant") + "K\x01u"), (std::vector<std::string>{"", "ant", "dog"}));
  EXPECT_TRUE(in("}(" + Text("dog") + "K\x01" + Text("ant") + "K\x01u").empty()) << "two of one number";
  EXPECT_NE(FindClassContradiction({"", "ant", "dog"}, {"ant", "dog"}), "");
  EXPECT_EQ(FindClassContradiction({"", "ant"}, {"", "ant"}), "");
}

TEST(ClassNames, AreFoundInAConfigOfTheMetadata) {
  const std::string header =
      R"({"__metadata__":{"format":"pt","config":"{\"a\":1,\"id2label\":{\"0\":\"ant\",\"1\":\"dog\"}}"},)"
      R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  ByteWriter size;
  size.U64(header.size());
  EXPECT_EQ(NamesIn(size.bytes() + header + std::string(4, '\0')), (std::vector<std::string>{"ant", "dog"}));
}

TEST(ClassNames, ContradictWhereAClassStandsAtAnotherNumber) {
  EXPECT_EQ(FindClassContradiction({"Ant", "dog"}, {"ant", "cat", "dog"}),
            "class \"dog\" is number 2 in the data and number 1 in the weights");
  EXPECT_EQ(FindClassContradiction({"sports car", "dog"}, {"Sports_Car", "DOG"}), "");
  EXPECT_EQ(FindClassContradiction({}, {"ant"}), "");
  EXPECT_EQ(FindClassContradiction({"0", "1"}, {"ant", "dog"}), "");
}

// {KEY: {"a.w": tensor}, ...}, and what stands in `rest`.
std::string Checkpoint(const std::vector<std::string>& keys, const std::string& rest = "") {
  const std::string tensor = "ctorch._utils\n_rebuild_tensor_v2\n((" + Text("storage") + "ctorch\nFloatStorage\n" +
                             Text("0") + Text("cpu") + "K\x04tQ" + std::string("K\0", 2) + "(K\x04t(K\x01t\x89}tR";
  std::string pickle = "\x80\x02}";
  for (const std::string& key : keys) pickle += Text(key) + "}" + Text("a.w") + tensor + "ss";
  if (!rest.empty()) pickle += Text(rest) + "](" + tensor + "es";
  return MakeZip(pickle + ".");
}

TEST(Weights, AveragesAreFoundUnderTheKeysThatKeepThem) {
  for (const char* key : {"ema", "ema_state_dict", "shadow", "anything"}) {
    const Result<StateDict> dict = Read(Checkpoint({key}));
    ASSERT_TRUE(dict.ok()) << key << ": " << dict.status().message();
    EXPECT_EQ(dict->path, std::vector<std::string>{key});
  }
  EXPECT_EQ(Read(Checkpoint({"ema", "state_dict"}))->path, std::vector<std::string>{"state_dict"});
  EXPECT_EQ(Read(Checkpoint({"anything", "ema"}))->path, std::vector<std::string>{"ema"});
  EXPECT_THAT(Refusal(Checkpoint({"student", "teacher"})),
              HasSubstr("both 'student' and 'teacher' hold a dict of tensors"));
  EXPECT_THAT(Refusal(Checkpoint({"ema", "shadow"})),
              HasSubstr("save the one that is meant alone: torch.save(checkpoint['ema']"));
  EXPECT_THAT(Refusal(Checkpoint({}, "shadow_params")), HasSubstr("'shadow_params' lists tensors without names"));
}

TEST(HostileWeights, AnyOtherGlobalIsRefusedByNameWithItsOffset) {
  for (const char* global :
       {"os\nsystem", "posix\nsystem", "builtins\neval", "numpy.core.multiarray\nscalar", "torch\nload"}) {
    const std::string message =
        Refusal(MakeZip(std::string("\x80\x02") + "c" + global + "\n" + Text("touch /tmp/x") + "\x85R."));
    std::string name = global;
    name[name.find('\n')] = '.';
    EXPECT_THAT(message, HasSubstr("the global '" + name + "'"));
    EXPECT_THAT(message, HasSubstr("offset "));
  }
}

TEST(HostileWeights, AGlobalNamedThroughTheStackIsRefusedAsWell) {
  EXPECT_THAT(Refusal(MakeZip("\x80\x04" + Text("os") + Text("system") + "\x93.")), HasSubstr("'os.system'"));
}

TEST(HostileWeights, OpcodesThatMakeObjectsAreRefused) {
  for (const char* opcode : {"\x81", "i", "o", "\x92", "\x82", "I1\n", "P1\n"})
    EXPECT_THAT(Refusal(MakeZip(std::string("\x80\x02") + opcode + ".")), HasSubstr("opcode")) << opcode;
}

TEST(HostileWeights, ViewsBeyondTheirStorageAreRefused) {
  const std::string zero("K\0", 2), minus("J\xFF\xFF\xFF\xFF", 5), huge("\x8a\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 10);
  EXPECT_THAT(Refusal(MakeZip(TensorPickle("K\x04", zero + "(K\x05t(K\x01t"))), HasSubstr("beyond its storage"));
  EXPECT_THAT(Refusal(MakeZip(TensorPickle("K\x04", "K\x01(K\x04t(K\x01t"))), HasSubstr("beyond its storage"));
  EXPECT_THAT(Refusal(MakeZip(TensorPickle("K\x04", zero + "(K\x04t(" + minus + "t"))), HasSubstr("strides"));
  EXPECT_THAT(Refusal(MakeZip(TensorPickle("K\x04", minus + "(K\x04t(K\x01t"))), HasSubstr("before its storage"));
  EXPECT_THAT(Refusal(MakeZip(TensorPickle("K\x04", zero + "(" + huge + huge + "t(K\x01K\x01t"))),
              HasSubstr("impossible shape"));
  EXPECT_THAT(Refusal(MakeZip(TensorPickle("K\x04", zero + "(K\x03K\x03t(" + huge + huge + "t"))),
              HasSubstr("overflowing"));
  EXPECT_THAT(Refusal(MakeZip(TensorPickle(huge, zero + "(K\x04t(K\x01t"))), HasSubstr("bytes for"));
}

TEST(HostileWeights, AStrideOfZeroMakesNoTerabytes) {
  const std::string million("J\x00\x00\x00\x40", 5), zero("K\0", 2);
  EXPECT_THAT(Refusal(MakeZip(TensorPickle("K\x04", zero + "(" + million + "t(" + zero + "t"))), HasSubstr("16 times"));
}

TEST(HostileWeights, DeepNestingAndEndlessMarksEnd) {
  std::string deep = "\x80\x02";
  for (int i = 0; i < 1 << 19; ++i) deep += "](";
  EXPECT_FALSE(Refusal(MakeZip(deep + ".")).empty());
  EXPECT_THAT(Refusal(MakeZip("\x80\x02" + std::string((1 << 20) + 1, '('))), HasSubstr("2^20 marks"));
  EXPECT_THAT(Refusal(MakeZip("\x80\x02" + std::string((1 << 20) + 1, ')'))), HasSubstr("2^20 values"));
  EXPECT_THAT(Refusal(MakeZip(std::string("\x80\x02)r\xFF\xFF\xFF\xFF.", 9))), HasSubstr("memo"));
}

TEST(HostileWeights, AListOfItselfEnds) {
  EXPECT_THAT(Refusal(MakeZip(std::string("\x80\x02]q\0h\0a.", 9))), HasSubstr("no state dict"));
  EXPECT_THAT(Refusal(MakeZip(std::string("\x80\x02}q\0", 5) + Text("state_dict") + std::string("h\0s.", 4))),
              HasSubstr("no state dict"));
}

std::string Safetensors(const std::string& header, const std::string& data) {
  ByteWriter size;
  size.U64(header.size());
  return size.bytes() + header + data;
}

TEST(HostileWeights, HeadersOfSafetensorsAreBounded) {
  ByteWriter size;
  size.U64(std::uint64_t{1} << 60U);
  EXPECT_THAT(Refusal(size.bytes() + "{}"), HasSubstr("100 MB"));
  const auto tensor = [](const std::string& shape, const std::string& span) {
    return R"({"a":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" + span + "]}}";
  };
  EXPECT_TRUE(Read(Safetensors(tensor("2", "0,8"), std::string(8, '\0'))).ok());
  EXPECT_THAT(Refusal(Safetensors(tensor("2", "4,12"), std::string(12, '\0'))), HasSubstr("hole"));
  EXPECT_THAT(Refusal(Safetensors(tensor("2", "0,8"), std::string(12, '\0'))), HasSubstr("12 are there"));
  EXPECT_THAT(Refusal(Safetensors(tensor("3", "0,8"), std::string(8, '\0'))), HasSubstr("contradict"));
  EXPECT_THAT(Refusal(Safetensors(tensor("4611686018427387904,4", "0,8"), std::string(8, '\0'))),
              HasSubstr("contradict"));
  EXPECT_THAT(Refusal(Safetensors(tensor("-2", "0,8"), std::string(8, '\0'))), HasSubstr("negative"));
  EXPECT_THAT(Refusal(Safetensors(R"({"a":[[[[[[]]]]]]})", "")), HasSubstr("list"));
  EXPECT_THAT(Refusal(Safetensors(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "x")),
              HasSubstr("F8_E4M3"));
}

TEST(HostileWeights, IntegersBeyondSixtyThreeBitsAreRefused) {
  const std::string header = R"({"a":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}})";
  EXPECT_TRUE(Read(Safetensors(header, std::string(7, '\xFF') + '\x7F')).ok());
  EXPECT_THAT(Refusal(Safetensors(header, std::string(8, '\xFF'))), HasSubstr("'a' holds an integer beyond 63 bits"));
}

TEST(HostileWeights, OneNameTwiceIsRefused) {
  const std::string once = TensorPickle("K\x04", std::string("K\0", 2) + "(K\x04t(K\x01t");
  const std::string entry = once.substr(3, once.size() - 4);  // behind "\x80\x02}", without "."
  EXPECT_THAT(Refusal(MakeZip("\x80\x02}" + entry + entry + ".")), HasSubstr("'w' is there twice"));
}

// Of an empty member.
std::string TarHeader(const std::string& name) {
  std::string block = name;
  block.resize(512, '\0');
  block.replace(124, 11, "00000000000");
  block[156] = '0';
  unsigned sum = 8 * ' ';
  for (const char c : block) sum += static_cast<unsigned char>(c);
  for (std::size_t i = 6; i-- > 0; sum /= 8) block[148 + i] = static_cast<char>('0' + sum % 8);
  return block;
}

TEST(HostileWeights, TarArchivesAreBoundedAndUnambiguous) {
  const std::string end(1024, '\0'), first = TarHeader("first");
  EXPECT_THAT(Refusal(first + TarHeader("second") + end), HasSubstr("no member 'sys_info'"));
  EXPECT_THAT(Refusal(first + TarHeader("second")), HasSubstr("has no end: it was cut short"));
  EXPECT_THAT(Refusal(first + first + end), HasSubstr("two tar members are named 'first'"));
  std::string broken = TarHeader("second");
  broken[0] = 'S';
  EXPECT_THAT(Refusal(first + broken + end), HasSubstr("offset 512: the checksum of a tar header does not fit"));
  std::string many;
  for (int i = 0; i <= 4096; ++i) many += TarHeader(std::to_string(i));
  EXPECT_THAT(Refusal(many + end), HasSubstr("more than 4096 members"));
}

TEST(HostileWeights, OverlappingSpansAreRefused) {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})";
  EXPECT_THAT(Refusal(Safetensors(header, std::string(12, '\0'))), HasSubstr("overlap"));
}

TEST(WrittenWeights, WhatIsWrittenIsReadBack) {
  const std::vector<TensorBlob> tensors = {{"fc.weight", DType::f32, {2, 3}, std::vector<std::uint8_t>(24, 64)},
                                           {"bn.num_batches_tracked", DType::i64, {}, std::vector<std::uint8_t>(8, 1)},
                                           {"none", DType::f32, {0}, {}}};
  for (const auto encode : {&EncodeTorch, &EncodeSafetensors}) {
    const Result<std::string> bytes = encode(tensors, "");
    ASSERT_TRUE(bytes.ok());
    const Result<StateDict> dict = Read(*bytes);
    ASSERT_TRUE(dict.ok()) << dict.status().message();
    auto read = ByName(*dict);
    ASSERT_EQ(read.size(), tensors.size());
    for (const TensorBlob& tensor : tensors) EXPECT_EQ(read.at(tensor.name), tensor);
  }
}

TEST(WrittenWeights, DescriptionIsNoPartOfTheState) {
  const std::vector<TensorBlob> tensors = {{"w", DType::f32, {2}, std::vector<std::uint8_t>(8, 64)}};
  const std::string description = R"({"version":1,"layers":[]})";
  const std::string torch = EncodeTorch(tensors, description).value();
  EXPECT_THAT(torch, HasSubstr("archive/extra/retort.json"));
  EXPECT_THAT(torch, HasSubstr(description));
  const std::string safetensors = EncodeSafetensors(tensors, description).value();
  EXPECT_THAT(safetensors, HasSubstr(R"("retort":"{\"version\":1)"));
  for (const std::string& bytes : {torch, safetensors}) {
    const Result<StateDict> dict = Read(bytes);
    ASSERT_TRUE(dict.ok()) << dict.status().message();
    EXPECT_TRUE(dict->tensors == tensors);
    EXPECT_THAT(dict->left_out, ::testing::IsEmpty());
  }
}

TEST(HostileWeights, AnEmptyTensorOfImpossibleExtentIsRefused) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[4611686018427387903,0],"data_offsets":[0,0]}})";
  ByteWriter size;
  size.U64(header.size());
  EXPECT_THAT(Refusal(size.bytes() + header), HasSubstr("'a' has an impossible shape"));
}

// Enough bytes for two threads.
std::vector<TensorBlob> LargeState() {
  std::vector<TensorBlob> state;
  for (int i = 0; i < 40; ++i) {
    state.push_back({"t" + std::to_string(i), DType::f32, {1 << 17}, std::vector<std::uint8_t>(1 << 19)});
    for (std::size_t at = 0; at < state.back().bytes.size(); at += 4)
      state.back().bytes[at] = static_cast<std::uint8_t>(i + 1);
  }
  return state;
}

TEST(Weights, LargeFilesAreTheSameByTwoThreads) {
  const std::vector<TensorBlob> state = LargeState();
  const Result<StateDict> dict = Read(EncodeTorch(state).value());
  ASSERT_TRUE(dict.ok()) << dict.status().message();
  EXPECT_TRUE(dict->tensors == state);
}

TEST(Weights, OfTwoFailuresInALargeFileTheFirstIsTold) {
  std::vector<TensorBlob> state = LargeState();
  for (const std::size_t broken : {11U, 12U}) state[broken].bytes[3] = 0x7F, state[broken].bytes[2] = 0xC0;
  const std::string bytes = EncodeSafetensors(state).value();
  for (int round = 0; round < 5; ++round) EXPECT_THAT(Refusal(bytes), HasSubstr("'t11' holds NaN"));
}

TEST(WrittenWeights, TwoTensorsOfOneNameAreRefused) {
  const TensorBlob tensor{"w", DType::u8, {1}, {7}};
  EXPECT_FALSE(EncodeTorch({tensor, tensor}).ok());
  EXPECT_FALSE(EncodeSafetensors({tensor, tensor}).ok());
}

}  // namespace
}  // namespace retort::storage
