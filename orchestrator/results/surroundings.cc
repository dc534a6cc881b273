#include "orchestrator/results/surroundings.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "orchestrator/process/system_clock.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/results_root.h"

namespace retort::orchestrator {
namespace {

bool Same(const storage::FileStamp& a, const storage::FileStamp& b) {
  return a.telling && b.telling && a.inode == b.inode && a.modified == b.modified && a.size == b.size;
}

}  // namespace

void ReadSurroundings(storage::Env& env, Core& core) {
  core.audit_voids = FindAuditVoids(env, core);
  const UnpackedDigests& unpacked = core.charges.unpacked();
  const std::vector<std::string> charged = core.charges.Digests();
  std::set<std::string> digests(charged.begin(), charged.end());
  for (const std::size_t index : core.plan())
    if (const DataSpec* data = core.At(index).spec.data.get())
      digests.insert(FindUnpackedDigest(unpacked, data->digest));
  const RootCharges root =
      ReadRoot(env, core.settings().results, digests, unpacked, ListDataSpecs(core), core.noted_root());
  ShareCharges(root.shared, {digests.begin(), digests.end()}, core.charges);
  core.root = root.directory;
  core.root_trouble = root.trouble;
  OtherCharges beside = CollectOtherCharges(root, digests);
  core.other_charges = std::move(beside.charged);
  // Where another sweep cannot be read, what budgets are known stay.
  if (root.trouble.empty() || !root.sweeps.empty()) core.other_budgets = std::move(beside.budgets);
}

bool AuditWatch::Look(Core& core, double monotonic) {
  if (monotonic < next_) return false;
  next_ = monotonic + kPauseSeconds;
  const std::string& results = core.settings().results;
  if (!MayBeAudited(env_, results)) return false;
  const Result<storage::FileStamp> stamp = ReadAuditStamp(env_, results);
  if (stamp.ok() && seen_ && Same(*stamp, *seen_)) return false;
  seen_ = stamp.ok() ? std::optional(*stamp) : std::nullopt;
  const double began = ReadClocks().monotonic;
  std::map<TrialId, std::string> voids = FindAuditVoids(env_, core);
  next_ = monotonic + std::max(kPauseSeconds, kPauseFactor * (ReadClocks().monotonic - began));
  if (voids == core.audit_voids) return false;
  core.audit_voids = std::move(voids);
  return true;
}

FolderWatch::FolderWatch(storage::Env& env, std::string results) : env_(env), results_(std::move(results)) {
  const Result<storage::FileStamp> stamp = env_.Stamp(results_);
  telling_ = stamp.ok() && stamp->telling;
  if (telling_) inode_ = stamp->inode;
}

Status FolderWatch::Look(double monotonic) {
  if (!telling_ || monotonic < next_) return {};
  next_ = monotonic + kLookSeconds;
  const Result<storage::FileStamp> stamp = env_.Stamp(results_);
  if (stamp.ok() && stamp->inode == inode_) return {};
  return EnvironmentError("The results folder '" + results_ + "' was moved or removed while it was in use" +
                          (stamp.ok() ? ", and another one is there now" : "") +
                          ": bring it back, or name where it is now with --results, and run the same command again.");
}

}  // namespace retort::orchestrator
