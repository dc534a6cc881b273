// From ledger events to what one neighbouring relation sees of them. Every rule that turns a mechanism into
// a sensitivity stands here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/composition.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::privacy {

struct Relation {
  Adjacency adjacency = Adjacency::example;
  Neighbour neighbour = Neighbour::replace;
};

inline constexpr Relation kAnswer{Adjacency::answer, Neighbour::answer};
inline constexpr Relation kSlot{Adjacency::slot, Neighbour::answer};
inline constexpr Relation kTeacher{Adjacency::teacher, Neighbour::replace};
inline constexpr Relation kMember{Adjacency::member, Neighbour::replace};
inline constexpr Relation kZeroedMember{Adjacency::member, Neighbour::zero_out};
inline constexpr Relation kExample{Adjacency::example, Neighbour::replace};
inline constexpr Relation kLabel{Adjacency::label, Neighbour::replace};
inline constexpr Relation kExampleAdded{Adjacency::example, Neighbour::add_remove};

// What the adjacency protects, for people.
[[nodiscard]] std::string UnitsOf(Adjacency adjacency);

// Equal mechanisms added up, in order of first appearance. A sum of counts that overflows becomes a negative
// count, which EventProblem refuses.
[[nodiscard]] std::vector<PrivacyEvent> Aggregate(const std::vector<PrivacyEvent>& events);

// Why no relation can bound this event (a reason of reasons.h), or empty. Voids are not looked at.
[[nodiscard]] std::string EventProblem(const PrivacyEvent& event);

// The void that leaves `relation` without a bound, or empty.
[[nodiscard]] std::string VoidOf(const PrivacyEvent& event, const Relation& relation);

// Why `relation` cannot rest on what the worker recorded of this event's trial (a reason of reasons.h), or
// empty. Disjoint shards matter for `example` alone; who drives the generator, and whether the members were
// trained apart, does not matter for one answer.
[[nodiscard]] std::string MissingFact(const PrivacyEvent& event, const Relation& relation);

// The event as one slot sees it of a trial that releases `steps` times. Equal inputs are answered once by randomised
// response, so that its draws do not say how many were about one slot: at most one a release.
[[nodiscard]] PrivacyEvent OfASlot(PrivacyEvent event, std::int64_t steps);

// All events under one relation. For `answer` give one event at a time: a changed answer lies in one of them.
[[nodiscard]] Composition ComposeFor(const Relation& relation, const std::vector<PrivacyEvent>& events);

// The bound under the relation: the sum over all events, or for `answer` the worst single one. `assumptions`,
// when not null, receives what the bound rests on.
[[nodiscard]] Bound BoundFor(const Relation& relation, const std::vector<PrivacyEvent>& events, double delta,
                             std::vector<std::string>* assumptions);

}  // namespace retort::privacy
