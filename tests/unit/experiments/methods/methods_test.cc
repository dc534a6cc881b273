// Every kind of trial and every method fills its columns.
#include "experiments/methods/methods.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "experiments/methods/presets.h"
#include "experiments/methods/spec_keys.h"
#include "tests/testing/kind_samples.h"

namespace retort {
namespace {

TEST(Kinds, EachFillsItsColumns) {
  std::set<std::string_view> names;
  for (const KindTraits& kind : kKindTraits) {
    EXPECT_FALSE(kind.name.empty());
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_GE(kind.revision, 1) << kind.name;
    EXPECT_TRUE(kind.teacher || !kind.loaded) << kind.name;
    EXPECT_FALSE(kind.teacher && kind.every_reading) << kind.name << ": teachers have no reading";
    EXPECT_TRUE(!kind.sleeps || kind.release == ReleaseKind::none) << kind.name;
    EXPECT_TRUE(!kind.asks_once || IsPostProcessing(kind.kind)) << kind.name;
    EXPECT_EQ(kind.features != nullptr, kind.release == ReleaseKind::embedding) << kind.name;
  }
}

// A budget can be solved for exactly where noise is drawn.
TEST(Kinds, EachSaysWhetherNoiseIsSolvedFor) {
  for (const KindTraits& kind : kKindTraits) {
    const bool silent = kind.release == ReleaseKind::none || kind.release == ReleaseKind::raw_answers;
    EXPECT_EQ(!kind.unsolvable.empty(), silent) << kind.name;
  }
}

TEST(Kinds, EachIsThatOfSomeTrial) {
  for (const TrialKind kind : kTrialKinds)
    EXPECT_EQ(FindKind(testing::MakeKindSample(kind)), kind) << GetKindName(kind);
}

// Without the masks of its kind a key reaches it nowhere.
TEST(Kinds, EachThatTrainsHasKeysOfItsOwn) {
  for (const TrialKind kind : kTrialKinds) {
    const KeyPlace place = IsTeacher(kind) ? kInTeacher : kInTrial;
    const auto applies = [&](const SpecKey& key) {
      return key.set != nullptr && (key.places & place) != 0 && (key.AllKinds() & MakeMask(kind)) != 0;
    };
    EXPECT_GE(std::count_if(ListSpecKeys().begin(), ListSpecKeys().end(), applies),
              IsSleeper(kind) || IsLoaded(kind) ? 5 : 8)
        << GetKindName(kind);
  }
}

// What a preset says of a key that does not apply is lost without a word.
TEST(Presets, EachRowReachesATrial) {
  for (const PresetRow& row : ListPresetRows()) {
    const auto key = std::find_if(ListSpecKeys().begin(), ListSpecKeys().end(),
                                  [&](const SpecKey& one) { return one.name == row.key; });
    ASSERT_NE(key, ListSpecKeys().end()) << row.key;
    EXPECT_EQ(row.kinds & ~key->AllKinds(), 0U) << row.key;
    VisitNames(row.methods, [&](std::string_view name) {
      EXPECT_TRUE(FindMethod(name) != nullptr || FindTeacherMethod(name) != nullptr) << row.key << " " << name;
    });
  }
}

TEST(Methods, EachFillsItsColumns) {
  std::set<std::string_view> names;
  for (const MethodTraits& method : GetMethods()) {
    EXPECT_TRUE(!method.name.empty() && names.insert(method.name).second) << method.name;
    EXPECT_EQ(FindMethod(method.name), &method);
    EXPECT_FALSE(IsTeacher(method.kind)) << method.name;
    EXPECT_NE(method.sources & MakeMask(method.source), 0) << method.name << ": its own source is none of its sources";
    EXPECT_EQ(method.teachers != 0, AsksTeacher(method.kind)) << method.name;
    EXPECT_EQ(method.teachers & ~SelectKinds(IsTeacher), 0U) << method.name;
    EXPECT_EQ(method.readings != 0, method.paper != Paper::none) << method.name << ": readings are those of a paper";
  }
}

TEST(Methods, EachHasTraitsThatItsKindKnows) {
  for (const MethodTraits& method : GetMethods()) {
    EXPECT_TRUE(!method.branches || method.teachers == kinds::kEnsemble) << method.name;
    EXPECT_TRUE(!method.full_batch || TrainsByDpSgd(method.kind)) << method.name;
    EXPECT_TRUE(!method.stages || Releases(method.kind, ReleaseKind::labels)) << method.name;
    EXPECT_TRUE(!method.row_noise || Releases(method.kind, ReleaseKind::gradients)) << method.name;
    EXPECT_TRUE(!method.soft_answers || Releases(method.kind, ReleaseKind::responses)) << method.name;
  }
}

TEST(Methods, EachKindOfTeacherHasItsName) {
  for (const TrialKind kind : kTrialKinds) {
    if (!IsTeacher(kind)) continue;
    const TeacherMethod& usual = ChooseTeacherMethod(kind, false);
    EXPECT_EQ(usual.kind, kind);
    EXPECT_EQ(FindTeacherMethod(usual.name), &usual);
  }
  EXPECT_EQ(ChooseTeacherMethod(FindKind(testing::MakeKindSample(FindTeacherMethod("dp-gd")->kind)), true).name,
            "dp-gd");
  EXPECT_EQ(FindTeacherMethod("dpdfd"), nullptr);
}

TEST(Methods, NamesOfAListAreSplitAtSpaces) {
  EXPECT_TRUE(HoldsName("a", "a"));
  EXPECT_TRUE(HoldsName("ab c", "c"));
  EXPECT_FALSE(HoldsName("ab c", "a"));
  EXPECT_FALSE(HoldsName("", ""));
}

}  // namespace
}  // namespace retort
