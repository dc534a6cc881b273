// Graphs of ONNX (storage/formats/onnx_file.h), put together operator by operator.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/formats/onnx_file.h"

namespace retort::worker::onnx {

using Shape = std::vector<std::int64_t>;

// The shape of as many as one likes, of the shape of one.
[[nodiscard]] Shape AddRows(Shape of_one);

// A graph without the tensors of the state that it takes: those are in the trial's file, under the names in `state`.
struct StatelessGraph {
  storage::OnnxGraph graph;
  std::vector<std::string> state;  // in the order in which they were used, each once
};

// A value of the graph is known by its name. Shapes that are given or asked for have the rows first.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);

  // Returns `name`. A shape begins with storage::kAnyRows.
  std::string AddInput(const std::string& name, storage::DType dtype, Shape shape);
  // What is added from now on has names that begin with `scope`, as "12.conv".
  void Enter(std::string scope) { scope_ = std::move(scope); }

  // Adds an operator of one result, and returns that.
  std::string Add(const std::string& op, std::vector<std::string> inputs,
                  std::vector<storage::OnnxAttribute> attributes = {});
  // Returns the tensor of the state, which is not part of the graph.
  std::string UseState(const std::string& name);
  // Constants: f32 with the shape of the tensor; one number, as f32 or as i64; i64 [n].
  std::string AddTensor(const at::Tensor& values);
  std::string AddNumber(double value);
  std::string AddInteger(std::int64_t value);
  std::string AddIntegers(const std::vector<std::int64_t>& values);

  // Operators that several layers are made of.
  std::string Reshape(const std::string& x, const Shape& shape);  // 0: as it is, -1: what is left
  // Every `step`-th from `first` to before `past`, along one axis.
  std::string Slice(const std::string& x, std::int64_t axis, std::int64_t first, std::int64_t past,
                    std::int64_t step = 1);
  // `pads`: as many before each axis, then as many behind each; mode "constant" puts `value` there.
  std::string Pad(const std::string& x, const std::vector<std::int64_t>& pads, const std::string& mode = "constant",
                  double value = 0);
  std::string Scale(const std::string& x, double factor);
  // Of [rows, channels, ...] with `rank` extents: each channel normalised by the statistics of the batch at hand.
  std::string Normalise(const std::string& x, std::int64_t rank, double epsilon);
  // x times `weight` plus `bias`, one of each a channel, which are names of the state.
  std::string ScaleChannels(const std::string& x, std::int64_t rank, const std::string& weight,
                            const std::string& bias);
  // Both of these: by the state's name.weight and name.bias.
  std::string NormaliseAndScale(const std::string& x, std::int64_t rank, double epsilon, const std::string& name);
  // x of [rows, inputs] times the state's `weight`, plus its `bias` unless that is empty.
  std::string MultiplyByState(const std::string& x, const std::string& weight, const std::string& bias);
  // x [rows, channels, height, width] and a constant a channel.
  std::string CombineByChannel(const std::string& op, const std::string& x, const std::vector<double>& values);
  // Planes of `factor` times the height and width; bilinear: between the centres of the corners.
  std::string Enlarge(const std::string& x, std::int64_t factor, bool bilinear);
  // The larger of the value and `least`.
  std::string AtLeast(const std::string& x, double least);

  // The graph whose result, called `output`, is `value`. A shape begins with storage::kAnyRows.
  [[nodiscard]] StatelessGraph Finish(const std::string& value, const std::string& output, Shape shape) &&;

 private:
  std::string MakeName(const std::string& word);
  std::string AddConstant(storage::TensorBlob tensor);
  StatelessGraph built_;
  std::string scope_;
  std::map<std::string, int> names_;              // how often a word was asked for
  std::map<std::string, std::string> constants_;  // by their contents, where these are small
  std::set<std::string> used_;
};

}  // namespace retort::worker::onnx
