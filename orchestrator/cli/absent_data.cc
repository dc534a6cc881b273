#include "orchestrator/cli/absent_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

namespace retort::orchestrator::cli {
namespace {

struct Part {
  std::string_view name;
  std::int64_t examples = 0;
};

struct KnownSet {
  std::string_view reader, variant;  // target or version; empty: any
  std::int64_t classes = 0, channels = 0, height = 0, width = 0;
  std::array<Part, 3> parts;
};

constexpr std::array kSets = {
    KnownSet{"idx", "", 10, 1, 28, 28, {{{"train", 60'000}, {"test", 10'000}, {}}}},
    KnownSet{"cifar10", "", 10, 3, 32, 32, {{{"train", 50'000}, {"test", 10'000}, {}}}},
    KnownSet{"cifar100", "fine", 100, 3, 32, 32, {{{"train", 50'000}, {"test", 10'000}, {}}}},
    KnownSet{"cifar100", "coarse", 20, 3, 32, 32, {{{"train", 50'000}, {"test", 10'000}, {}}}},
    KnownSet{"svhn", "", 10, 3, 32, 32, {{{"train", 73'257}, {"test", 26'032}, {"extra", 531'131}}}},
    KnownSet{"medmnist", "", 9, 3, 28, 28, {{{"train", 89'996}, {"validation", 10'004}, {"test", 7'180}}}},
    // Of the hair colours only some faces have one of the three; how many is read from the list.
    KnownSet{"celeba", "gender", 2, 3, 218, 178, {{{"train", 162'770}, {"validation", 19'867}, {"test", 19'962}}}},
    KnownSet{"celeba", "hair", 3, 3, 218, 178, {{{"train", 162'770}, {"validation", 19'867}, {"test", 19'962}}}},
    KnownSet{"covidx", "9B", 2, 3, 0, 0, {{{"train", 30'482}, {"test", 400}, {}}}},
    KnownSet{"covidx", "9A", 3, 3, 0, 0, {{{"train", 30'130}, {"test", 400}, {}}}},
    KnownSet{"covidx", "5", 3, 3, 0, 0, {{{"train", 13'958}, {"test", 0}, {}}}},
    KnownSet{"imagenet", "", 1000, 3, 0, 0, {{{"train", 1'281'167}, {"validation", 50'000}, {}}}},
    KnownSet{"tiny-imagenet", "", 200, 3, 64, 64, {{{"train", 100'000}, {"validation", 10'000}, {}}}},
};

const KnownSet* Find(const DataSpec& data) {
  for (const KnownSet& set : kSets)
    if (set.reader == data.reader && (set.variant.empty() || set.variant == data.target || set.variant == data.version))
      return &set;
  return nullptr;
}

std::int64_t ExamplesOf(const KnownSet& set, std::string_view part) {
  std::int64_t examples = 0;
  for (const Part& known : set.parts)
    if (part.empty() || known.name == part) examples += known.examples;
  return examples;
}

// As inspection would: fractions one after the other, open parts to their end.
void ResolveSplit(const KnownSet& set, DataSpec& data) {
  SplitSpec& split = data.split;
  double sum = 0;
  for (const auto& [range, source] : {std::pair{&split.train, &split.train_source},
                                      std::pair{&split.public_range, &split.public_source},
                                      std::pair{&split.test, &split.test_source}}) {
    if (source->fraction > 0) {
      range->begin = static_cast<std::int64_t>(std::floor(sum * static_cast<double>(data.examples) + 1e-6));
      sum += source->fraction;
      range->end = static_cast<std::int64_t>(std::floor(sum * static_cast<double>(data.examples) + 1e-6));
    } else if (!source->part.empty() && source->open_end) {
      range->end = std::max(range->begin, ExamplesOf(set, source->part));
    }
  }
}

}  // namespace

void AssumeAsPublished(DataSpec& data) {
  const SplitSpec& split = data.split;
  data.examples = std::max({split.train.end, split.public_range.end, split.test.end});
  const KnownSet* set = Find(data);
  if (set == nullptr) return;
  if (data.classes == 0) data.classes = set->classes;
  data.channels = set->channels;
  if (data.height == 0 && set->height > 0) {
    data.height = set->height;
    data.width = set->width;
  }
  data.examples = std::max(data.examples, ExamplesOf(*set, ""));
  ResolveSplit(*set, data);
}

}  // namespace retort::orchestrator::cli
