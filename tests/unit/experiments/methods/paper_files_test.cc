// Must show: of every paper file, each setting that its text states (of students, teachers and data) is the text's, is
// among the trial's differences, or is named as another one by the file's header. As shipped, and where the reading
// `stated` is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/methods/stated_settings.h"
#include "tests/unit/experiments/methods/paper_sweeps.h"
#include "tests/unit/experiments/methods/stated_settings_rows.h"
#include "tests/unit/experiments/methods/stated_settings_table.h"

namespace retort {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What a file does otherwise than the text says of its table or figure, and the words of its header about it.
struct Departure {
  std::string_view file, method, key, words;
};
constexpr Departure kDepartures[] = {
    {"dpsd/fig4.toml", "dpsd-data", "epsilon", "at four budgets, of which the text names 1, 5 and 10"},
};

struct PaperFile {
  std::string name;               // "dpsd/table1.toml"
  std::string paper, experiment;  // "dpsd", "table1"
  SweepPlan plan;
  std::map<TrialId, const TrialSpec*> teachers;
};

PaperFile LoadPaperFile(const std::string& name, const std::vector<std::string>& overrides) {
  const std::size_t slash = name.find('/');
  PaperFile file{name,
                 name.substr(0, slash),
                 name.substr(slash + 1, name.size() - slash - 6),
                 LoadPaperSweep(name, overrides),
                 {}};
  for (const TrialSpec& spec : file.plan.trials)
    if (spec.role == Role::teacher) file.teachers.emplace(spec.id, &spec);
  return file;
}

const TrialSpec* FindTeacher(const PaperFile& file, const TrialSpec& spec) {
  const auto found = spec.parent ? file.teachers.find(*spec.parent) : file.teachers.end();
  return found == file.teachers.end() ? nullptr : found->second;
}

bool FollowsText(const TrialSpec& spec) {
  const MethodTraits* method = FindMethod(spec.method);
  return spec.role == Role::student && (method->readings == 0 || spec.reading != Reading::sound);
}

bool IsAboutTrial(const StatedSetting& row, const PaperFile& file, const TrialSpec& spec) {
  if (row.key.empty() || !HasKey(row)) return false;
  if (row.key == "epsilon" && AsksNoTeacher(spec)) return false;  // RONA's Base spends nothing
  if (row.experiment != "*" && (row.paper != file.paper || row.experiment != file.experiment)) return false;
  const std::vector<std::string> methods = ListMethods(row);
  if (std::find(methods.begin(), methods.end(), spec.method) == methods.end()) return false;
  if (!row.branch.empty() && FormatKey(spec, "branch") != row.branch) return false;
  if (row.data != "*" && spec.data->published_as.value_or("") != row.data) return false;
  const bool of_all = std::isinf(row.epsilon_up_to);
  return of_all || (spec.privacy.epsilon > row.epsilon_above && spec.privacy.epsilon <= row.epsilon_up_to);
}

// Of the rows about one key of the trial the one that names the experiment, and then the one that names the data set.
std::vector<const StatedSetting*> ListStrongest(const PaperFile& file, const TrialSpec& spec) {
  std::map<std::string_view, const StatedSetting*> strongest;
  const auto strength = [](const StatedSetting& row) { return (row.experiment != "*" ? 2 : 0) + (row.data != "*"); };
  for (const StatedSetting& row : kStatedSettings) {
    if (!IsAboutTrial(row, file, spec)) continue;
    const StatedSetting*& best = strongest[row.key];
    if (best == nullptr || strength(row) > strength(*best)) best = &row;
  }
  std::vector<const StatedSetting*> rows;
  for (const auto& [key, row] : strongest)
    if (row->statement != Statement::form && !IsDecided(row->method, key) && !IsDecided(spec.method, key))
      rows.push_back(row);
  return rows;
}

std::string JoinClasses(const std::vector<std::int64_t>& classes) {
  std::string text;
  for (const std::int64_t one : classes) text += (text.empty() ? "" : ", ") + std::to_string(one);
  return text;
}

// The value of the row's key; empty where it has no place in the trial.
std::string FindValue(const StatedSetting& row, const TrialSpec& spec, const TrialSpec* teacher) {
  if (row.key == "data.crop") return std::to_string(spec.data->preprocessing.crop);
  if (row.key == "data.sensitive_classes") return JoinClasses(spec.data->sensitive_classes);
  if (row.key == "data.split.public") {
    const auto shared = static_cast<double>(spec.data->split.public_range.size());
    const auto other = static_cast<double>(spec.data->split.train.size());
    return FormatSixDigits(std::round(100 * shared / (shared + other)) / 100);
  }
  if (!row.key.starts_with(kOfTeacher)) {
    const SpecKey* key = FindTrialKey(row.key);
    return key->AppliesTo(FindKind(spec), spec.source) ? FormatKey(spec, row.key) : "";
  }
  const SpecKey* key = teacher == nullptr ? nullptr : FindKey(row.key.substr(kOfTeacher.size()), kInTeacher);
  if (key == nullptr || !key->AppliesTo(FindKind(*teacher), teacher->source)) return "";
  return FormatValue(*key, key->get(*teacher));
}

bool IsOne(const StatedSetting& row, const std::string& text, const std::string& here, const TrialSpec& spec) {
  const double number = std::strtod(here.c_str(), nullptr);
  if (text == "batch") return SameValue(here, std::to_string(spec.batch));
  if (text == "1 / (2 classes)") return SameValue(here, "0");
  if (text == "> 0") return number > 0;
  if (const std::size_t to = text.find(" to "); to != std::string::npos)
    return number >= std::strtod(text.c_str(), nullptr) && number <= std::strtod(text.c_str() + to + 4, nullptr);
  // "densenet" is densenet161, "resnet34" also resnet34-cifar.
  const bool network = row.key == "student" || row.key == "teacher.network";
  return SameValue(here, text) || (network && here.starts_with(text)) || here == text + "-printed";
}

bool IsStated(const StatedSetting& row, const std::string& here, const TrialSpec& spec) {
  const std::vector<std::string> texts = ListAlternatives(row.value);
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) { return IsOne(row, text, here, spec); });
}

std::string ReadHeader(const PaperFile& file) {
  std::ifstream stream(ConfigsFolder() + "/" + file.name);
  std::string header, line;
  while (std::getline(stream, line) && line.starts_with("#")) header += line.substr(1) + " ";
  std::istringstream words(header);
  std::string text;
  for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
  return text;
}

bool IsNamed(const StatedSetting& row, const PaperFile& file, const TrialSpec& spec, const TrialSpec* teacher) {
  const std::vector<Difference> differences = ListDifferences(spec, teacher);
  if (std::any_of(differences.begin(), differences.end(), [&](const Difference& one) { return one.key == row.key; }))
    return true;
  return std::any_of(std::begin(kDepartures), std::end(kDepartures), [&](const Departure& one) {
    return one.file == file.name && one.method == spec.method && one.key == row.key;
  });
}

// "dpsd/table1.toml, dpsd-data-stated-mnist-s0: teacher.network is cnn, text resnet34 (IV-A)", once for each method,
// reading and key.
std::vector<std::string> ListSilentDepartures(const PaperFile& file) {
  std::map<std::string, std::string> found;
  for (const TrialSpec& spec : file.plan.trials) {
    if (!FollowsText(spec)) continue;
    const TrialSpec* teacher = FindTeacher(file, spec);
    for (const StatedSetting* row : ListStrongest(file, spec)) {
      const std::string here = FindValue(*row, spec, teacher);
      if (here.empty() || IsStated(*row, here, spec) || IsNamed(*row, file, spec, teacher)) continue;
      found.emplace(spec.method + FormatKey(spec, "reading") + std::string(row->key),
                    file.name + ", " + spec.name + ": " + std::string(row->key) + " is " + here + ", text " +
                        std::string(row->value) + " (" + std::string(row->place) + ")");
    }
  }
  std::vector<std::string> lines;
  for (auto& [key, line] : found) lines.push_back(std::move(line));
  return lines;
}

// Values of one table or figure that no trial of its file has.
std::vector<std::string> ListAbsent(const PaperFile& file) {
  std::vector<std::string> absent;
  for (const StatedSetting& row : kStatedSettings) {
    if (row.paper != file.paper || row.experiment != file.experiment || row.statement == Statement::form) continue;
    for (const std::string& text : ListAlternatives(row.value)) {
      if (row.key.empty() || text.find(" to ") != std::string::npos) continue;
      const bool taken = std::any_of(file.plan.trials.begin(), file.plan.trials.end(), [&](const TrialSpec& spec) {
        return FollowsText(spec) && IsAboutTrial(row, file, spec) &&
               IsOne(row, text, FindValue(row, spec, FindTeacher(file, spec)), spec);
      });
      const bool departs = std::any_of(std::begin(kDepartures), std::end(kDepartures), [&](const Departure& one) {
        return one.file == file.name && one.method == row.method && one.key == row.key;
      });
      if (!taken && !departs)
        absent.push_back(file.name + ": " + std::string(row.method) + " never has " + std::string(row.key) + " " +
                         text);
    }
  }
  return absent;
}

TEST(PaperFiles, FollowTheTextsOrSaySo) {
  for (const std::string& name : ListPaperSweeps()) {
    EXPECT_THAT(ListSilentDepartures(LoadPaperFile(name, {})), IsEmpty());
    EXPECT_THAT(ListAbsent(LoadPaperFile(name, {})), IsEmpty());
  }
}

// Why `trial.reading=READING` is refused for a file; empty where it is not.
std::string FindRefusal(const std::string& name, const std::string& reading = "stated") {
  const PlanOutcome outcome =
      LoadSweep(ConfigsFolder() + "/" + name, {{"trial.reading=" + reading}, ""}, PublishedHooks());
  return outcome.errors.empty() ? "" : outcome.errors.front().message;
}

TEST(PaperFiles, TakeTheReadingStated) {
  std::vector<std::string> refused;
  for (const std::string& name : ListPaperSweeps()) {
    const std::string refusal = FindRefusal(name);
    if (!refusal.empty()) {
      refused.push_back(name);
      continue;
    }
    EXPECT_THAT(ListSilentDepartures(LoadPaperFile(name, {"trial.reading=stated"})), IsEmpty());
  }
  EXPECT_THAT(refused, ElementsAre("digits/membership-linear.toml",  // every row says its reading
                                   "digits/readings.toml",           // every row says its reading
                                   "digits/searched.toml",           // of a method without readings
                                   "digits/texts.toml",              // varies the reading
                                   "rona-aaai19/fig2d-sound.toml",   // of votes, which no text has
                                   "rona-aaai19/fig2d.toml"));       // varies the reading
}

TEST(PaperFiles, TakeTheReadingPrintedWhereTheyTakeStated) {
  for (const std::string& name : ListPaperSweeps()) {
    if (!FindRefusal(name).empty()) continue;
    EXPECT_EQ(FindRefusal(name, "printed"), "") << name;
  }
}

// What a file gives its trials of the reading `stated` in place of the text's value, though it varies no such key.
std::vector<std::string> ListForced(const PaperFile& file) {
  std::set<std::string> forced;
  for (const TrialSpec& spec : file.plan.trials) {
    if (spec.role != Role::student || spec.reading != Reading::stated) continue;
    for (const Difference& one : ListDifferences(spec, FindTeacher(file, spec))) {
      const std::string_view axis = one.key.starts_with(kOfTeacher) ? "teacher" : std::string_view(one.key);
      const bool varied =
          std::any_of(spec.axes.begin(), spec.axes.end(), [&](const auto& value) { return value.first == axis; });
      if (!varied && one.here != "by epsilon") forced.insert(file.name + ": " + one.key + " " + one.here);
    }
  }
  return {forced.begin(), forced.end()};
}

// Each has its reason in the file's header.
TEST(PaperFiles, StatedTrialsTakeTheTextsValues) {
  std::vector<std::string> forced;
  for (const std::string& name : ListPaperSweeps()) {
    if (name.starts_with("digits/")) continue;
    const std::vector<std::string> overrides =
        FindRefusal(name).empty() ? std::vector<std::string>{"trial.reading=stated"} : std::vector<std::string>();
    for (std::string& line : ListForced(LoadPaperFile(name, overrides))) forced.push_back(std::move(line));
  }
  EXPECT_THAT(forced,
              ElementsAre("dpsd/fig4.toml: steps 20000",               // 3.5 million are what its formula asks for
                          "dpsd/fig5-amount.toml: student_batch 256",  // its rows say batch and steps a stage
                          "dpsd/table5.toml: top_k 200",               // of 200 classes
                          "dpsd/time.toml: steps 20",                  // section III-D 2
                          "rona-aaai19/base.toml: distill_epochs 0", "rona-aaai19/base.toml: hint_epochs 0"));
}

TEST(PaperFiles, HeadersSayWhatDeparts) {
  for (const Departure& one : kDepartures)
    EXPECT_THAT(ReadHeader(PaperFile{std::string(one.file), "", "", {}, {}}), HasSubstr(std::string(one.words)));
}

// The comparison sees what it is there for: a teacher, a data set, a value of one table.
TEST(PaperFiles, ChangedTeacherIsSeen) {
  PaperFile file = LoadPaperFile("dpdfd-ijcai23/table6.toml", {"teacher.resnet34.network=logistic"});
  EXPECT_THAT(ListSilentDepartures(file), Contains(HasSubstr("teacher.network is logistic, text resnet34")));
}

TEST(PaperFiles, ChangedSplitIsSeen) {
  PaperFile file = LoadPaperFile("rona-aaai19/table2.toml", {});
  for (TrialSpec& spec : file.plan.trials) {
    if (spec.role != Role::student) continue;
    auto data = std::make_shared<DataSpec>(*spec.data);
    data->split.public_range = {0, 10000};
    spec.data = data;
  }
  EXPECT_THAT(ListSilentDepartures(file), Contains(HasSubstr("data.split.public is")));
}

TEST(PaperFiles, ChangedBudgetIsSeen) {
  PaperFile file = LoadPaperFile("dp-dfd/fig3.toml", {"trial.epsilon=1"});
  EXPECT_THAT(ListSilentDepartures(file), Contains(HasSubstr("epsilon is 1, text 10")));
  EXPECT_THAT(ListAbsent(file), Contains(HasSubstr("never has epsilon 10")));
}

}  // namespace
}  // namespace retort
