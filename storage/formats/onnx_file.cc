#include "storage/formats/onnx_file.h"

#include <limits>

#include "storage/formats/protobuf_message.h"

namespace retort::storage {
namespace {

// Fields by their numbers in onnx.proto.
namespace field {
constexpr std::uint32_t kModelVersion = 1, kModelProducer = 2, kProducerVersion = 3, kModelDescription = 6,
                        kModelGraph = 7, kModelOpset = 8, kModelMetadata = 14;
constexpr std::uint32_t kOpsetVersion = 2;
constexpr std::uint32_t kEntryKey = 1, kEntryValue = 2;
constexpr std::uint32_t kGraphNode = 1, kGraphName = 2, kGraphConstant = 5, kGraphInput = 11, kGraphOutput = 12;
constexpr std::uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeOperator = 4, kNodeAttribute = 5;
constexpr std::uint32_t kAttributeName = 1, kAttributeFloat = 2, kAttributeInteger = 3, kAttributeText = 4,
                        kAttributeIntegers = 8, kAttributeType = 20;
constexpr std::uint32_t kTensorExtent = 1, kTensorElement = 2, kTensorName = 8, kTensorBytes = 9;
constexpr std::uint32_t kValueName = 1, kValueType = 2, kTypeTensor = 1, kElementType = 1, kTypeShape = 2;
constexpr std::uint32_t kShapeExtent = 1, kExtentNumber = 1, kExtentName = 2;
}  // namespace field

constexpr std::uint64_t kIrVersion = 8;
constexpr std::uint64_t kFloatAttribute = 1, kIntegerAttribute = 2, kTextAttribute = 3,
                        kIntegersAttribute = 7;  // AttributeType
constexpr const char* kRowsName = "rows";

// TensorProto.DataType
std::uint64_t FindElementType(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 1;
    case DType::u8:
      return 2;
    case DType::i32:
      return 6;
    case DType::i64:
      return 7;
    case DType::f64:
      return 11;
    case DType::u32:
      return 12;
    case DType::u64:
      return 13;
  }
  return 0;
}

std::string EncodeAttribute(const OnnxAttribute& attribute) {
  ProtobufMessage message;
  message.Bytes(field::kAttributeName, attribute.name);
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    message.Signed(field::kAttributeInteger, *integer).Integer(field::kAttributeType, kIntegerAttribute);
  } else if (const auto* number = std::get_if<double>(&attribute.value)) {
    message.Float(field::kAttributeFloat, static_cast<float>(*number)).Integer(field::kAttributeType, kFloatAttribute);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    message.Bytes(field::kAttributeText, *text).Integer(field::kAttributeType, kTextAttribute);
  } else {
    for (const std::int64_t each : std::get<std::vector<std::int64_t>>(attribute.value))
      message.Signed(field::kAttributeIntegers, each);
    message.Integer(field::kAttributeType, kIntegersAttribute);
  }
  return std::move(message).Take();
}

std::string EncodeNode(const OnnxNode& node) {
  ProtobufMessage message;
  for (const std::string& input : node.inputs) message.Bytes(field::kNodeInput, input);
  for (const std::string& output : node.outputs) message.Bytes(field::kNodeOutput, output);
  message.Bytes(field::kNodeName, node.name).Bytes(field::kNodeOperator, node.op);
  for (const OnnxAttribute& attribute : node.attributes)
    message.Bytes(field::kNodeAttribute, EncodeAttribute(attribute));
  return std::move(message).Take();
}

std::string EncodeValue(const OnnxValue& value) {
  ProtobufMessage shape;
  for (const std::int64_t extent : value.shape) {
    ProtobufMessage each;
    if (extent == kAnyRows)
      each.Bytes(field::kExtentName, kRowsName);
    else
      each.Signed(field::kExtentNumber, extent);
    shape.Bytes(field::kShapeExtent, each.bytes());
  }
  ProtobufMessage tensor;
  tensor.Integer(field::kElementType, FindElementType(value.dtype)).Bytes(field::kTypeShape, shape.bytes());
  const std::string type = ProtobufMessage().Bytes(field::kTypeTensor, tensor.bytes()).bytes();
  return ProtobufMessage().Bytes(field::kValueName, value.name).Bytes(field::kValueType, type).bytes();
}

}  // namespace

std::string EncodeOnnxGraph(const OnnxGraph& graph) {
  ProtobufMessage message;
  message.Bytes(field::kGraphName, graph.name);
  for (const OnnxNode& node : graph.nodes) message.Bytes(field::kGraphNode, EncodeNode(node));
  for (const OnnxValue& input : graph.inputs) message.Bytes(field::kGraphInput, EncodeValue(input));
  for (const OnnxValue& output : graph.outputs) message.Bytes(field::kGraphOutput, EncodeValue(output));
  std::string bytes = std::move(message).Take();
  for (const TensorBlob& constant : graph.constants) AppendOnnxConstant(bytes, constant);
  return bytes;
}

void AppendOnnxConstant(std::string& graph, const TensorBlob& tensor) {
  ProtobufMessage head;
  for (const std::int64_t extent : tensor.shape) head.Signed(field::kTensorExtent, extent);
  head.Integer(field::kTensorElement, FindElementType(tensor.dtype))
      .Bytes(field::kTensorName, tensor.name)
      .BytesHead(field::kTensorBytes, tensor.bytes.size());
  graph += ProtobufMessage().BytesHead(field::kGraphConstant, head.bytes().size() + tensor.bytes.size()).bytes();
  graph += head.bytes();
  graph.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
}

Status CheckOnnxSize(std::uint64_t bytes) {
  if (bytes <= std::numeric_limits<std::int32_t>::max()) return {};
  return Refused("An ONNX file has at most 2 GiB, and this would have " + std::to_string(bytes) +
                 " bytes; --format safetensors has no such bound.");
}

Result<std::string> EncodeOnnxModel(std::string graph, const OnnxFacts& facts) {
  ProtobufMessage head, tail;
  head.Integer(field::kModelVersion, kIrVersion)
      .Bytes(field::kModelProducer, "retort")
      .Bytes(field::kProducerVersion, facts.producer_version)
      .Bytes(field::kModelDescription, facts.description)
      .BytesHead(field::kModelGraph, graph.size());
  tail.Bytes(field::kModelOpset, ProtobufMessage().Integer(field::kOpsetVersion, kOnnxOpset).bytes());
  for (const auto& [key, value] : facts.metadata)
    tail.Bytes(field::kModelMetadata,
               ProtobufMessage().Bytes(field::kEntryKey, key).Bytes(field::kEntryValue, value).bytes());
  RETORT_RETURN_IF_ERROR(CheckOnnxSize(head.bytes().size() + graph.size() + tail.bytes().size()));
  graph.insert(0, head.bytes());
  graph += tail.bytes();
  return graph;
}

}  // namespace retort::storage
