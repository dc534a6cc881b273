// What a method can say about its own structure, for the ledger: the names of privacy_event.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/methods/method.h"

namespace retort::worker {

// The names whose condition holds, sorted.
[[nodiscard]] std::vector<std::string> FactsThatHold(
    const std::vector<std::pair<std::string_view, bool>>& facts);

// Were the members of this ensemble trained on shards of `data`'s private split that share no example, counted over
// the indices, and that indices alone decide? A Dirichlet partition goes by the labels, and so does a private split that
// `sensitive_classes` move into: one example's label moves others between shards, which then differ in more than one
// place.
[[nodiscard]] bool ShardsAreDisjoint(const TeacherArtifact& teacher, const Dataset& data);

// Did each member of this ensemble depend on its own shard alone? Not where a stop rule looked at all of
// them.
[[nodiscard]] bool MembersAreApart(const TeacherArtifact& teacher);

}  // namespace retort::worker
