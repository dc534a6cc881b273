// results.h5: the derived view of a sweep, republished by rename; and its rows, as they stand in the journal too.
// Layout in storage/FORMAT.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/claim.h"
#include "storage/files/env.h"
#include "storage/log/privacy_ledger.h"

namespace retort::storage {

// One trial's immutable result.
struct ResultRow {
  std::string trial;  // 16 hex
  std::string name, role, method, reading, teacher, data, network;
  std::uint64_t seed = 0;
  std::string state;  // succeeded | failed | parent-failed | cancelled
  std::uint32_t attempts = 0;
  std::string failure, detail;
  std::vector<std::pair<std::string, double>> metrics;  // "test.accuracy", ...
  std::vector<std::pair<std::string, double>> timings;  // provenance
  std::string row_digest;                               // SHA-256 hex of spec, metrics, parameters digest
  std::string parameters_digest;
  std::string spec_json;  // EncodeTrialSpec
  std::string provenance_json;
  std::string attempt_file;  // relative to the results folder; empty when failed
  std::vector<std::pair<std::string, std::string>> axes;
  std::vector<privacy::Claim> claims;
};

[[nodiscard]] std::string EncodeRow(const ResultRow& row);  // one JSON object, exact
[[nodiscard]] Result<ResultRow> DecodeRow(const std::string& json);
// SHA-256 hex over spec, metrics (bit patterns) and parameters digest: 'equal rows' means equal digests.
[[nodiscard]] std::string ComputeRowDigest(const ResultRow& row);
// The same where the spec that row.spec_json encodes is at hand.
[[nodiscard]] std::string ComputeRowDigest(const ResultRow& row, const TrialSpec& spec);

// `results_directory` holds results.h5 and the attempts that rows refer to.
[[nodiscard]] Status WriteResultFile(Env& env, const std::string& results_directory, const std::string& sweep,
                                     const std::vector<ResultRow>& rows, const std::vector<LedgerEntry>& ledger);

// Whether results.h5 is what was written, and its tables can be read. Error: damage, or environment, also where it is
// not there.
[[nodiscard]] Status CheckResultFile(const std::string& results_directory);

// The claims that results.h5 shows, by trial (16 hex). Error: environment when it is absent or may not be read; damage.
[[nodiscard]] Result<std::map<std::string, std::vector<privacy::Claim>>> ReadShownClaims(
    const std::string& results_directory);

}  // namespace retort::storage
