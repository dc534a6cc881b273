// What the calculator can be asked: mechanisms, their parameters and the ranges of those.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort::privacy {

enum class ParameterRange : unsigned char {
  positive,     // finite, > 0
  rate,         // (0, 1]
  probability,  // (0, 1)
  whole,        // 1, 2, ... up to 10^15
  choices,      // 2, 3, ... up to 10^9
  retries,      // 0, 1, ... up to 1000, as the sweep's key
  grain,        // 1, 2, ... up to 1024, as the sweep's key
  shape,        // above -1, up to 10^6
};

struct ParameterRule {
  std::string_view name;  // as the flag, without dashes
  ParameterRange range;
  std::string_view meaning;
  bool optional = false;
};

struct MechanismRule {
  std::string_view name;    // "gaussian", ...; "paper" has one rule for each method, "select" for each base
  std::string_view method;  // of "paper": "dpdfd", ...; of "select" what one candidate is; else empty
  std::string_view meaning;
  std::vector<ParameterRule> parameters;
  std::vector<std::string_view> solvable;  // parameters that can be solved for, least noise first
  std::string_view example;                // of `retort epsilon`, after the mechanism
};

// In the order of the help.
[[nodiscard]] const std::vector<MechanismRule>& ListMechanismRules();
[[nodiscard]] std::vector<std::string> ListMechanismNames();  // each once
[[nodiscard]] std::vector<std::string> ListPaperMethodNames();
[[nodiscard]] std::vector<std::string> ListSelectionBaseNames();
[[nodiscard]] std::vector<std::string> ListDistributionNames();  // of the number of draws of "select"

struct Question {
  std::string mechanism;
  std::string method;                    // of "paper"; of "select" what one candidate is
  std::string accountant;                // "rdp" or "pld" for subsampled-gaussian; empty = every one
  std::map<std::string, double> values;  // by parameter name
  bool quick = false;                    // for searches: without the accountants that take a second
  std::string distribution = {};         // of "select"; empty = geometric, or what --eta says
  // Of "select": for each candidate what it has instead of `values`; empty = all are alike.
  std::vector<std::map<std::string, double>> candidates = {};
};

// The rule of the question's mechanism, when every value has one, lies in its range, and none but `unknown`
// (or an optional one) is missing. Error: usage, naming the flag, its range and the value given.
[[nodiscard]] Result<const MechanismRule*> FindCheckedRule(const Question& question, std::string_view unknown = "");

// The question as it is charged: its count, and for each of its `retries` lost attempts a block of releases
// again, as calibration in a sweep leaves room for. A question that FindCheckedRule took.
[[nodiscard]] Question ExpandRetries(const Question& question, const MechanismRule& rule);

// The most of the count that may be asked for where `charged` of it may be charged.
[[nodiscard]] double SubtractRetries(const Question& question, double charged);

}  // namespace retort::privacy
