#include "worker/methods/structure_facts.h"

#include <algorithm>

#include "experiments/spec/trial_kind.h"
#include "worker/models/ensemble.h"
#include "worker/private/shards.h"

namespace retort::worker {

std::vector<std::string> FactsThatHold(const std::vector<std::pair<std::string_view, bool>>& facts) {
  std::vector<std::string> names;
  for (const auto& [name, holds] : facts) {
    if (holds) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool ShardsAreDisjoint(const TeacherArtifact& teacher, const Dataset& data) {
  const std::int64_t examples = data.train.size();
  return teacher.spec.method == "ensemble" && !ShardsFollowExamples(teacher.spec) &&
         CheckDisjoint(DisjointShards(examples, teacher.spec.members), examples).ok();
}

bool MembersAreApart(const TeacherArtifact& teacher) {
  return teacher.spec.method == "ensemble" && teacher.spec.stop_metric == StopMetric::none;
}

}  // namespace retort::worker
