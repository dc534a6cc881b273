// The papers' own values, compiled in from experiments/reference/published.csv.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retort::orchestrator::cli {

struct PublishedValue {
  std::string paper, table, dataset, approach;
  std::optional<double> epsilon;  // as the paper claims it
  double delta = 0;               // likewise; 0 = none claimed
  std::string setting, metric;
  double value = 0;     // fraction for accuracies; "155.21K" is 155,210
  std::string note;     // what has to be known of the value; most have none
  std::string printed;  // the value as it stands in the file
};

// Rows of published.csv. Left out: rows of another number of columns, and values that are no number, or one in
// thousands ("K") or millions ("M").
[[nodiscard]] std::vector<PublishedValue> ParsePublished(std::string_view csv);

// All compiled-in values, in the order of the file.
[[nodiscard]] const std::vector<PublishedValue>& AllPublished();
// Those of one "paper/table". Empty when there is no such table, or no name.
[[nodiscard]] std::vector<PublishedValue> PublishedTable(std::string_view paper_and_table);
// Every "paper/table" there is.
[[nodiscard]] std::vector<std::string> PublishedTableNames();

// "DPSD, label-sensitive, MNIST, ε = 1 in dpsd/table4".
[[nodiscard]] std::string PublishedName(const PublishedValue& value);

// The note as a footnote, which says where it is from; empty without a note.
[[nodiscard]] std::string PublishedNote(const PublishedValue& value);

}  // namespace retort::orchestrator::cli
