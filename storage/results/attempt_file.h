// attempt.h5: the results of one finished attempt. Written once, by rename; layout in storage/FORMAT.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/claim.h"
#include "storage/files/env.h"
#include "storage/formats/tensor_blob.h"
#include "storage/log/privacy_ledger.h"

namespace retort::storage {

struct Samples {
  TensorBlob images;                // u8 [N, C, H, W]
  TensorBlob released;              // f32 or i32 [N, c]
  std::vector<std::uint64_t> step;  // [N]
  std::vector<double> mean, std;    // one a channel: pixel = (u8 / 255 - mean) / std
  std::string claim;                // one line: what the samples are charged under
};

struct Evaluation {
  std::vector<std::uint32_t> confusion;  // [classes * classes], row = true class
  std::int64_t classes = 0;
  double accuracy = 0, top5 = 0;
  std::int64_t n = 0;
};

struct AttemptFile {
  std::string trial, sweep, spec_json, provenance_json;
  std::string teacher_digest;  // ComputeTensorDigest of the teacher's parameters; empty without a teacher
  std::uint32_t attempt = 0;
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> curves;
  std::optional<Samples> samples;
  std::vector<TensorBlob> parameters;  // names begin "student/", "generator/" or "teacher/"
  std::optional<Evaluation> evaluation;
  std::vector<LedgerEntry> ledger;  // the attempt's own view of what it was granted and used
  std::vector<privacy::Claim> claims;
  std::vector<std::pair<std::string, double>> metrics, timings;  // as reported at its end, in this order
};

[[nodiscard]] Status WriteAttemptFile(Env& env, const std::string& path, const AttemptFile& file);
// Reads the parameters whose name begins with `prefix`, e.g. "teacher/". Error: damage or environment.
[[nodiscard]] Result<std::vector<TensorBlob>> ReadParameters(const std::string& path, const std::string& prefix);
[[nodiscard]] Result<AttemptFile> ReadAttemptFile(const std::string& path);
// Reads the curves, samples and evaluation alone; the other fields stay empty.
[[nodiscard]] Result<AttemptFile> ReadAttemptResults(const std::string& path);

}  // namespace retort::storage
