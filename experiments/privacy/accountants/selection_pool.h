// What the candidates of a private selection cost: each by whatever bounds it has, and the worst of them.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/accountants/composition.h"

namespace retort::privacy {

// What one candidate, with its score, costs: any of its bounds, for both directions of a pair of neighbours.
struct SelectionBase {
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  double mu = kNone;                  // Gaussian DP
  double epsilon = kNone;             // (epsilon, delta)-DP; pure where delta is 0
  double delta = 0;                   // in [0, 1)
  std::function<double(double)> rdp;  // Renyi DP at an order > 1; what it bounds is convex times order - 1
  bool rdp_of_half = false;           // `rdp` is of adding or removing, and neighbours are two such steps
  double missing = 0;                 // part of delta that noise with an end gives away
};

// The same of events as one relation sees them. Error: usage, the reason (reasons.h) why there is no bound.
[[nodiscard]] Result<SelectionBase> MakeSelectionBase(const Composition& composition);

struct OrderTable;

// The worst of several candidates, pointwise. Those that another one exceeds everywhere are dropped.
class SelectionPool {
 public:
  // REQUIRES: at least one candidate, and a bound of each.
  explicit SelectionPool(const std::vector<SelectionBase>& candidates);

  // Returns a bound on the hockey-stick divergence, the largest P(S) - e^epsilon Q(S), for any epsilon, negative ones
  // too.
  [[nodiscard]] double ComputeDelta(double epsilon) const;
  // Returns RDP at an order > 1; infinity where a candidate has none.
  [[nodiscard]] double ComputeRdp(double order) const;
  // The epsilons of candidates that have no more than an (epsilon, delta): from there on their delta stays.
  [[nodiscard]] std::vector<double> FindCorners() const;
  [[nodiscard]] double missing() const { return missing_; }

 private:
  struct Pair {  // (epsilon, delta) alone
    double epsilon = 0, delta = 0, shrink = 1;
  };
  struct Curve {  // a candidate with a curve; its other bounds lie in `base`
    SelectionBase base;
    std::vector<double> rdp;   // at the table's orders, the least that its bounds give
    std::vector<double> half;  // of half a step, where that is what the curve is of
  };
  void KeepPair(const SelectionBase& base);
  void KeepCurve(const SelectionBase& base);

  const OrderTable* table_;  // of the tables below
  double mu_ = 0;            // the largest of those with that bound alone
  std::vector<Pair> pairs_;
  std::vector<Curve> curves_;
  std::vector<double> worst_;  // RDP of all curves at the table's orders
  int seen_curves_ = 0;
  double missing_ = 0;
};

}  // namespace retort::privacy
