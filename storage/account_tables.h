// Claims and ledger entries as tables; the columns of /claims and /ledger.
#pragma once

#include <string>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/spec/status.h"
#include "storage/hdf5_table.h"
#include "storage/privacy_ledger.h"

namespace retort::storage {

// `trials`: one 16-hex id per claim for the column `trial`, or empty for none.
[[nodiscard]] Table ClaimTable(const std::vector<privacy::Claim>& claims,
                               const std::vector<std::string>& trials);
// Exact. Error: damage.
[[nodiscard]] Result<std::vector<privacy::Claim>> ClaimsFrom(const Table& table);

[[nodiscard]] Table LedgerTable(const std::vector<LedgerEntry>& entries);
// Exact. Error: damage.
[[nodiscard]] Result<std::vector<LedgerEntry>> LedgerFrom(const Table& table);

}  // namespace retort::storage
