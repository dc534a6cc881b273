#include "orchestrator/results/shared_examples.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
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
    const std::string& digest = FindUnpackedDigest(unpacked, set->digest);
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

std::int64_t SharedExamples::FindPublicPart(const std::string& digest, const std::string& split,
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

bool CountsAnyTogether(const SharedExamples& shared, const std::set<std::string>& some,
                       const std::set<std::string>& others) {
  return std::any_of(some.begin(), some.end(), [&](const std::string& a) {
    return others.contains(a) ||
           std::any_of(others.begin(), others.end(), [&](const std::string& b) { return shared.Together(a, b); });
  });
}

void ShareCharges(const SharedExamples& shared, const std::vector<std::string>& digests, PrivacyCharges& charges) {
  for (const std::string& a : digests)
    for (const std::string& b : digests)
      if (a < b && shared.Together(a, b)) charges.Share(a, b);
}

namespace {

namespace fs = std::filesystem;

// A name from which the last part may be taken off: "..", after a link, is not where the name says.
fs::path Resolved(const fs::path& named, bool links_too) {
  const fs::path plain = named.lexically_normal();
  const fs::path whole = plain.has_filename() ? plain : plain.parent_path();
  std::error_code error;
  const bool up = std::any_of(named.begin(), named.end(), [](const fs::path& part) { return part == ".."; });
  if (!up && whole != "." && !(links_too && fs::is_symlink(whole, error))) return whole;
  const fs::path absolute = fs::absolute(named, error);
  if (error) return whole;  // the folder that names begin in is gone
  const fs::path meant = fs::weakly_canonical(absolute, error);
  return error ? whole : meant.has_filename() ? meant : meant.parent_path();
}

// "\040" is a blank, as mountinfo writes it.
std::string Unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const bool escaped = text[i] == '\\' && i + 3 < text.size() &&
                         std::from_chars(&text[i + 1], &text[i + 1] + 3, code, 8).ptr == &text[i + 1] + 3;
    plain += escaped ? static_cast<char>(code) : text[i];
    if (escaped) i += 3;
  }
  return plain;
}

}  // namespace

std::string FindResultsRoot(const std::string& results) {
  const fs::path whole = Resolved(results, true);
  return whole.has_parent_path() ? whole.parent_path().string() : std::string(".");
}

std::string FindAbsolutePath(const std::string& results) {
  std::error_code error;
  const fs::path plain = Resolved(results, false), absolute = fs::absolute(plain, error);
  return (error ? plain : absolute).lexically_normal().string();
}

bool IsMountedFromElsewhere(const std::string& results, const std::string& mounts) {
  std::error_code error;
  const std::string meant = fs::weakly_canonical(FindAbsolutePath(results), error).string();
  bool part = false;  // of the last mount there, which hides those before
  std::istringstream lines(mounts);
  for (std::string line; !error && std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, parent, device, root, point;
    words >> number >> parent >> device >> root >> point;
    if (Unescaped(point) == meant) part = root != "/";
  }
  return part;
}

std::string ReadMounts() {
  std::ifstream file("/proc/self/mountinfo");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Result<storage::DataMarks> RootExamples::Marks(const storage::MarkKey& key, const std::string& unpacked,
                                               const DataSpec& data) {
  const std::string name = data.digest + "-" + storage::SplitName(data);
  auto found = read_.find(name);
  if (found == read_.end()) {
    RETORT_ASSIGN_OR_RETURN(storage::SplitDigests digests, storage::ComputeSplitDigests(env_, data, options_));
    found = read_.emplace(name, std::move(digests)).first;
  }
  return storage::MakeMarks(key, unpacked, data, found->second);
}

Result<SharedExamples> RootExamples::Look(const SweepPlan& plan) {
  RETORT_ASSIGN_OR_RETURN(const std::optional<storage::MarkKey> known, storage::FindMarkKey(env_, root_));
  const storage::MarkKey key = known ? *known : storage::MarkKey::Draw();
  RETORT_ASSIGN_OR_RETURN(storage::RootMarks marks, storage::ReadMarks(env_, root_));
  SharedExamples shared(std::move(marks));
  for (const auto& data : plan.data) {
    const std::string& unpacked = FindUnpackedDigest(plan.unpacked, data->digest);
    if (data->digest.empty() || shared.HasMarks(unpacked, storage::SplitName(*data))) continue;
    Result<storage::DataMarks> made = Marks(key, unpacked, *data);
    if (made.ok()) shared.Add(*std::move(made));
  }
  return shared;
}

Result<SharedExamples> RootExamples::Keep(const SweepPlan& plan) {
  if (plan.data.empty()) return Look(plan);
  RETORT_ASSIGN_OR_RETURN(const storage::MarkKey key, storage::OpenMarkKey(env_, root_));
  RETORT_ASSIGN_OR_RETURN(storage::RootMarks marks, storage::ReadMarks(env_, root_));
  marks.root = key.Name();
  SharedExamples shared(std::move(marks));
  for (const auto& data : plan.data) {
    const std::string& unpacked = FindUnpackedDigest(plan.unpacked, data->digest);
    if (shared.HasMarks(unpacked, storage::SplitName(*data))) continue;
    RETORT_ASSIGN_OR_RETURN(storage::DataMarks made, Marks(key, unpacked, *data));
    RETORT_RETURN_IF_ERROR(storage::StoreMarks(env_, root_, key, made));
    shared.Add(std::move(made));
  }
  return shared;
}

Status RootExamples::Complete(const UnpackedDigests& unpacked, const DataSets& data, SharedExamples& shared) {
  std::optional<storage::MarkKey> key;
  for (const auto& set : data) {
    const std::string& digest = FindUnpackedDigest(unpacked, set->digest);
    if (shared.HasMarks(digest, storage::SplitName(*set))) continue;
    if (!key) {
      RETORT_ASSIGN_OR_RETURN(key, storage::FindMarkKey(env_, root_));
      if (!key) return {};
    }
    options_.may_decode = false;
    Result<storage::DataMarks> made = Marks(*key, digest, *set);
    if (!made.ok()) continue;
    RETORT_RETURN_IF_ERROR(storage::StoreMarks(env_, root_, *key, *made));
    shared.Add(*std::move(made));
  }
  return {};
}

}  // namespace retort::orchestrator
