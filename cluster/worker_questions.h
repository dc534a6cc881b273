// What a worker program can be asked in place of a trial, by an argument, and how it answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "cluster/socket_link.h"
#include "experiments/base/status.h"

namespace retort::cluster {

// Sends the whole answer, then Ended; or Ended alone, with the text of the error, which may be that no envelope (4 MiB)
// holds the answer. Its failure is `configuration` for usage and refused, `disk` for damage, else `internal`. Error:
// that of the link.
[[nodiscard]] Status SendAnswer(SocketLink& link, const Result<std::string>& answer);

// The argument with which the worker program reports about itself in place of its work: its build, its LibTorch, its
// speed. The number of threads to measure with follows it.
inline constexpr const char* kReportArgument = "--report";

struct WorkerReport {
  std::string build;          // "0.1.0"
  std::int64_t envelope = 0;  // version of the messages that it speaks
  std::string torch;          // "2.11.0"
  std::string capability;     // instructions that LibTorch uses: "AVX2"
  std::int64_t threads = 0;   // that `gflops` is for
  double gflops = 0;          // 10^9 operations a second of a product of matrices, f32
};

// One JSON object; round-trips exactly.
[[nodiscard]] std::string EncodeWorkerReport(const WorkerReport& report);
// Error: damage, naming the field.
[[nodiscard]] Result<WorkerReport> DecodeWorkerReport(const std::string& json);

// The argument with which the worker program, in place of its work, takes the order that follows it.
inline constexpr const char* kModelArgument = "--model-check";

// A question about a network: its state, saved weights, and the logits of a few images.
struct ModelOrder {
  std::string network;       // of a sweep file; ignored for a TorchScript module
  std::string layers;        // of a network that a sweep file describes (TrialSpec::layers); empty: one of the zoo
  std::string weights;       // absolute path, or empty: initial parameters of seed 0
  std::string input;         // absolute path of a .npy, f32 [rows, channels, height, width], or empty
  std::string logits_out;    // absolute path, or empty
  std::int64_t classes = 0;  // 0: as the weights have it, else the network's usual number
  std::int64_t channels = 0, height = 0,
               width = 0;    // 0: as the input has it, else the network's usual images
  bool torchscript = false;  // `weights` is a module, whose code is run
  bool non_finite = false;   // NaN and infinity in the weights are let through
};

// One JSON object; round-trips exactly.
[[nodiscard]] std::string EncodeModelOrder(const ModelOrder& order);
// Error: damage, naming the field.
[[nodiscard]] Result<ModelOrder> DecodeModelOrder(const std::string& json);

// The argument with which the worker program, in place of its work, takes the spec of a trial (EncodeTrialSpec) that
// follows it, and answers with the layers of the network that the trial trains (worker/models/layer_text.h).
inline constexpr const char* kLayersArgument = "--network-layers";

// The arguments with which the worker program, in place of its work, takes the spec of a trial that follows them, and
// answers with the network that the trial trains, or its generator, as a graph of ONNX.
inline constexpr const char* kGraphArgument = "--network-graph";
inline constexpr const char* kGeneratorGraphArgument = "--generator-graph";

// A graph without the tensors of the trial's state.
struct GraphAnswer {
  std::vector<std::string> state;  // names of the tensors that are still to be added, without the group's prefix
  std::string graph;               // bytes of a GraphProto (storage/formats/onnx_file.h)
};

// One JSON object, the bytes in hex digits; round-trips exactly.
[[nodiscard]] std::string EncodeGraphAnswer(const GraphAnswer& answer);
// Error: damage, naming the field.
[[nodiscard]] Result<GraphAnswer> DecodeGraphAnswer(const std::string& json);

// The argument with which the worker program, in place of its work, takes the order that follows it, writes a network
// or a generator as a TorchScript archive, and answers with nothing.
inline constexpr const char* kScriptArgument = "--torchscript";

struct ScriptOrder {
  std::string spec;          // EncodeTrialSpec
  std::string attempt_file;  // absolute path of what the trial left
  std::string out;           // absolute path of a file that is not there
  std::string description;   // what the archive says of itself
  bool generator = false;    // in place of the network
};

// One JSON object; round-trips exactly.
[[nodiscard]] std::string EncodeScriptOrder(const ScriptOrder& order);
// Error: damage, naming the field.
[[nodiscard]] Result<ScriptOrder> DecodeScriptOrder(const std::string& json);

// The argument with which the worker program looks for CUDA devices in place of its work, and sends one Hello that says
// what it found.
inline constexpr const char* kProbeCuda = "--probe-cuda";

// Makes that Hello: `usable` CUDA devices, or the reason why there are none.
[[nodiscard]] Hello MakeCudaAnswer(const std::string& build, const Result<int>& usable);

// Starts `program` with that argument in `environment` ("NAME=value", complete), and ends it. Returns at least 1.
// Error: environment, with the program's message, when it can use none, cannot be started, or does not answer in time.
[[nodiscard]] Result<int> CountUsableCuda(const std::string& program, const std::vector<std::string>& environment,
                                          std::chrono::milliseconds deadline = std::chrono::seconds(60));

}  // namespace retort::cluster
