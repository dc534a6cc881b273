#include "orchestrator/results/tables/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <string>

#include "experiments/base/number_text.h"
#include "experiments/privacy/claims.h"

namespace retort::orchestrator {
namespace {

bool IsFraction(const std::string& metric) { return metric.find("accuracy") != std::string::npos; }

std::string NumberText(double value, const std::string& metric) {
  if (const std::optional<std::int64_t> count = FindCount(value, metric)) return CountText(*count);
  return IsCount(metric) ? fmt::format("{:.1f}", value) : fmt::format("{:.4g}", value);
}

constexpr double kNormal975 = 1.959963984540054;  // quantile of the normal distribution
constexpr std::size_t kResamples = 4000;

// Equal values have themselves as their mean, without a rounding.
double Mean(const std::vector<double>& values) {
  if (std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); }))
    return values.front();
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  return mean;
}

// Uniform to within count / 2^32.
std::size_t DrawIndex(std::mt19937_64& random, std::size_t count) {
  return static_cast<std::size_t>((random() >> 32U) * count >> 32U);
}

std::pair<double, double> BootstrapInterval(const std::vector<double>& values) {
  std::mt19937_64 random(0);
  std::vector<double> means(kResamples);
  for (double& mean : means) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[DrawIndex(random, values.size())];
    mean = sum / static_cast<double>(values.size());
  }
  const auto at = [&means](std::size_t rank) {
    const auto place = means.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(means.begin(), place, means.end());
    return *place;
  };
  const std::size_t tail = kResamples / 40;  // 2.5 %
  const double low = at(tail - 1);
  return {low, at(kResamples - tail)};
}

std::pair<double, double> StudentInterval(double mean, double sd, double n) {
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.975);
  const double half = t * sd / std::sqrt(n);
  return {mean - half, mean + half};
}

}  // namespace

SeedSummary Summarize(const std::vector<double>& values, retort::Interval interval) {
  SeedSummary summary;
  summary.n = static_cast<int>(values.size());
  if (values.empty()) return summary;
  summary.mean = Mean(values);
  if (values.size() < 2) return summary;
  const auto n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.sd = std::sqrt(squares / (n - 1));
  summary.ci95 = interval == retort::Interval::bootstrap ? BootstrapInterval(values)
                                                         : StudentInterval(summary.mean, *summary.sd, n);
  return summary;
}

std::pair<double, double> ComputeWilsonInterval(double fraction, std::int64_t n) {
  const auto count = static_cast<double>(n);
  const double z2 = kNormal975 * kNormal975;
  const double centre = (fraction + z2 / (2 * count)) / (1 + z2 / count);
  const double half =
      kNormal975 / (1 + z2 / count) * std::sqrt(fraction * (1 - fraction) / count + z2 / (4 * count * count));
  return {std::max(centre - half, 0.0), std::min(centre + half, 1.0)};
}

namespace {

using privacy::Claim;
using privacy::ClaimStatus;
using Trials = std::vector<std::vector<Claim>>;

bool IsGuarantee(const Claim& claim) {
  return claim.status == ClaimStatus::proven || claim.status == ClaimStatus::unbounded;
}

bool IsProven(const Claim& claim) { return claim.status == ClaimStatus::proven && std::isfinite(claim.epsilon); }

bool SameRelation(const Claim& a, const Claim& b) {
  return a.adjacency == b.adjacency && a.neighbour == b.neighbour && a.delta == b.delta &&
         a.delta_stated == b.delta_stated;
}

// The trial's smallest proven claim of the relation, of any accountant or of the one named.
std::optional<Claim> FindBest(const std::vector<Claim>& claims, const Claim& relation, const std::string* accountant) {
  std::optional<Claim> best;
  for (const Claim& claim : claims) {
    if (!IsProven(claim) || !SameRelation(claim, relation)) continue;
    if (accountant != nullptr && claim.accountant != *accountant) continue;
    if (!best || claim.epsilon < best->epsilon) best = claim;
  }
  return best;
}

// The largest of the trials' best; nothing when one of them has none.
std::optional<Claim> FindWorst(const Trials& trials, const Claim& relation, const std::string* accountant) {
  std::optional<Claim> worst;
  for (const std::vector<Claim>& claims : trials) {
    const std::optional<Claim> best = FindBest(claims, relation, accountant);
    if (!best) return std::nullopt;
    if (!worst || best->epsilon > worst->epsilon) worst = best;
  }
  return worst;
}

Claim Unbounded(const Trials& trials, const Claim& relation) {
  for (const std::vector<Claim>& claims : trials) {
    if (FindBest(claims, relation, nullptr)) continue;
    for (const Claim& claim : claims)
      if (IsGuarantee(claim) && SameRelation(claim, relation)) return claim;
  }
  return privacy::WithdrawClaim(relation, "not every trial here has such a claim");
}

void AddGuarantees(const Trials& trials, const Claim& relation, std::vector<Claim>& worst) {
  const std::size_t before = worst.size();
  for (const std::vector<Claim>& claims : trials) {
    for (const Claim& claim : claims) {
      if (!IsProven(claim) || !SameRelation(claim, relation)) continue;
      const bool known = std::any_of(worst.begin() + static_cast<std::ptrdiff_t>(before), worst.end(),
                                     [&](const Claim& w) { return w.accountant == claim.accountant; });
      if (known) continue;
      if (const auto found = FindWorst(trials, relation, &claim.accountant)) worst.push_back(*found);
    }
  }
  if (worst.size() > before) return;
  const std::optional<Claim> best = FindWorst(trials, relation, nullptr);
  worst.push_back(best ? *best : Unbounded(trials, relation));
}

double Size(const Claim& claim) {
  return claim.status == ClaimStatus::audited ? claim.lower.value_or(0) : claim.epsilon;
}

void AddOther(const Claim& claim, std::vector<Claim>& worst) {
  const auto found = std::find_if(worst.begin(), worst.end(), [&](const Claim& w) {
    return w.status == claim.status && SameRelation(w, claim) && w.accountant == claim.accountant;
  });
  if (found == worst.end())
    worst.push_back(claim);
  else if (Size(claim) > Size(*found))
    *found = claim;
}

}  // namespace

std::vector<Claim> FindWorstClaims(const Trials& trials) {
  std::vector<Claim> worst;
  for (const std::vector<Claim>& claims : trials) {
    for (const Claim& claim : claims) {
      const bool known = std::any_of(worst.begin(), worst.end(),
                                     [&](const Claim& w) { return IsGuarantee(w) && SameRelation(w, claim); });
      if (!IsGuarantee(claim))
        AddOther(claim, worst);
      else if (!known)
        AddGuarantees(trials, claim, worst);
    }
  }
  return worst;
}

bool IsCount(const std::string& metric) {
  return metric.ends_with(".parameters") || metric == "data.skipped" || metric == "stop.step";
}

std::optional<std::int64_t> FindCount(double value, const std::string& metric) {
  constexpr double kMaxWhole = 1e15;  // up to which a double holds every digit
  if (!IsCount(metric) || value != std::round(value) || std::abs(value) > kMaxWhole) return std::nullopt;
  return std::llround(value);
}

std::string FormatMeasured(const SeedSummary& summary, const std::string& metric) {
  if (summary.n == 0) return "– missing";
  if (IsFraction(metric))
    return FormatPercent(summary.mean) + (summary.sd ? " ± " + FormatPercent(*summary.sd) : "") + " %";
  if (IsCount(metric) && summary.sd == 0.0) return NumberText(summary.mean, metric);
  return NumberText(summary.mean, metric) + (summary.sd ? fmt::format(" ± {:.2g}", *summary.sd) : "");
}

std::string FormatSeeds(const SeedSummary& summary, int planned, int failed) {
  if (planned == 0) return "–";
  std::string text = summary.n == planned ? fmt::format("n={}", summary.n)
                     : summary.n == 0     ? fmt::format("0 of {}", planned)
                                          : fmt::format("n={} of {}", summary.n, planned);
  if (failed > 0) text += fmt::format(", {} failed", failed);
  return text;
}

std::string FormatPublished(double published, const std::string& metric) {
  return IsFraction(metric) ? FormatPercent(published) + " %" : NumberText(published, metric);
}

std::string FormatInterval(const std::pair<double, double>& interval, const std::string& metric) {
  if (IsFraction(metric)) return FormatPercent(interval.first) + "–" + FormatPercent(interval.second);
  return NumberText(interval.first, metric) + "–" + NumberText(interval.second, metric);
}

std::string FormatSeedsInterval(const SeedSummary& summary, const std::string& metric) {
  const bool told = summary.ci95 && !(IsCount(metric) && summary.sd == 0.0);
  return told ? FormatInterval(*summary.ci95, metric) : "";
}

std::string FormatMetric(double value, const std::string& metric) {
  if (IsFraction(metric)) return FormatPercent(value) + " %";
  return IsCount(metric) ? NumberText(value, metric) : fmt::format("{:.6g}", value);
}

}  // namespace retort::orchestrator
