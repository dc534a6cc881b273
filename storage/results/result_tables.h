// Claims, ledger entries and result rows as tables of HDF5 files.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/claim.h"
#include "storage/log/privacy_ledger.h"
#include "storage/results/hdf5_conventions.h"
#include "storage/results/result_file.h"

namespace retort::storage {

// `trials`: one 16-hex id per claim for the column `trial`, or empty for none.
[[nodiscard]] Table MakeClaimTable(const std::vector<privacy::Claim>& claims, const std::vector<std::string>& trials);
// Exact. Error: damage.
[[nodiscard]] Result<std::vector<privacy::Claim>> DecodeClaimTable(const Table& table);

[[nodiscard]] Table MakeLedgerTable(const std::vector<LedgerEntry>& entries);
// Exact. Error: damage.
[[nodiscard]] Result<std::vector<LedgerEntry>> DecodeLedgerTable(const Table& table);

// Fixed columns, then a column per metric ('.' becomes '_'; NaN where a row lacks it), then a column per
// axis: the key where no other column has that name, else axis_<key>. An axis whose every value is a
// number has numbers.
[[nodiscard]] Table MakeRowTable(const std::vector<ResultRow>& rows);
// trial, name, value: everything that differs between equal runs because clocks do.
[[nodiscard]] Table MakeTimingTable(const std::vector<ResultRow>& rows);
// trial, spec_json, provenance_json.
[[nodiscard]] Table MakeProvenanceTable(const std::vector<ResultRow>& rows);

}  // namespace retort::storage
