// The bytes of ONNX files; that ONNX and ONNX Runtime read them is tests/python/onnx_zoo_test.py's.
#include "storage/formats/onnx_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "storage/formats/protobuf_message.h"

namespace retort::storage {
namespace {

using std::string_literals::operator""s;

TEST(ProtobufMessage, NumbersAreVarints) {
  EXPECT_EQ(ProtobufMessage().Integer(1, 127).bytes(), "\x08\x7f");
  EXPECT_EQ(ProtobufMessage().Integer(1, 300).bytes(), "\x08\xac\x02");
  EXPECT_EQ(ProtobufMessage().Integer(20, 0).bytes(), "\xa0\x01\0"s);
  EXPECT_EQ(ProtobufMessage().Signed(1, -1).bytes(), "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(ProtobufMessage().Float(2, 1).bytes(), "\x15\0\0\x80\x3f"s);
  EXPECT_EQ(ProtobufMessage().Double(2, 1).bytes(), "\x11\0\0\0\0\0\0\xf0\x3f"s);
}

TEST(ProtobufMessage, TextFollowsItsSize) {
  EXPECT_EQ(ProtobufMessage().Bytes(2, "ab").bytes(), "\x12\x02"s + "ab");
  EXPECT_EQ(ProtobufMessage().BytesHead(2, 2).bytes() + "ab", ProtobufMessage().Bytes(2, "ab").bytes());
}

TensorBlob MakeConstant() { return {"c", DType::f32, {1}, {0, 0, 128, 63}}; }

OnnxGraph MakeGraph() {
  return {"g",
          {{"Add", "n", {"x", "c"}, {"y"}, {{"i", 1}, {"f", 0.5}, {"s", "t"}, {"l", std::vector<std::int64_t>{2, 3}}}}},
          {},
          {{"x", DType::f32, {kAnyRows, 1}}},
          {{"y", DType::f32, {kAnyRows, 1}}}};
}

TEST(OnnxGraph, ConstantsMayFollow) {
  OnnxGraph whole = MakeGraph();
  whole.constants.push_back(MakeConstant());
  std::string graph = EncodeOnnxGraph(MakeGraph());
  AppendOnnxConstant(graph, MakeConstant());
  EXPECT_EQ(graph, EncodeOnnxGraph(whole));
  EXPECT_TRUE(graph.ends_with("\x2a\x0d\x08\x01\x10\x01\x42\x01"s + "cJ\x04\0\0\x80\x3f"s));
}

TEST(OnnxGraph, ExtentOfTheRowsIsNamed) {
  const std::string graph = EncodeOnnxGraph(MakeGraph());
  EXPECT_NE(graph.find("\x5a\x17\x0a\x01x\x12\x12\x0a\x10\x08\x01\x12\x0c\x0a\x06\x12\x04rows\x0a\x02\x08\x01"),
            std::string::npos);
}

TEST(OnnxModel, SaysItsVersions) {
  const std::string graph = EncodeOnnxGraph(MakeGraph());
  const Result<std::string> model = EncodeOnnxModel(graph, {"1.0", "d", {{"k", "v"}}});
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE(
      model->starts_with("\x08\x08\x12\x06retort\x1a\x03"
                         "1.0\x32\x01"
                         "d\x3a"));
  EXPECT_TRUE(model->ends_with(graph + "\x42\x02\x10\x11\x72\x06\x0a\x01k\x12\x01v"));
}

TEST(OnnxModel, AboveTwoGibibytesIsRefused) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  EXPECT_TRUE(CheckOnnxSize(kMost).ok());
  const Status more = CheckOnnxSize(kMost + 1);
  EXPECT_EQ(more.code(), StatusCode::refused);
  EXPECT_NE(more.message().find("--format safetensors"), std::string::npos);
}

}  // namespace
}  // namespace retort::storage
