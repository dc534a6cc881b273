// What a worker program says of itself when it is asked: whether it is of this build, its LibTorch, its
// speed.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/spec/status.h"

namespace retort::cluster {

// The argument with which the worker program, in place of its work, reports; the number of threads to measure
// with follows it.
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

}  // namespace retort::cluster
