// Search as part of a sweep: [sweep.search]. Everyday tuning on public examples; a choice that is inside the epsilon is
// [sweep.select].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/methods/spec_keys.h"
#include "experiments/sweep/select_spec.h"
#include "experiments/sweep/toml_tree.h"

namespace retort {

struct ReadContext;

// In the order of SearchMethod.
inline constexpr std::array<std::string_view, 5> kSearchMethods = {"random", "latin-hypercube", "tpe",
                                                                   "successive-halving", "asha"};
enum class SearchMethod : std::uint8_t { random, latin_hypercube, tpe, successive_halving, asha };

// A key of tables, as "method" is: the number of the suggestion that a trial belongs to. It is derived, and cannot be
// set.
inline constexpr std::string_view kSuggestionKey = "suggestion";

// What one key may be: one of `choices`, or, where there are none, a number in [low, high].
struct SearchDimension {
  const SpecKey* key = nullptr;
  std::vector<KeyValue> choices;
  double low = 0, high = 0;
  bool log = false;      // even on a logarithmic scale
  bool integer = false;  // whole numbers alone
  Position where;
  std::string path;          // dotted
  std::uint32_t number = 0;  // as Assignment::number
};

struct SearchSpec {
  SearchMethod method = SearchMethod::tpe;
  // Suggestions in all, or of the first rung where there are rungs; each is run once a seed and row of the axes.
  std::int64_t trials = 0;
  std::int64_t startup = 10;   // tpe: suggestions at random before the first that reads scores
  std::int64_t batch = 4;      // tpe: suggestions of one round, which read the scores of all rounds before
  std::int64_t reduction = 3;  // with rungs: of so many suggestions of a rung one goes on to the next
  std::uint64_t seed = 0;      // of the suggestions
  std::string score = std::string(kPublicScore);
  bool maximize = true;
  std::vector<SearchDimension> space;  // with rungs: the last one's choices are the rungs, ascending
  bool valid = true;                   // false: something wrong was reported, and nothing is suggested
  std::string identity;  // text that is equal where suggestions may go on from one another; see IdentifySearch
  Position where;

  // Whether suggestions follow from scores, so that a plan does not know them all beforehand.
  [[nodiscard]] bool IsAdaptive() const { return method == SearchMethod::tpe || HasRungs(); }
  [[nodiscard]] bool HasRungs() const { return method == SearchMethod::successive_halving || IsAsynchronous(); }
  // Whether a suggestion follows as soon as a slot is free, and not when those before have ended.
  [[nodiscard]] bool IsAsynchronous() const { return method == SearchMethod::asha; }
  // Values of the key that grows. REQUIRES: HasRungs, and valid.
  [[nodiscard]] const std::vector<KeyValue>& rungs() const { return space.back().choices; }
};

// How many suggestions each of `rungs` rungs has: `trials`, and then one of `reduction` of the rung before, but no
// fewer than one.
[[nodiscard]] std::vector<std::int64_t> ListRungSizes(std::int64_t trials, std::int64_t reduction, std::size_t rungs);
// Of all rungs. Of asha the most there can be: which of a rung are among the best is seen before all of it have ended,
// so that more than one of `reduction` may go on.
[[nodiscard]] std::int64_t CountSuggestions(const SearchSpec& spec);

// Reads [sweep.search] into the document of `context`.
void ReadSearch(const TomlNode& search, ReadContext& context);
// Reports what the rest of the sweep may not have beside a search: a selection, and axes of the same keys.
void CheckBesideSearch(ReadContext& context);

// Everything of the table that suggestions follow from: all but how many there are, from which the sizes of rungs
// follow in successive-halving.
[[nodiscard]] std::string IdentifySearch(const TomlNode& search);
// The same of the text of a whole sweep; empty where it has no search or is no TOML.
[[nodiscard]] std::string IdentifySearchIn(const std::string& sweep_toml);

// What a reader of results has to know of a search.
struct SearchTerms {
  std::string method, score;
  bool maximize = true;
  std::int64_t trials = 0;        // suggestions, of all rungs; of asha those of the first one
  std::vector<std::string> keys;  // that are searched
  std::string rung_key;           // the one that grows from rung to rung; empty without rungs
  std::vector<KeyValue> rungs;    // its values
  std::int64_t reduction = 3;     // as of SearchSpec
  [[nodiscard]] bool IsAsynchronous() const;
};
[[nodiscard]] SearchTerms MakeSearchTerms(const SearchSpec& spec);
// Of the text of a sweep that was planned once; nothing where it has no search or is no TOML.
[[nodiscard]] std::optional<SearchTerms> ReadSearchTerms(const std::string& sweep_toml);

// How a search is told of: the score that it read, and what that costs. One sentence.
[[nodiscard]] std::string DescribeSearchCost(const std::string& score);

}  // namespace retort
