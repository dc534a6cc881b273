// What the four papers say that their methods run with, and what they leave open: two tables of constants, and how a
// trial differs from them. Tables, `plan --json` and the headers of shipped sweeps say it from here (settings_lines.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/methods/trial_spec.h"

namespace retort {

// A value that a text states.
struct TextSetting {
  std::string_view methods;  // names with spaces between
  // Canonical name: of the student's trial, behind "teacher." of its teacher's; or "data.crop", the side of its
  // images in pixels, or "data.split.public", the public share of the examples that are public or private.
  std::string_view key;
  // As FormatValue writes it; "= KEY": what that key says; "> 0": any number above; "A | B": any of them.
  std::string_view value;
  std::string_view place;      // in the paper of these methods: "Eq. 5"
  std::string_view data = {};  // the data sets, by their published names, with spaces between; empty: all
  std::optional<Branch> branch = std::nullopt;
  double above = 0, most = 0;   // for these epsilon alone: above < epsilon <= most; most = 0: for all
  std::string_view words = {};  // what people read in place of the value
};
[[nodiscard]] std::span<const TextSetting> ListTextSettings();
// Whether the trial is a student of a method with readings, in one that follows the paper: not `sound`.
[[nodiscard]] bool FollowsPaper(const TrialSpec& spec);
// Whether the row is about the student's method, branch, data set and epsilon, in a reading that follows the paper.
[[nodiscard]] bool IsAbout(const TextSetting& setting, const TrialSpec& spec);
// The row about a trial's key, or null. One that names data sets stands in place of one for all.
[[nodiscard]] const TextSetting* FindStated(const TrialSpec& spec, std::string_view key);

// Keys that a text leaves open or can be read about in two ways, with what decides them in the reading `stated`.
struct OpenSetting {
  std::string_view methods, keys;  // names with spaces between
  std::string_view reason;
  std::optional<Branch> branch = std::nullopt;
  std::string_view letter = {};  // the value that the text has by the letter: nothing is chosen where a trial has it
};
[[nodiscard]] std::span<const OpenSetting> OpenSettings();

// Where the text of the student's method states a delta, if it states one with some of its results alone: "Tables 1 and
// 3 and Figure 2". Empty where it states one for all, where the trial is one of these results by its own settings, and
// where its epsilon by the paper needs none.
[[nodiscard]] std::string_view FindDeltaPlaces(const TrialSpec& spec);

// A key whose value is another than the text's.
struct Difference {
  std::string key, here, text;
  std::string_view place;
  bool operator==(const Difference&) const = default;
};
// In the order of the table; empty for teachers, for methods of no paper, and in the reading `sound`, whose mechanism
// is another one. `teacher`: the trial that spec.parent names; null, without one, leaves out what is said of it.
[[nodiscard]] std::vector<Difference> ListDifferences(const TrialSpec& spec, const TrialSpec* teacher = nullptr);

struct Chosen {
  std::string key, here;
  std::string_view reason;
  bool operator==(const Chosen&) const = default;
};
// Of a trial in the reading `stated`; empty in the others.
[[nodiscard]] std::vector<Chosen> ListChosen(const TrialSpec& spec);

}  // namespace retort
