// Turns ledger events into the terms that one neighbouring relation sees. Every rule that gives a mechanism its
// sensitivity is here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/privacy/accountants/composition.h"
#include "experiments/privacy/claim.h"
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

// Returns what the adjacency protects, in words.
[[nodiscard]] std::string DescribeUnit(Adjacency adjacency);

// Adds up equal mechanisms, in order of first appearance. A sum of counts that overflows becomes a negative
// count, which FindEventProblem refuses.
[[nodiscard]] std::vector<PrivacyEvent> Aggregate(const std::vector<PrivacyEvent>& events);

// Returns why no relation can bound this event (a reason of reasons.h), or empty. Ignores voids.
[[nodiscard]] std::string FindEventProblem(const PrivacyEvent& event);

// Returns the void that leaves `relation` without a bound, or empty.
[[nodiscard]] std::string FindVoid(const PrivacyEvent& event, const Relation& relation);

// Returns which fact about this event's trial `relation` needs and the worker did not record (a reason of reasons.h),
// or empty. Disjoint shards matter for `example` alone; who drives the generator, and whether the members were trained
// apart, does not matter for one answer.
[[nodiscard]] std::string FindMissingFact(const PrivacyEvent& event, const Relation& relation);

// Returns the part of an event that is about one slot, of a trial that releases `steps` times. Equal inputs are
// answered once by randomised response, so that its draws do not say how many were about one slot: at most one a
// release.
[[nodiscard]] PrivacyEvent RestrictToSlot(PrivacyEvent event, std::int64_t steps);

// Composes all events under one relation. For `answer` give one event at a time: a changed answer lies in one of them.
[[nodiscard]] Composition ComposeEvents(const Relation& relation, const std::vector<PrivacyEvent>& events);

// Returns the bound under the relation: the sum over all events, or for `answer` the worst single one, with the
// thresholds before it. `assumptions`, when not null, receives what the bound rests on.
[[nodiscard]] Bound ComputeRelationBound(const Relation& relation, const std::vector<PrivacyEvent>& events,
                                         double delta, std::vector<std::string>* assumptions);

// Returns the total over all charged events of one private data set, for the adjacency `example`, where an example's
// place is filled or stays empty (a bound on a replaced member holds there, though not where later examples move up):
// the bound of their composition (composition.h), so that one trial costs what it claims. 0 for no events. Infinity
// when any event is unbounded. Pass each trial's ComputeChargedEvents. ComputeTotalBound says what goes with it.
[[nodiscard]] double ComputeTotalEpsilon(const std::vector<std::vector<PrivacyEvent>>& trials, double delta);

// The same with its accountant, and with its reason where it is infinite: a void or a name of reasons.h.
// `assumptions`, when not null, receives what it rests on. Epsilon 0 without an accountant where nothing was charged.
[[nodiscard]] Bound ComputeTotalBound(const std::vector<std::vector<PrivacyEvent>>& trials, double delta,
                                      std::vector<std::string>* assumptions = nullptr);

// Returns ComputeTotalEpsilon at budget.delta where it is above budget.epsilon, nothing where it is not. Faster the
// further below the budget it is.
[[nodiscard]] std::optional<double> FindTotalAboveBudget(const std::vector<std::vector<PrivacyEvent>>& trials,
                                                         const Budget& budget);

}  // namespace retort::privacy
