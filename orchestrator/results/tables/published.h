// Holds the papers' own values, compiled in from experiments/reference/published.csv, and the conditions under which a
// value may stand beside a trial.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/privacy/claim.h"

namespace retort::orchestrator {

struct PublishedValue {
  std::string paper, table, dataset, approach;
  std::optional<double> epsilon;  // as the paper claims it
  std::optional<double> delta;    // likewise; nothing: the source names none
  std::string setting, metric;
  double value = 0;     // fraction for accuracies; "155.21K" is 155,210
  std::string note;     // what has to be known of the value; most have none
  std::string printed;  // the value as it stands in the file
};

// The bytes of experiments/reference/published.csv; defined in a file that the build generates.
[[nodiscard]] std::string_view GetPublishedCsv();

// Rows of published.csv. Left out: rows of another number of columns, and values that are no number, or one in
// thousands ("K") or millions ("M").
[[nodiscard]] std::vector<PublishedValue> ParsePublished(std::string_view csv);

// All compiled-in values, in the order of the file.
[[nodiscard]] const std::vector<PublishedValue>& ReadAllPublished();
// Those of one "paper/table". Empty when there is no such table, or no name.
[[nodiscard]] std::vector<PublishedValue> FindPublishedTable(std::string_view paper_and_table);
// Every "paper/table" there is.
[[nodiscard]] std::vector<std::string> ListPublishedTables();

// Returns what the source claims the value's epsilon for: `label` of approaches and settings that protect labels alone,
// else `example`.
[[nodiscard]] privacy::Adjacency FindAdjacency(const PublishedValue& value);

// Whether a count that was measured is the one that is printed, to the digits of "155.21K".
[[nodiscard]] bool RoundsToPrinted(const PublishedValue& value, double measured);

// "DPSD, label-sensitive, MNIST, ε = 1 in dpsd/table4".
[[nodiscard]] std::string FormatPublishedName(const PublishedValue& value);

// The note as a footnote, which says where it is from; empty without a note.
[[nodiscard]] std::string FormatPublishedNote(const PublishedValue& value);

// Which trials a published value may stand beside. The papers name data sets, approaches and settings in words; the
// tables of published.cc turn each word that they use into conditions on the keys of a trial. Where a word has no
// row there, the value joins nothing and is quoted alone.

enum class Relation : unsigned char {
  is,      // one of the values; numbers compare as numbers
  is_not,  // none of the values
  on,      // a number above zero under one of the keys
  off,     // under none of the keys a number above zero
};

struct TrialCondition {
  // Keys of [trial]; of its teacher ("teacher.members"); "role", "metric" (of the table), "public_fraction" (public
  // examples among those that are not for testing), "data.sensitive_classes" ("6,9"). For `is` and `is_not` the first
  // counts that applies to the trial.
  std::vector<std::string> keys;
  Relation relation = Relation::is;
  std::vector<std::string> values;
};

struct PublishedScope {
  bool joins = false;                      // false: no trial, whatever its keys
  bool formula = false;                    // the value's epsilon is what the formula of the trial's own paper gives
  std::vector<TrialCondition> conditions;  // all hold; what is known of them, too, where nothing joins
};

[[nodiscard]] PublishedScope FindScope(const PublishedValue& value);

// "Fashion-MNIST", "FashionMNIST" and "FMNIST" are one; case, blanks, '-' and '_' do not count.
[[nodiscard]] bool IsSameDataSet(std::string_view a, std::string_view b);
[[nodiscard]] bool IsSameApproach(std::string_view a, std::string_view b);

}  // namespace retort::orchestrator
