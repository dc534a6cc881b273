#include "experiments/privacy/accountants/selection_pool.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/randomized_response.h"
#include "experiments/privacy/accountants/reasons.h"

namespace retort::privacy {
namespace {

constexpr double kWithRounding = 1 + 1e-12;

// Orders at which curves are looked up: four to an octave, whole from 3 on, where they cost a fraction of the others.
std::vector<double> MakeCoarseOrders() {
  std::vector<double> all;
  for (int i = -12; i <= 48; ++i) {
    double order = 1 + std::exp2(i / 4.0);
    if (order > 3) order = std::round(order);
    if (all.empty() || order > all.back()) all.push_back(order);
  }
  return all;
}

// Tenths up to 11 and whole ones up to 64, too: what delta is lost between orders is below a thousandth of it.
std::vector<double> MakeFineOrders() {
  std::vector<double> all = MakeCoarseOrders();
  for (int i = 11; i < 110; ++i) all.push_back(i / 10.0);
  for (int i = 11; i <= 64; ++i) all.push_back(i);
  for (int i = 97; i < 192; ++i) all.push_back(1 + std::round(std::exp2(i / 16.0)));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

struct OrderTable {
  explicit OrderTable(std::vector<double> all) : orders(std::move(all)) {
    for (const double order : orders) parts.push_back((order - 1) * std::log1p(-1 / order) - std::log(order));
  }
  std::vector<double> orders;
  std::vector<double> parts;  // of the conversion to delta, which the order alone decides
};

namespace {

// Fine where few candidates are to be looked up.
const OrderTable& ChooseOrders(std::size_t candidates) {
  constexpr std::size_t kFew = 4;
  static const OrderTable coarse(MakeCoarseOrders()), fine(MakeFineOrders());
  return candidates <= kFew ? fine : coarse;
}

// By every bound of the base that has RDP.
double ComputeBaseRdp(const SelectionBase& base, double order) {
  double rdp = std::isfinite(base.mu) ? order * base.mu * base.mu / 2 * kWithRounding : kInfinity;
  if (std::isfinite(base.epsilon) && base.delta == 0)
    rdp = std::min({rdp, base.epsilon, ComputeResponseRdp(base.epsilon, 2, order) * kWithRounding});
  if (base.rdp && !base.rdp_of_half) rdp = std::min(rdp, base.rdp(order));
  return rdp >= 0 ? rdp : kInfinity;
}

// The same at the table's orders; after the first without a finite one there is none.
std::vector<double> Tabulate(const std::vector<double>& orders, const std::function<double(double)>& curve) {
  std::vector<double> table;
  bool ended = false;
  for (const double order : orders) {
    const double rdp = ended ? kInfinity : curve(order);
    ended = !(rdp >= 0 && std::isfinite(rdp));
    table.push_back(ended ? kInfinity : rdp);
  }
  return table;
}

// delta at epsilon >= 0 by a table: the least over orders of Canonne-Kamath-Steinke 2020, proposition 12, and the total
// variation by the least order [Bretagnolle-Huber 1979].
double ConvertTable(const OrderTable& table, const std::vector<double>& rdp, double epsilon) {
  double least = 0;
  for (std::size_t i = 0; i < rdp.size() && rdp[i] < kInfinity; ++i) {
    const double more = table.orders[i] - 1, part = table.parts[i];
    least = std::min(least, more * (rdp[i] - epsilon) + part + 1e-15 * (more * (rdp[i] + epsilon) - part));
  }
  const double variation = rdp.front() < kInfinity ? std::sqrt(-std::expm1(-rdp.front())) : 1;
  return std::min(variation, std::exp(least)) * kWithRounding;
}

// delta at `epsilon` of (e, d)-DP, which randomised response and a failure with probability d reach; `shrink` is e^-e.
double ConvertPair(double e, double d, double shrink, double epsilon) {
  if (epsilon >= e) return d;
  return d + (1 - d) * -std::expm1(epsilon - e) / (1 + shrink) * kWithRounding;
}

bool IsBelow(const std::vector<double>& one, const std::vector<double>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), std::less_equal<>());
}

}  // namespace

Result<SelectionBase> MakeSelectionBase(const Composition& composition) {
  if (!composition.unbounded.empty()) return UsageError(composition.unbounded);
  if (composition.empty()) return UsageError(std::string(reason::kNoRelease));
  if (!composition.selections.empty()) return UsageError(std::string(reason::kUnexpectedMechanism));
  SelectionBase base;
  base.missing = composition.missing;
  const bool answers = !composition.responses.empty() || !composition.tests.empty();
  if (!answers) {
    // As if every step took every example.
    std::vector<GaussianTerm> terms = composition.gaussian;
    for (const SubsampledTerm& term : composition.subsampled)
      terms.push_back({term.steps, 1, term.multiplier, composition.replace_one ? 4 : 1});
    base.mu = ComputeComposedMu(terms);
  }
  if (answers || !composition.subsampled.empty()) {
    base.rdp = MakeRdpCurve(composition);
    base.rdp_of_half = composition.replace_one && !composition.subsampled.empty();
  }
  if (!std::isfinite(base.mu) && !base.rdp) return UsageError(std::string(reason::kTooLarge));
  return base;
}

SelectionPool::SelectionPool(const std::vector<SelectionBase>& candidates) : table_(&ChooseOrders(candidates.size())) {
  for (const SelectionBase& base : candidates) {
    missing_ = std::max(missing_, base.missing);
    if (base.rdp || (std::isfinite(base.mu) && std::isfinite(base.epsilon)))
      KeepCurve(base);
    else if (std::isfinite(base.epsilon))
      KeepPair(base);
    else
      mu_ = std::max(mu_, base.mu);
  }
}

void SelectionPool::KeepPair(const SelectionBase& base) {
  const auto exceeds = [](const Pair& one, const Pair& other) {
    return one.epsilon >= other.epsilon && one.delta >= other.delta;
  };
  const Pair pair = {base.epsilon, base.delta, std::exp(-base.epsilon)};
  for (const Pair& kept : pairs_)
    if (exceeds(kept, pair)) return;
  std::erase_if(pairs_, [&](const Pair& kept) { return exceeds(pair, kept); });
  pairs_.push_back(pair);
}

void SelectionPool::KeepCurve(const SelectionBase& base) {
  Curve curve{base, Tabulate(table_->orders, [&](double order) { return ComputeBaseRdp(base, order); }), {}};
  if (base.rdp_of_half) curve.half = Tabulate(table_->orders, base.rdp);
  ++seen_curves_;
  if (worst_.empty()) worst_.assign(curve.rdp.size(), 0);
  std::transform(worst_.begin(), worst_.end(), curve.rdp.begin(), worst_.begin(),
                 [](double one, double other) { return std::max(one, other); });
  const auto exceeds = [](const Curve& one, const Curve& other) {
    if (other.half.size() != one.half.size()) return false;
    const bool pair = other.base.epsilon <= one.base.epsilon && other.base.delta <= one.base.delta;
    return pair && other.base.mu <= one.base.mu && IsBelow(other.rdp, one.rdp) && IsBelow(other.half, one.half);
  };
  for (const Curve& kept : curves_)
    if (exceeds(kept, curve)) return;
  std::erase_if(curves_, [&](const Curve& kept) { return exceeds(curve, kept); });
  curves_.push_back(std::move(curve));
}

double SelectionPool::ComputeDelta(double epsilon) const {
  if (std::isnan(epsilon) || epsilon == -kInfinity) return 1;
  // P(S) - e^epsilon Q(S) = 1 - e^epsilon + e^epsilon (Q(T) - e^-epsilon P(T)), T what is not in S.
  if (epsilon < 0) {
    const double kept = std::exp(epsilon);
    return std::min(1.0, (-std::expm1(epsilon) + kept * ComputeDelta(-epsilon)) * kWithRounding);
  }
  double worst = mu_ > 0 ? std::exp(ComputeGaussianLogDelta(epsilon, mu_)) * kWithRounding : 0;
  for (const Pair& pair : pairs_) worst = std::max(worst, ConvertPair(pair.epsilon, pair.delta, pair.shrink, epsilon));
  for (const Curve& curve : curves_) {
    const SelectionBase& base = curve.base;
    double delta = ConvertTable(*table_, curve.rdp, epsilon);
    if (std::isfinite(base.mu))
      delta = std::min(delta, std::exp(ComputeGaussianLogDelta(epsilon, base.mu)) * kWithRounding);
    if (std::isfinite(base.epsilon))
      delta = std::min(delta, ConvertPair(base.epsilon, base.delta, std::exp(-base.epsilon), epsilon));
    // Two steps of (epsilon / 2, d) are (epsilon, (1 + e^(epsilon/2)) d).
    if (!curve.half.empty())
      delta =
          std::min(delta, (1 + std::exp(epsilon / 2)) * ConvertTable(*table_, curve.half, epsilon / 2) * kWithRounding);
    worst = std::max(worst, delta);
  }
  return std::min(worst, 1.0);
}

double SelectionPool::ComputeRdp(double order) const {
  double worst = order * mu_ * mu_ / 2 * kWithRounding;
  for (const Pair& pair : pairs_)
    worst = std::max(worst, ComputeBaseRdp({kInfinity, pair.epsilon, pair.delta, nullptr, false, 0}, order));
  if (curves_.empty()) return worst;
  if (seen_curves_ == 1) return std::max(worst, ComputeBaseRdp(curves_.front().base, order));
  // RDP times order - 1 is convex in the order and 0 at 1: between two orders it lies below the chord.
  const std::vector<double>& orders = table_->orders;
  const auto above = std::lower_bound(orders.begin(), orders.end(), order);
  if (above == orders.end()) return kInfinity;
  const auto i = static_cast<std::size_t>(above - orders.begin());
  if (i == 0 || worst_[i] == kInfinity) return std::max(worst, worst_[i]);
  const double share = (order - orders[i - 1]) / (orders[i] - orders[i - 1]);
  const double chord = (1 - share) * (orders[i - 1] - 1) * worst_[i - 1] + share * (orders[i] - 1) * worst_[i];
  return std::max(worst, chord / (order - 1) * kWithRounding);
}

std::vector<double> SelectionPool::FindCorners() const {
  std::vector<double> corners;
  for (const Pair& pair : pairs_) corners.push_back(pair.epsilon);
  return corners;
}

}  // namespace retort::privacy
