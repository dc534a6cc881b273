// The private examples of a sweep, made known in its results root.
#pragma once

#include <map>
#include <string>

#include "experiments/spec/sweep.h"
#include "orchestrator/shared_examples.h"
#include "storage/data/example_digests.h"
#include "storage/env.h"

namespace retort::orchestrator {

// The folder that holds a results folder: where that lies, whatever it is reached by.
[[nodiscard]] std::string ResultsRoot(const std::string& results);
// The same folder from the root of the file system on.
[[nodiscard]] std::string AbsoluteName(const std::string& results);

// Whether `results` is where a folder that lies elsewhere was mounted (mount --bind, a container's volume),
// by `mounts`, the text of /proc/self/mountinfo: what lies beside that folder in its own root is not seen
// from here.
[[nodiscard]] bool IsMountedFromElsewhere(const std::string& results, const std::string& mounts);
// Of this process; empty where it is not told.
[[nodiscard]] std::string MountsHere();

// Reads each data set once, however often it is asked.
class RootExamples {
 public:
  // `root`: ResultsRoot. Pictures are decoded as `options` say.
  RootExamples(storage::Env& env, std::string root, storage::DigestOptions options)
      : env_(env), root_(std::move(root)), options_(std::move(options)) {}

  // What the root knows and what the data of `plan` would add, of which nothing is written. Sets that cannot be read now
  // (not there, not decoded yet) are left out. Error: of FindMarkKey and ReadMarks.
  [[nodiscard]] Result<SharedExamples> Look(const SweepPlan& plan);
  // The same, written, of all data of `plan`. Error: of OpenMarkKey, ReadMarks, StoreMarks and DigestsOfSplits.
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
