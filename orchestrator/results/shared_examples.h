// Finds which private data sets of a results root hold the same examples, whatever their files and names.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/privacy_charges.h"
#include "storage/datasets/example_digests.h"
#include "storage/datasets/mark_store.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

using DataSets = std::vector<std::shared_ptr<const DataSpec>>;

// Data sets are named by their unpacked digests; one that was split in several ways is all of them.
class SharedExamples {
 public:
  SharedExamples() = default;  // of a root without marks
  explicit SharedExamples(storage::RootMarks marks);
  void Add(storage::DataMarks marks);
  // Of sets that somebody may have drawn on: what of them has no marks may be anybody's from then on.
  void NoteUnmarked(const UnpackedDigests& unpacked, const DataSets& data);

  // Of the root's key; empty without marks.
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] bool HasMarks(const std::string& digest, const std::string& split) const;
  // Whether what is drawn on one counts for the other: they are the same files, or they share a private example, or
  // nobody can say that they do not. Two sets of a time before marks count apart unless they are the same files.
  [[nodiscard]] bool Together(const std::string& a, const std::string& b) const;
  // Private examples that both are known to hold.
  [[nodiscard]] std::int64_t Shared(const std::string& a, const std::string& b) const;
  // Private examples of `hidden` that public or test splits of `shown` hold; of one set, of the same way to split it.
  [[nodiscard]] std::int64_t Exposed(const std::string& hidden, const std::string& shown) const;
  // Private examples of the set in this split that public or test splits of `shown` hold, and the other way round; of
  // one set, those of its other splits.
  [[nodiscard]] std::int64_t ExposedBy(const std::string& digest, const std::string& split,
                                       const std::string& shown) const;
  [[nodiscard]] std::int64_t FindPublicPart(const std::string& digest, const std::string& split,
                                            const std::string& hidden) const;
  // The sets with marks.
  [[nodiscard]] std::vector<std::string> Digests() const;

 private:
  [[nodiscard]] bool Known(const std::string& digest) const;
  // Between the set in this split and each split of `other` but itself.
  template <typename Count>
  [[nodiscard]] std::int64_t MostBeside(const std::string& digest, const std::string& split, const std::string& other,
                                        const Count& count) const;

  std::string root_;
  std::map<std::string, std::vector<storage::DataMarks>> sets_;
  std::set<std::string> unmarked_;  // some split of it has no marks
};

// Whether one of `some` counts for one of `others`.
[[nodiscard]] bool CountsAnyTogether(const SharedExamples& shared, const std::set<std::string>& some,
                                     const std::set<std::string>& others);

// Tells `charges` which of `digests` count for each other.
void ShareCharges(const SharedExamples& shared, const std::vector<std::string>& digests, PrivacyCharges& charges);

// The folder that holds a results folder: where that lies, whatever it is reached by.
[[nodiscard]] std::string FindResultsRoot(const std::string& results);
// The same folder from the root of the file system on.
[[nodiscard]] std::string FindAbsolutePath(const std::string& results);

// Whether `results` is where a folder that lies elsewhere was mounted (mount --bind, a container's volume),
// by `mounts`, the text of /proc/self/mountinfo: what lies beside that folder in its own root is not seen
// from here.
[[nodiscard]] bool IsMountedFromElsewhere(const std::string& results, const std::string& mounts);
// Of this process; empty where it is not told.
[[nodiscard]] std::string ReadMounts();

// Reads each data set once, however often it is asked.
class RootExamples {
 public:
  // `root`: FindResultsRoot. Images are decoded as `options` say.
  RootExamples(storage::Env& env, std::string root, storage::DigestOptions options)
      : env_(env), root_(std::move(root)), options_(std::move(options)) {}

  // What the root knows and what the data of `plan` would add, of which nothing is written. Sets that cannot be read
  // now (not there, not decoded yet) are left out. Error: of FindMarkKey and ReadMarks.
  [[nodiscard]] Result<SharedExamples> Look(const SweepPlan& plan);
  // The same, written, of all data of `plan`. Error: of OpenMarkKey, ReadMarks, StoreMarks and ComputeSplitDigests.
  [[nodiscard]] Result<SharedExamples> Keep(const SweepPlan& plan);
  // Writes what is missing of `data`, as far as it can be read without decoding it; the rest stays unmarked.
  [[nodiscard]] Status Complete(const UnpackedDigests& unpacked, const DataSets& data, SharedExamples& shared);

 private:
  [[nodiscard]] Result<storage::DataMarks> Marks(const storage::MarkKey& key, const std::string& unpacked,
                                                 const DataSpec& data);

  storage::Env& env_;
  std::string root_;
  storage::DigestOptions options_;
  std::map<std::string, storage::SplitDigests> read_;  // by digest and split
};

}  // namespace retort::orchestrator
