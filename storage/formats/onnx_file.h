// Files of ONNX: a graph of operators, the constants that they take, and what the file says of itself. Encoded as
// protobuf, by onnx.proto of IR version 8, for the operators of opset 17 (ONNX 1.12, ONNX Runtime 1.12 and newer).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"

namespace retort::storage {

inline constexpr std::int64_t kOnnxOpset = 17;
inline constexpr std::int64_t kAnyRows = -1;  // an extent that whoever runs the graph chooses

// Of a node: an integer, a number (kept as float32), a text, or a list of integers.
struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>> value;
};

// An operator and the names of the values that it takes and gives.
struct OnnxNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;
  std::vector<OnnxAttribute> attributes = {};
};

// What goes into the graph or comes out of it. Extents are numbers or kAnyRows.
struct OnnxValue {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
};

// Nodes stand behind those whose values they take. Names are distinct, and those of the constants name values, too.
struct OnnxGraph {
  std::string name;
  std::vector<OnnxNode> nodes;
  std::vector<TensorBlob> constants;
  std::vector<OnnxValue> inputs, outputs;
};

// Returns the message GraphProto, to which AppendOnnxConstant may add what is still missing. f32, f64, i32 and i64.
[[nodiscard]] std::string EncodeOnnxGraph(const OnnxGraph& graph);
// Adds a constant to an encoded graph.
void AppendOnnxConstant(std::string& graph, const TensorBlob& tensor);

// What a model says of itself.
struct OnnxFacts {
  std::string producer_version;
  std::string description;                                    // a sentence for people
  std::vector<std::pair<std::string, std::string>> metadata;  // keys are distinct
};

// Error: refused above 2 GiB, the most that a protobuf message may have.
[[nodiscard]] Status CheckOnnxSize(std::uint64_t bytes);

// Returns the file. Error: of CheckOnnxSize.
[[nodiscard]] Result<std::string> EncodeOnnxModel(std::string graph, const OnnxFacts& facts);

}  // namespace retort::storage
