// Result rows as the tables /rows and /provenance of results.h5.
#pragma once

#include <vector>

#include "storage/hdf5_table.h"
#include "storage/result_file.h"

namespace retort::storage {

// Fixed columns, then a column per metric ('.' becomes '_'; NaN where a row lacks it), then a column per
// axis: the key where no other column has that name, else axis_<key>. An axis whose every value is a
// number has numbers.
[[nodiscard]] Table RowTable(const std::vector<ResultRow>& rows);
// trial, name, value: everything that differs between equal runs because clocks do.
[[nodiscard]] Table TimingTable(const std::vector<ResultRow>& rows);
// trial, spec_json, provenance_json.
[[nodiscard]] Table ProvenanceTable(const std::vector<ResultRow>& rows);

}  // namespace retort::storage
