// Which private data sets of a results root hold the same examples, whatever their files and names.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "experiments/spec/sweep.h"
#include "orchestrator/charge_book.h"
#include "storage/mark_store.h"

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
  // Private examples of the set in this split that public or test splits of `shown` hold, and the other way round; of one
  // set, those of its other splits.
  [[nodiscard]] std::int64_t ExposedBy(const std::string& digest, const std::string& split, const std::string& shown) const;
  [[nodiscard]] std::int64_t ShownOf(const std::string& digest, const std::string& split, const std::string& hidden) const;
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
[[nodiscard]] bool AnyTogether(const SharedExamples& shared, const std::set<std::string>& some,
                               const std::set<std::string>& others);

// Tells `charges` which of `digests` count for each other.
void ShareCharges(const SharedExamples& shared, const std::vector<std::string>& digests, ChargeBook& charges);

}  // namespace retort::orchestrator
