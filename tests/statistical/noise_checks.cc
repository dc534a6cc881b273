#include "tests/statistical/noise_checks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <vector>

namespace retort::worker {
namespace {

double NormalBound(double two_sided) {
  return boost::math::quantile(boost::math::complement(boost::math::normal(), two_sided / 2));
}

Alarm At(const char* what, std::int64_t i, std::int64_t j, double value, double low, double high) {
  return std::string(what) + " of coordinates " + std::to_string(i) + " and " + std::to_string(j) + " is " +
         std::to_string(value) + ", outside " + std::to_string(low) + " to " + std::to_string(high);
}

// Entries of the second-moment matrix in units of the variance; each bound has its share of `error`.
Alarm CheckCovariance(const at::Tensor& draws, double variance, double error) {
  const std::int64_t n = draws.size(0), c = draws.size(1);
  const auto rows = static_cast<double>(n);
  const double share = error / static_cast<double>(c * (c + 1) / 2);
  const boost::math::chi_squared chi(rows);
  const double low = boost::math::quantile(chi, share / 2) / rows;
  const double high = boost::math::quantile(boost::math::complement(chi, share / 2)) / rows;
  const double cross = NormalBound(share) / std::sqrt(rows);
  const at::Tensor moments = at::mm(draws.t(), draws) / (rows * variance);
  const auto m = moments.contiguous();
  const auto* value = m.const_data_ptr<double>();
  for (std::int64_t i = 0; i < c; ++i) {
    for (std::int64_t j = i; j < c; ++j) {
      const double entry = value[i * c + j];
      if (i == j && !(entry > low && entry < high)) return At("variance over the event's", i, j, entry, low, high);
      // A product of two unit normals has heavier tails than a normal; at n >= 1000 the factor covers them.
      if (i != j && !(std::abs(entry) < 1.15 * cross)) return At("correlation", i, j, entry, -cross, cross);
    }
  }
  const double smallest = at::linalg_eigvalsh(moments).min().item<double>();
  if (!(smallest > 0.25)) return "the covariance has not full rank: smallest eigenvalue " + std::to_string(smallest);
  return {};
}

Alarm CheckMean(const at::Tensor& draws, double variance, double error) {
  const auto rows = static_cast<double>(draws.size(0));
  const double bound = NormalBound(error / static_cast<double>(draws.size(1)));
  const double worst = (draws.sum(0) / std::sqrt(rows * variance)).abs().max().item<double>();
  return worst < bound ? Alarm() : "a mean lies " + std::to_string(worst) + " standard errors from 0";
}

// Inner products of neighbouring rows, and the largest cosine of any two of the first 2000 rows.
Alarm CheckIndependence(const at::Tensor& draws, double variance, double error) {
  const std::int64_t n = draws.size(0);
  const double terms = static_cast<double>((n - 1) * draws.size(1));
  const double lag = (draws.slice(0, 0, n - 1) * draws.slice(0, 1)).sum().item<double>() / variance / std::sqrt(terms);
  if (!(std::abs(lag) < NormalBound(error))) return "neighbouring draws correlate: " + std::to_string(lag) + " sigma";
  const at::Tensor head = draws.slice(0, 0, std::min<std::int64_t>(n, 2000));
  const at::Tensor unit = head / head.norm(2, 1, true).clamp_min(1e-300);
  const at::Tensor cosines = at::mm(unit, unit.t()).triu(1);
  if (cosines.max().item<double>() > 1 - 1e-9 && draws.size(1) > 2) return "two draws have the same direction";
  return {};
}

}  // namespace

Alarm CheckDraws(const at::Tensor& draws, double variance) {
  RETORT_CHECK(draws.dim() == 2 && draws.size(0) >= 1000 && draws.size(0) >= 50 * draws.size(1));
  for (const auto& check : {CheckCovariance, CheckMean, CheckIndependence}) {
    Alarm alarm = check(draws, variance, kFalseAlarm / 3);
    if (!alarm.empty()) return alarm;
  }
  return {};
}

Alarm CheckAgainstEvent(const at::Tensor& draws, const privacy::PrivacyEvent& event) {
  if (draws.size(1) != event.noise_coordinates || draws.size(1) != event.release_coordinates) {
    return "the event speaks of another number of coordinates than were drawn";
  }
  const bool lattice = event.kind == privacy::MechanismKind::noisy_votes;
  return CheckDraws(draws, event.noise_std * event.noise_std + (lattice ? 1.0 / 12 : 0.0));
}

Alarm CheckSource(const privacy::PrivacyEvent& event, const at::Tensor& first_run, const at::Tensor& second_run) {
  const bool equal = at::equal(first_run, second_run);
  const bool says_seeded = event.source == privacy::NoiseSource::seeded;
  if (equal && !says_seeded) return "two runs drew the same noise, yet the event calls its source secure";
  if (!equal && says_seeded) return "the event calls its source seeded, yet two runs drew different noise";
  return {};
}

Alarm CheckPoissonSamples(const std::function<at::Tensor(std::int64_t)>& draw, std::int64_t examples, double rate) {
  constexpr std::int64_t kSamples = 600;
  const double mean = static_cast<double>(examples) * rate, variance = mean * (1 - rate);
  at::Tensor taken = at::zeros({examples}, at::kDouble);
  double statistic = 0;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const at::Tensor sample = draw(i);
    const double excess = static_cast<double>(sample.size(0)) - mean;
    statistic += excess * excess / variance;
    taken.index_add_(0, sample, at::ones({sample.size(0)}, at::kDouble));
  }
  const boost::math::chi_squared chi(static_cast<double>(kSamples));
  const double low = boost::math::quantile(chi, kFalseAlarm / 4);
  const double high = boost::math::quantile(boost::math::complement(chi, kFalseAlarm / 4));
  if (!(statistic > low && statistic < high))
    return "sizes of samples vary " + std::to_string(statistic / kSamples) + " times as independent draws do";
  const double share = kFalseAlarm / 2 / static_cast<double>(examples);
  const double bound = 1.15 * NormalBound(share) * std::sqrt(kSamples * rate * (1 - rate));
  const double worst = (taken - kSamples * rate).abs().max().item<double>();
  return worst < bound ? Alarm() : "an example is taken " + std::to_string(worst) + " times too often or too rarely";
}

Interval ClopperPearson(std::int64_t hits, std::int64_t trials) {
  const auto h = static_cast<double>(hits), n = static_cast<double>(trials);
  Interval interval;
  if (hits > 0) interval.low = boost::math::quantile(boost::math::beta_distribution<>(h, n - h + 1), kFalseAlarm / 2);
  if (hits < trials) {
    interval.high =
        boost::math::quantile(boost::math::complement(boost::math::beta_distribution<>(h + 1, n - h), kFalseAlarm / 2));
  }
  return interval;
}

double MuLowerBound(std::int64_t hits, std::int64_t false_hits, std::int64_t trials) {
  const double power = ClopperPearson(hits, trials).low, error = ClopperPearson(false_hits, trials).high;
  if (power <= 0 || error >= 1) return 0;
  const boost::math::normal normal;
  return std::max(0.0, boost::math::quantile(normal, power) - boost::math::quantile(normal, error));
}

}  // namespace retort::worker
