// What the numbers of the HDF5 files mean, for people who open them without storage/FORMAT.md: the
// attributes `long_name` and `units` of a dataset, and dimension scales that name its axes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retort::storage {

class Hdf5Writer;
struct TableColumn;

// UDUNITS: "s"; "1" is a fraction, a count or a loss. Empty: none.
struct Quantity {
  std::string long_name;
  std::string units;
};

// Of a curve, a metric or a timing by its name: "train.student_loss", "step_seconds". A name of none of the
// known ones is its own words.
[[nodiscard]] Quantity QuantityOf(const std::string& name);

// `path` has been written.
void Describe(Hdf5Writer& writer, const std::string& path, const Quantity& quantity);

// Attribute `column_units` of a table that has been written: a JSON object of the columns that have units.
void DescribeColumns(Hdf5Writer& writer, const std::string& path, const std::vector<TableColumn>& table);

// Creates the dimension scale `path` = 0 … extent − 1, a dimension called as its last component. An extent
// that no picture and no set of classes has is refused through the writer.
void WriteScale(Hdf5Writer& writer, const std::string& path, std::int64_t extent, std::string_view long_name);

// Axis i of `dataset` is measured by scales[i]; axes beyond the scales are left without.
void AttachScales(Hdf5Writer& writer, const std::string& dataset, const std::vector<std::string>& scales);

}  // namespace retort::storage
