#include "orchestrator/root_examples.h"

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

std::string ResultsRoot(const std::string& results) {
  const fs::path whole = Resolved(results, true);
  return whole.has_parent_path() ? whole.parent_path().string() : std::string(".");
}

std::string AbsoluteName(const std::string& results) {
  std::error_code error;
  const fs::path plain = Resolved(results, false), absolute = fs::absolute(plain, error);
  return (error ? plain : absolute).lexically_normal().string();
}

bool IsMountedFromElsewhere(const std::string& results, const std::string& mounts) {
  std::error_code error;
  const std::string meant = fs::weakly_canonical(AbsoluteName(results), error).string();
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

std::string MountsHere() {
  std::ifstream file("/proc/self/mountinfo");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Result<storage::DataMarks> RootExamples::Marks(const storage::MarkKey& key, const std::string& unpacked,
                                               const DataSpec& data) {
  const std::string name = data.digest + "-" + storage::SplitName(data);
  auto found = read_.find(name);
  if (found == read_.end()) {
    RETORT_ASSIGN_OR_RETURN(storage::SplitDigests digests, storage::DigestsOfSplits(env_, data, options_));
    found = read_.emplace(name, std::move(digests)).first;
  }
  return storage::MarksOf(key, unpacked, data, found->second);
}

Result<SharedExamples> RootExamples::Look(const SweepPlan& plan) {
  RETORT_ASSIGN_OR_RETURN(const std::optional<storage::MarkKey> known, storage::FindMarkKey(env_, root_));
  const storage::MarkKey key = known ? *known : storage::MarkKey::Draw();
  RETORT_ASSIGN_OR_RETURN(storage::RootMarks marks, storage::ReadMarks(env_, root_));
  SharedExamples shared(std::move(marks));
  for (const auto& data : plan.data) {
    const std::string& unpacked = UnpackedOf(plan.unpacked, data->digest);
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
    const std::string& unpacked = UnpackedOf(plan.unpacked, data->digest);
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
    const std::string& digest = UnpackedOf(unpacked, set->digest);
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
