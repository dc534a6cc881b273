#include "experiments/sweep/search_spec.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/sweep/search_space.h"
#include "experiments/sweep/sweep_document.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

constexpr const char* kExample = "{ low = 0.1, high = 10, scale = \"log\" }";
constexpr const char* kMethodsWithRungs = "\"successive-halving\" or \"asha\"";
constexpr std::array<std::string_view, 2> kGoals = {"maximize", "minimize"}, kScales = {"linear", "log"};

// Reads one of `words`; null after an error.
const std::string_view* ReadWord(const TomlEntry& entry, const std::string& path, const std::string& what,
                                 std::span<const std::string_view> words, ReadContext& context) {
  const auto found = std::find(words.begin(), words.end(), entry.value.text);
  if (found != words.end()) return &*found;
  context.diagnostics.AddUnknown(entry.value.where, path + "." + entry.key, what, entry.value.text,
                                 {words.begin(), words.end()}, true);
  return nullptr;
}

std::string MethodName(SearchMethod method) { return std::string(kSearchMethods[static_cast<std::size_t>(method)]); }

bool IsAsynchronousMethod(std::string_view method) {
  return method == kSearchMethods[static_cast<std::size_t>(SearchMethod::asha)];
}

bool IsWhole(double value) { return std::floor(value) == value && std::fabs(value) < 9e15; }

class DimensionReader {
 public:
  DimensionReader(const TomlEntry& entry, std::string path, ReadContext& context)
      : entry_(entry), path_(std::move(path)), context_(context) {}

  // Nothing after an error.
  std::optional<SearchDimension> Read() {
    dimension_.key = FindKey(entry_.key, kInTrial);
    dimension_.where = entry_.where;
    dimension_.path = path_;
    dimension_.number = context_.document.assignments++;
    if (dimension_.key == nullptr) return UnknownName();
    const bool read = entry_.value.kind == TomlKind::array   ? ReadChoices()
                      : entry_.value.kind == TomlKind::table ? ReadRange()
                                                             : Refuse(entry_.value.where, DescribeForms());
    if (!read) return std::nullopt;
    return std::move(dimension_);
  }

 private:
  bool Refuse(Position where, const std::string& message, std::vector<std::string> choices = {}) {
    context_.diagnostics.AddError(where, path_, path_ + message, std::move(choices));
    return false;
  }

  [[nodiscard]] std::string DescribeForms() const {
    return std::string(" takes a range, as in ") + kExample + ", or an array of values, not " + entry_.value.Describe();
  }

  std::optional<SearchDimension> UnknownName() {
    if (entry_.key == "seed" || entry_.key == "seeds")
      Refuse(entry_.where,
             ": seeds repeat every suggestion and are no setting to be searched; write sweep.seeds = [0, 1]");
    else
      context_.diagnostics.AddUnknown(entry_.where, path_, "key", entry_.key, ListKeyNames(kInTrial), false,
                                      "in [" + context_.prefix + "sweep.search.space]");
    return std::nullopt;
  }

  bool ReadChoices() {
    const std::vector<TomlNode>& items = entry_.value.items;
    if (items.size() < 2)
      return Refuse(entry_.value.where, items.empty() ? " is an empty array: there is nothing to choose from"
                                                      : " holds one value: write it in [trial]");
    bool good = true;
    std::set<KeyValue> seen;
    for (const TomlNode& item : items) {
      std::optional<KeyValue> value = ReadKeyValue(item, *dimension_.key, path_, context_.diagnostics);
      if (value && !seen.insert(*value).second) good = Refuse(item.where, ": this value stands here twice");
      if (!value) good = false;
      if (!value) continue;
      context_.document.search_values.push_back({dimension_.key, *value, item.where, path_, true, dimension_.number});
      dimension_.choices.push_back(*std::move(value));
    }
    return good;
  }

  bool ReadRange() {
    const TomlNode& range = entry_.value;
    const SpecKey& key = *dimension_.key;
    if (key.type != KeyType::number && key.type != KeyType::count)
      return Refuse(range.where, " is no number; list its values, as in [" + ListValues() + "]");
    if (!CheckSection(range, "sweep.search.space.*", path_, context_.partial, context_.diagnostics)) return false;
    const TomlEntry *low = range.Find("low"), *high = range.Find("high"), *scale = range.Find("scale"),
                    *integer = range.Find("integer");
    if (low == nullptr || high == nullptr) return false;  // of an overlay
    if (!ReadBound(*low, dimension_.low) || !ReadBound(*high, dimension_.high)) return false;
    if (scale != nullptr) {
      const std::string_view* word = ReadWord(*scale, path_, "scale", kScales, context_);
      if (word == nullptr) return false;
      dimension_.log = *word == "log";
    }
    dimension_.integer = key.type == KeyType::count || (integer != nullptr && integer->value.flag);
    if (integer != nullptr && !integer->value.flag && key.type == KeyType::count)
      return Refuse(integer->value.where,
                    ".integer: " + std::string(key.TrialName()) + " is a whole number; leave integer = false out");
    return CheckRange(*low, *high);
  }

  // The key's own type and limits hold for both ends.
  bool ReadBound(const TomlEntry& bound, double& value) {
    const auto held = ReadKeyValue(bound.value, *dimension_.key, path_ + "." + bound.key, context_.diagnostics);
    value = bound.value.Number();
    return held.has_value();
  }

  bool CheckRange(const TomlEntry& low, const TomlEntry& high) {
    const std::string text =
        "low = " + FormatShortNumber(dimension_.low) + " and high = " + FormatShortNumber(dimension_.high);
    if (dimension_.low >= dimension_.high)
      return Refuse(high.value.where, ": " + text + " leave no range: low has to be below high");
    if (dimension_.log && dimension_.low <= 0)
      return Refuse(low.value.where, ".low = " + FormatShortNumber(dimension_.low) +
                                         " has no logarithm: with scale = \"log\" it has to be above 0, or write "
                                         "scale = \"linear\"");
    for (const auto& [entry, value] : {std::pair(&low, dimension_.low), std::pair(&high, dimension_.high)})
      if (dimension_.integer && !IsWhole(value))
        return Refuse(entry->value.where, "." + entry->key + " = " + FormatShortNumber(value) +
                                              " is no whole number, as integer = true asks for");
    return true;
  }

  [[nodiscard]] std::string ListValues() const {
    std::string text;
    const std::vector<std::string> choices = dimension_.key->ChoiceList();
    for (std::size_t i = 0; i < std::min<std::size_t>(choices.size(), 2); ++i)
      text += (i == 0 ? "\"" : ", \"") + choices[i] + "\"";
    return text.empty() ? "VALUE, VALUE" : text;
  }

  const TomlEntry& entry_;
  std::string path_;
  ReadContext& context_;
  SearchDimension dimension_;
};

void ReadScoreOfSearch(const TomlEntry& score, const std::string& path, ReadContext& context) {
  SearchSpec& spec = *context.document.search;
  spec.score = score.value.text;
  const std::string wrong = RefuseScore(spec.score);
  if (wrong.empty()) return;
  spec.valid = false;
  context.diagnostics.AddError(score.value.where, path + ".score", path + ".score: " + wrong,
                               {std::string(kPublicScore)});
}

void ReadMethod(const TomlNode& search, const std::string& path, ReadContext& context) {
  SearchSpec& spec = *context.document.search;
  if (const TomlEntry* method = search.Find("method")) {
    const std::string_view* word = ReadWord(*method, path, "method", kSearchMethods, context);
    if (word == nullptr) spec.valid = false;
    if (word != nullptr) spec.method = static_cast<SearchMethod>(word - kSearchMethods.data());
  }
  const auto read = [&](const char* name, bool has_effect, const char* methods, std::int64_t& value) {
    const TomlEntry* entry = search.Find(name);
    if (entry == nullptr) return;
    value = entry->value.integer;
    if (has_effect || context.partial || !spec.valid) return;
    context.diagnostics.AddWarning(entry->where, path + "." + name,
                                   path + "." + name + " counts with method = " + methods +
                                       " alone, and the method is " + MethodName(spec.method));
  };
  const bool by_density = spec.method == SearchMethod::tpe;
  read("batch", by_density, "\"tpe\"", spec.batch);
  read("startup", by_density, "\"tpe\"", spec.startup);
  read("reduction", spec.HasRungs(), kMethodsWithRungs, spec.reduction);
}

void ReadSpace(const TomlNode& search, const std::string& path, ReadContext& context) {
  SearchSpec& spec = *context.document.search;
  const TomlEntry* space = search.Find("space");
  if (space == nullptr) return;
  for (const TomlEntry& entry : space->value.entries) {
    std::optional<SearchDimension> dimension = DimensionReader(entry, path + ".space." + entry.key, context).Read();
    if (!dimension) spec.valid = false;
    if (dimension) spec.space.push_back(*std::move(dimension));
  }
  if (!space->value.entries.empty()) return;
  spec.valid = false;
  context.diagnostics.AddError(space->value.where, path + ".space",
                               path + ".space names no key: write space.lr = " + kExample);
}

// The key that grows, of `rungs`, and its values: the last dimension.
class RungReader {
 public:
  RungReader(const TomlNode& search, const std::string& path, ReadContext& context)
      : entry_(search.Find("rungs")), search_(search), path_(path + ".rungs"), context_(context) {}

  void Read() {
    SearchSpec& spec = *context_.document.search;
    spec.valid = (spec.HasRungs() ? ReadRungs(spec) : entry_ == nullptr || RefuseOthers(spec)) && spec.valid;
  }

 private:
  bool Refuse(Position where, const std::string& message, std::vector<std::string> choices = {}) {
    context_.diagnostics.AddError(where, path_, path_ + message, std::move(choices));
    return false;
  }

  bool RefuseOthers(const SearchSpec& spec) {
    if (context_.partial || !spec.valid) return true;
    return Refuse(entry_->where, std::string(" goes with method = ") + kMethodsWithRungs +
                                     " alone, and the method is " + MethodName(spec.method));
  }

  bool ReadRungs(SearchSpec& spec) {
    if (entry_ == nullptr)
      return context_.partial ||
             Refuse(search_.where, std::string(" is missing: write the key that grows from rung to rung, ") + kRungs);
    if (entry_->value.entries.size() != 1)
      return Refuse(entry_->value.where, std::string(" names one key and its values, ") + kRungs);
    const TomlEntry& key = entry_->value.entries.front();
    const auto same = [&key](const SearchDimension& one) { return one.key->TrialName() == key.key; };
    if (std::any_of(spec.space.begin(), spec.space.end(), same))
      return Refuse(key.where, "." + key.key + " is searched in space too: keep it in one of them");
    if (key.value.kind != TomlKind::array)
      return Refuse(key.value.where, "." + key.key + " takes an array, " + kRungs + ", not " + key.value.Describe());
    std::optional<SearchDimension> rungs = DimensionReader(key, path_ + "." + key.key, context_).Read();
    if (!rungs || !CheckRungs(key, *rungs, spec)) return false;
    spec.space.push_back(*std::move(rungs));
    return true;
  }

  bool CheckRungs(const TomlEntry& key, const SearchDimension& rungs, const SearchSpec& spec) {
    if (rungs.key->type != KeyType::number && rungs.key->type != KeyType::count)
      return Refuse(key.where, "." + key.key + " is no number, which a rung's key has to be, " + kRungs);
    if (!std::is_sorted(rungs.choices.begin(), rungs.choices.end()))
      return Refuse(key.value.where, "." + key.key + " has to grow from rung to rung");
    if (context_.partial) return true;
    std::int64_t least = 1;
    for (std::size_t rung = 1; rung < rungs.choices.size() && least <= spec.trials; ++rung) least *= spec.reduction;
    if (spec.trials >= least) return true;
    return Refuse(key.value.where, "." + key.key + " has " + std::to_string(rungs.choices.size()) +
                                       " rungs, and of trials = " + std::to_string(spec.trials) +
                                       " with reduction = " + std::to_string(spec.reduction) +
                                       " none are left for the last: write more trials, or fewer rungs");
  }

  static constexpr const char* kRungs = "as in rungs.steps = [50, 150, 450]";
  const TomlEntry* entry_;
  const TomlNode& search_;
  std::string path_;
  ReadContext& context_;
};

void CheckTrials(const TomlNode& search, const std::string& path, ReadContext& context) {
  SearchSpec& spec = *context.document.search;
  const double rungs = spec.HasRungs() && spec.valid ? static_cast<double>(spec.rungs().size()) : 1;
  const double settings = CountPoints(spec) / rungs;
  if (!spec.valid || context.partial || static_cast<double>(spec.trials) <= settings) return;
  spec.valid = false;
  const std::string count = FormatShortNumber(settings);
  context.diagnostics.AddError(search.Find("trials")->value.where, path + ".trials",
                               path + ".trials = " + std::to_string(spec.trials) + ", and the space holds " + count +
                                   " settings, each of which is tried once: write trials = " + count +
                                   ", or sweep.grid, which tries them all",
                               {count});
}

}  // namespace

std::vector<std::int64_t> ListRungSizes(std::int64_t trials, std::int64_t reduction, std::size_t rungs) {
  std::vector<std::int64_t> sizes = {trials};
  while (sizes.size() < rungs) sizes.push_back(std::max<std::int64_t>(1, sizes.back() / reduction));
  return sizes;
}

std::int64_t CountSuggestions(const SearchSpec& spec) {
  if (!spec.HasRungs() || spec.space.empty()) return spec.trials;
  const std::size_t rungs = spec.rungs().size();
  if (spec.IsAsynchronous()) return spec.trials * static_cast<std::int64_t>(std::max<std::size_t>(rungs, 1));
  const std::vector<std::int64_t> sizes = ListRungSizes(spec.trials, spec.reduction, rungs);
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

void ReadSearch(const TomlNode& search, ReadContext& context) {
  const std::string path = context.prefix + "sweep.search";
  const bool shaped = CheckSection(search, "sweep.search", path, context.partial, context.diagnostics);
  SearchSpec& spec = context.document.search.emplace();
  spec.where = search.where;
  spec.valid = shaped;
  if (!shaped) return;
  spec.identity = IdentifySearch(search);
  if (const TomlEntry* trials = search.Find("trials")) spec.trials = trials->value.integer;
  if (const TomlEntry* seed = search.Find("seed")) spec.seed = static_cast<std::uint64_t>(seed->value.integer);
  if (const TomlEntry* score = search.Find("score")) ReadScoreOfSearch(*score, path, context);
  if (const TomlEntry* goal = search.Find("goal")) {
    const std::string_view* word = ReadWord(*goal, path, "goal", kGoals, context);
    spec.valid = spec.valid && word != nullptr;
    spec.maximize = word == nullptr || *word == kGoals.front();
  }
  ReadMethod(search, path, context);
  ReadSpace(search, path, context);
  RungReader(search, path, context).Read();
  CheckTrials(search, path, context);
}

void CheckBesideSearch(ReadContext& context) {
  const SweepDocument& document = context.document;
  if (!document.search || context.partial) return;
  if (document.select)
    context.diagnostics.AddError(
        document.select->where, "sweep.select",
        "sweep.select and sweep.search both choose settings: keep select where the choice has to be inside the "
        "epsilon, which pays for it, and search where it need not be");
  const auto searches = [&document](const SpecKey* key) {
    const auto& space = document.search->space;
    const auto same = [key](const SearchDimension& dimension) { return dimension.key == key; };
    const auto found = std::find_if(space.begin(), space.end(), same);
    return found == space.end() ? nullptr : &*found;
  };
  for (const Axis& axis : document.axes)
    for (const Assignments& row : axis.rows)
      for (const Assignment& assignment : row)
        if (const SearchDimension* dimension = searches(assignment.key))
          context.diagnostics.AddError(assignment.where, "sweep." + axis.name,
                                       std::string(assignment.key->TrialName()) + " varies on sweep." + axis.name +
                                           " and in " + dimension->path + ": keep it in one of them");
}

std::string IdentifySearch(const TomlNode& search) {
  TomlNode same = search;
  const TomlEntry* method = search.Find("method");
  const bool asynchronous = method != nullptr && IsAsynchronousMethod(method->value.text);
  if (search.Find("rungs") == nullptr || asynchronous)
    std::erase_if(same.entries, [](const TomlEntry& entry) { return entry.key == "trials"; });
  return FormatTomlValue(same);
}

namespace {

// The table [sweep.search] of a text as FormatToml writes it; nothing where there is none. Most sweeps have none, and
// are asked at every look at their status.
std::optional<TomlNode> FindSearch(const std::string& sweep_toml) {
  if (sweep_toml.find("search") == std::string::npos) return std::nullopt;
  SourceTexts sources;
  TomlNode root;
  Diagnostic error;
  if (!ParseToml(sweep_toml, sources.Add("sweep.toml", sweep_toml), sources, root, error)) return std::nullopt;
  const TomlEntry* sweep = root.Find("sweep");
  const TomlEntry* search = sweep == nullptr ? nullptr : sweep->value.Find("search");
  if (search == nullptr) return std::nullopt;
  return search->value;
}

}  // namespace

std::string IdentifySearchIn(const std::string& sweep_toml) {
  const std::optional<TomlNode> search = FindSearch(sweep_toml);
  return search ? IdentifySearch(*search) : "";
}

SearchTerms MakeSearchTerms(const SearchSpec& spec) {
  SearchTerms terms{MethodName(spec.method), spec.score, spec.maximize, CountSuggestions(spec), {}, "", {},
                    spec.reduction};
  if (spec.IsAsynchronous()) terms.trials = spec.trials;
  for (const SearchDimension& dimension : spec.space) terms.keys.emplace_back(dimension.key->TrialName());
  if (!spec.HasRungs() || terms.keys.empty()) return terms;
  terms.rung_key = terms.keys.back();
  terms.rungs = spec.rungs();
  return terms;
}

bool SearchTerms::IsAsynchronous() const { return IsAsynchronousMethod(method); }

namespace {

// Adds what `rungs`, of a text that was planned once, says of them.
void AddRungTerms(const TomlEntry& rungs, SearchTerms& terms) {
  terms.rung_key = rungs.key;
  terms.keys.push_back(rungs.key);
  const SpecKey* key = FindKey(rungs.key, kInTrial);
  const bool whole = key != nullptr && key->type == KeyType::count;
  for (const TomlNode& value : rungs.value.items)
    terms.rungs.push_back(whole ? KeyValue(value.integer) : KeyValue(value.Number()));
  if (terms.IsAsynchronous()) return;
  const std::vector<std::int64_t> sizes = ListRungSizes(terms.trials, terms.reduction, terms.rungs.size());
  terms.trials = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

}  // namespace

std::optional<SearchTerms> ReadSearchTerms(const std::string& sweep_toml) {
  const std::optional<TomlNode> search = FindSearch(sweep_toml);
  if (!search) return std::nullopt;
  SearchTerms terms = MakeSearchTerms(SearchSpec());
  if (const TomlEntry* method = search->Find("method")) terms.method = method->value.text;
  if (const TomlEntry* score = search->Find("score")) terms.score = score->value.text;
  if (const TomlEntry* goal = search->Find("goal")) terms.maximize = goal->value.text == kGoals.front();
  if (const TomlEntry* trials = search->Find("trials")) terms.trials = trials->value.integer;
  if (const TomlEntry* space = search->Find("space"))
    for (const TomlEntry& entry : space->value.entries) terms.keys.push_back(entry.key);
  if (const TomlEntry* reduction = search->Find("reduction")) terms.reduction = reduction->value.integer;
  const TomlEntry* rungs = search->Find("rungs");
  if (rungs != nullptr && rungs->value.entries.size() == 1) AddRungTerms(rungs->value.entries.front(), terms);
  return terms;
}

std::string DescribeSearchCost(const std::string& score) {
  if (score == kPublicScore)
    return "Each ε is that of one trial. The search read " + score +
           " on public examples, which costs nothing beyond the trials; that one of them was chosen is in the total "
           "over all of them (`status`), not in its own ε: [sweep.select] is for that.";
  return "Each ε is that of one trial. The search read " + score + ", and no ε counts the search.";
}

}  // namespace retort
