#include "orchestrator/shared_examples.h"

#include <algorithm>
#include <utility>

namespace retort::orchestrator {

SharedExamples::SharedExamples(storage::RootMarks marks) : root_(std::move(marks.root)) {
  for (storage::DataMarks& set : marks.sets) Add(std::move(set));
}

void SharedExamples::Add(storage::DataMarks marks) {
  if (!HasMarks(marks.data, marks.split)) sets_[marks.data].push_back(std::move(marks));
}

void SharedExamples::NoteUnmarked(const UnpackedDigests& unpacked, const DataSets& data) {
  for (const auto& set : data) {
    const std::string& digest = UnpackedOf(unpacked, set->digest);
    if (!HasMarks(digest, storage::SplitName(*set))) unmarked_.insert(digest);
  }
}

bool SharedExamples::HasMarks(const std::string& digest, const std::string& split) const {
  const auto found = sets_.find(digest);
  return found != sets_.end() && std::any_of(found->second.begin(), found->second.end(),
                                             [&](const storage::DataMarks& set) { return set.split == split; });
}

bool SharedExamples::Known(const std::string& digest) const {
  return sets_.contains(digest) && !unmarked_.contains(digest);
}

bool SharedExamples::Together(const std::string& a, const std::string& b) const {
  if (a == b) return true;
  if (!sets_.contains(a) && !sets_.contains(b)) return false;
  return !Known(a) || !Known(b) || Shared(a, b) > 0;
}

std::int64_t SharedExamples::Shared(const std::string& a, const std::string& b) const {
  const auto first = sets_.find(a), second = sets_.find(b);
  if (first == sets_.end() || second == sets_.end()) return 0;
  std::int64_t most = 0;
  for (const storage::DataMarks& one : first->second)
    for (const storage::DataMarks& other : second->second)
      most = std::max(most, storage::CountShared(one.hidden, other.hidden));
  return most;
}

std::int64_t SharedExamples::Exposed(const std::string& hidden, const std::string& shown) const {
  const auto first = sets_.find(hidden), second = sets_.find(shown);
  if (first == sets_.end() || second == sets_.end()) return 0;
  std::int64_t most = 0;
  for (const storage::DataMarks& one : first->second)
    for (const storage::DataMarks& other : second->second)
      if (hidden != shown || &one == &other) most = std::max(most, storage::CountShared(one.hidden, other.shown));
  return most;
}

template <typename Count>
std::int64_t SharedExamples::MostBeside(const std::string& digest, const std::string& split, const std::string& other,
                                        const Count& count) const {
  const auto own = sets_.find(digest), others = sets_.find(other);
  if (own == sets_.end() || others == sets_.end()) return 0;
  std::int64_t most = 0;
  for (const storage::DataMarks& one : own->second)
    for (const storage::DataMarks& beside : others->second)
      if (one.split == split && &one != &beside) most = std::max(most, count(one, beside));
  return most;
}

std::int64_t SharedExamples::ExposedBy(const std::string& digest, const std::string& split,
                                       const std::string& shown) const {
  return MostBeside(digest, split, shown, [](const storage::DataMarks& own, const storage::DataMarks& other) {
    return storage::CountShared(own.hidden, other.shown);
  });
}

std::int64_t SharedExamples::ShownOf(const std::string& digest, const std::string& split,
                                     const std::string& hidden) const {
  return MostBeside(digest, split, hidden, [](const storage::DataMarks& own, const storage::DataMarks& other) {
    return storage::CountShared(other.hidden, own.shown);
  });
}

std::vector<std::string> SharedExamples::Digests() const {
  std::vector<std::string> digests;
  for (const auto& [digest, sets] : sets_) digests.push_back(digest);
  return digests;
}

bool AnyTogether(const SharedExamples& shared, const std::set<std::string>& some, const std::set<std::string>& others) {
  return std::any_of(some.begin(), some.end(), [&](const std::string& a) {
    return others.contains(a) ||
           std::any_of(others.begin(), others.end(), [&](const std::string& b) { return shared.Together(a, b); });
  });
}

void ShareCharges(const SharedExamples& shared, const std::vector<std::string>& digests, ChargeBook& charges) {
  for (const std::string& a : digests)
    for (const std::string& b : digests)
      if (a < b && shared.Together(a, b)) charges.Share(a, b);
}

}  // namespace retort::orchestrator
