// The tables of a sweep file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retort {

struct ReadContext;
struct TomlNode;
struct TrialSpec;

// What finished trials are measured by: what a table or a figure may ask for. Workers give no other names, and
// "synthetic" ones when they evaluate samples of a trial.
inline constexpr std::array<std::string_view, 12> kMetricNames = {
    "test.accuracy",        "test.top5",          "test.sensitive_accuracy",
    "test.member_accuracy", "public.accuracy",    "student.parameters",
    "data.skipped",         "stop.step",          "sleep.steps",
    "sleep.seconds",        "synthetic.accuracy", "synthetic.fid"};
// Of figures alone; their rows are the run's and not the trial's.
inline constexpr std::array<std::string_view, 5> kTimingNames = {"seconds", "training_seconds", "step_seconds",
                                                                 "energy_joules", "device_busy"};
// What an audit found, followed by its kind and a figure of it: "audit.membership.auc".
inline constexpr std::string_view kAuditPrefix = "audit.";

// A trial's key is one of the values, as tables show them; numbers compare as numbers.
struct KeyCondition {
  std::string key;  // of [trial], "seed" or "role"
  std::vector<std::string> values;
};

// What the sweep file itself puts beside trials, in place of the published value that is found by name.
struct PublishedJoin {
  std::vector<KeyCondition> conditions;                      // all hold
  std::vector<std::pair<std::string, std::string>> columns;  // of published.csv and what stands there; empty: no value
};

// Of the mean over seeds, at 95 %.
enum class Interval : std::uint8_t { student_t, bootstrap };

struct TableSpec {
  std::string name;
  std::vector<std::string> rows, columns;
  std::string metric = "test.accuracy";
  std::string published;  // "dpdfd-ijcai23/table1" or empty
  Interval interval = Interval::student_t;
  std::vector<KeyCondition> where;   // trials of the table; empty = all
  std::vector<PublishedJoin> joins;  // the first that matches counts
};

// Reads [table.NAME] into the document of `context`.
void ReadTableSpecs(const TomlNode& tables, ReadContext& context);

// What a student and its teacher were given beside the private examples: rows that differ in it are not comparable.

// A key of tables, as "method" is; it is derived, and cannot be set.
inline constexpr std::string_view kSideInformationKey = "side_information";

// "none", or what it was of, in this order: public examples (with labels), public images (their labels unread), class
// shares (that every class has as many of them), domain knowledge (of what such images look like: fixed features or a
// procedure that draws). `teacher`: null where there is none.
[[nodiscard]] std::string DescribeSideInformation(const TrialSpec& student, const TrialSpec* teacher);

// Whether one of the tables has it for a row or a column.
[[nodiscard]] bool ShowsSideInformation(const std::vector<TableSpec>& tables);

}  // namespace retort
