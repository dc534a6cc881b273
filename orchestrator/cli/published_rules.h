// Which trials a published value may stand beside. The papers name data sets, approaches and settings in words; the
// tables of published_rules.cc turn each word that they use into conditions on the keys of a trial. Where a word has no
// row there, the value joins nothing and is quoted alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/cli/published.h"

namespace retort::orchestrator::cli {

enum class Relation : unsigned char {
  is,      // one of the values; numbers compare as numbers
  is_not,  // none of the values
  on,      // a number above zero under one of the keys
  off,     // under none of the keys a number above zero
};

struct TrialCondition {
  // Keys of [trial]; of its teacher ("teacher.members"); "role", "metric" (of the table), "public_fraction" (public
  // examples among those that are not for testing), "data.sensitive_classes" ("6,9"). For `is` and `is_not` the first counts that applies to the trial.
  std::vector<std::string> keys;
  Relation relation = Relation::is;
  std::vector<std::string> values;
};

struct PublishedScope {
  bool joins = false;                      // false: no trial, whatever its keys
  std::vector<TrialCondition> conditions;  // all hold; what is known of them, too, where nothing joins
};

[[nodiscard]] PublishedScope ScopeOf(const PublishedValue& value);

// "Fashion-MNIST", "FashionMNIST" and "FMNIST" are one; case, blanks, '-' and '_' do not count.
[[nodiscard]] bool SameDataSet(std::string_view a, std::string_view b);
[[nodiscard]] bool SameApproach(std::string_view a, std::string_view b);

}  // namespace retort::orchestrator::cli
