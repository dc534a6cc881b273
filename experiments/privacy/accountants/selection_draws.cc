#include "experiments/privacy/accountants/selection_draws.h"

#include <sodium.h>

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "experiments/base/number_text.h"

namespace retort::privacy {
namespace {

constexpr double kAboveRounding = 1 + 1e-12;

template <unsigned Digits>
using Precise =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<Digits>, boost::multiprecision::et_off>;
using Digits50 = Precise<50>;

// (e^x - 1) / x, without a hole at 0.
double RelativeGrowth(double x) { return x == 0 ? 1 : std::expm1(x) / x; }

Status OutOfRange(const std::string& what, const std::string& range, double value) {
  return UsageError(what + " must " + range + ", not " + FormatSixDigits(value) + ".");
}

Status CheckEta(double eta) {
  if (eta > -1 && eta <= 1e6) return {};
  return OutOfRange("eta of the truncated negative binomial", "be above -1 and at most 10^6", eta);
}

// A probability function over k = first, first + 1, ..., by its first value and the ratio of one to the one before.
template <typename Number>
class Masses {
 public:
  explicit Masses(const DrawLaw& law) : law_(law) {
    using std::exp;
    if (law.family == DrawFamily::poisson) {
      mass_ = exp(-Number(law.mean));
      return;
    }
    k_ = 1;
    keep_ = 1 - Number(law.gamma);
    mass_ = keep_ / Divisor();
  }
  [[nodiscard]] std::int64_t k() const { return k_; }
  [[nodiscard]] const Number& mass() const { return mass_; }
  void Step() {
    const Number k = static_cast<double>(k_);
    mass_ *= law_.family == DrawFamily::poisson ? Number(law_.mean) / (k + 1) : keep_ * (k + law_.eta) / (k + 1);
    ++k_;
  }

 private:
  // (gamma^-eta - 1) / eta, by its series where that would cancel.
  Number Divisor() const {
    using std::abs;
    using std::exp;
    using std::log;
    const Number log_one_over = -log(Number(law_.gamma));
    const Number x = Number(law_.eta) * log_one_over;
    if (abs(x) > 1) return (exp(x) - 1) / Number(law_.eta);
    Number term = 1, sum = 0;
    for (int n = 2; abs(term) > std::numeric_limits<Number>::epsilon() / 4; ++n) {
      sum += term;
      term *= x / n;
    }
    return sum * log_one_over;
  }

  DrawLaw law_;
  std::int64_t k_ = 0;
  Number keep_ = 0, mass_ = 0;
};

// The bits of one uniform number in [0, 1), as many as were asked for so far.
class UniformBits {
 public:
  explicit UniformBits(const BitSource& source) : source_(source) {}
  // The number's first `words` * 64 bits; it lies above by less than 2^(-64 words).
  template <typename Number>
  Number First(std::size_t words) {
    while (words_.size() < words) words_.push_back(source_());
    Number value = 0;
    for (std::size_t i = words; i-- > 0;) value = ldexp(value + Number(words_[i]), -64);
    return value;
  }

 private:
  const BitSource& source_;
  std::vector<std::uint64_t> words_;
};

// K by `words` * 64 bits and `Digits` digits; nothing where these do not tell. Every step of the sum rounds a dozen
// times, relative to at most 1.
template <unsigned Digits>
std::optional<std::int64_t> Invert(const DrawLaw& law, UniformBits& uniform, std::size_t words) {
  using Number = Precise<Digits>;
  const Number low = uniform.First<Number>(words);
  const Number high = low + ldexp(Number(1), -64 * static_cast<int>(words));
  const Number unit = std::numeric_limits<Number>::epsilon() * 64;
  Masses<Number> masses(law);
  for (Number below = 0; masses.k() < kMaxDrawnCandidates; masses.Step()) {
    below += masses.mass();
    const Number error = unit * (static_cast<double>(masses.k()) + law.mean + 30 * (1 + std::abs(law.eta)));
    if (high <= below - error) return masses.k();
    if (low < below + error) return std::nullopt;
  }
  return kMaxDrawnCandidates;
}

}  // namespace

double ComputeMeanDraws(double eta, double gamma) {
  // eta (1 - gamma) / (gamma (1 - gamma^eta)), 1 - gamma^eta = -eta log gamma * (growth of eta log gamma).
  const double log_gamma = gamma < 0.5 ? std::log(gamma) : std::log1p(gamma - 1);
  return (1 - gamma) / gamma / (-log_gamma * RelativeGrowth(eta * log_gamma));
}

Result<DrawLaw> MakePoissonDraws(double mean) {
  if (!(mean > 0 && mean <= kMaxMeanDraws))
    return OutOfRange("The mean of Poisson draws", "be above 0 and at most 10^6", mean);
  return DrawLaw{DrawFamily::poisson, mean, 0, 0};
}

Result<DrawLaw> MakeNegativeBinomialDraws(double eta, double gamma) {
  RETORT_RETURN_IF_ERROR(CheckEta(eta));
  if (!(gamma > 0 && gamma < 1)) return OutOfRange("gamma", "lie between 0 and 1, both excluded", gamma);
  const double mean = ComputeMeanDraws(eta, gamma) * kAboveRounding;
  if (!(gamma >= kMinDrawGamma && mean <= kMaxMeanDraws))
    return UsageError("gamma = " + FormatSixDigits(gamma) + " at eta = " + FormatSixDigits(eta) +
                      " draws more than a million candidates on average, or without a practical end; raise gamma.");
  return DrawLaw{DrawFamily::negative_binomial, std::max(mean, 1.0), eta, gamma};
}

Result<DrawLaw> SolveNegativeBinomialDraws(double eta, double mean) {
  RETORT_RETURN_IF_ERROR(CheckEta(eta));
  if (!(mean > 1 && mean <= kMaxMeanDraws))
    return OutOfRange("The mean of K, which is at least 1 in this distribution,", "be above 1 and at most 10^6", mean);
  double low = kMinDrawGamma, high = std::nextafter(1.0, 0.0);
  if (ComputeMeanDraws(eta, low) < mean)
    return UsageError("No gamma from 10^-12 up has E[K] = " + FormatSixDigits(mean) + " at eta = " +
                      FormatSixDigits(eta) + ": K would have no practical end. Raise eta, or lower the mean.");
  for (int round = 0; round < 200 && std::nextafter(low, 1.0) < high; ++round) {
    const double middle = low < high / 2 ? std::sqrt(low * high) : low + (high - low) / 2;
    (ComputeMeanDraws(eta, middle) >= mean ? low : high) = middle;
  }
  return MakeNegativeBinomialDraws(eta, low);
}

double ComputeLogTail(const DrawLaw& law) {
  constexpr double kCancelled = 1e-6;  // of logarithms of gamma functions that cancel
  const auto k = static_cast<double>(kMaxDrawnCandidates);
  // Markov's inequality for z^K at z = k / mean.
  if (law.family == DrawFamily::poisson) return (k - law.mean) - k * std::log(k / law.mean) + kCancelled;
  // From k on, each mass is at most `ratio` times the one before.
  const double keep = std::log1p(-law.gamma);
  const double ratio = std::exp(keep) * std::max(1.0, (k + law.eta) / (k + 1));
  if (!(ratio < 1)) return 0;
  // prod_{l=1}^{k-1} (l + eta) / (l + 1) = Gamma(k + eta) / (Gamma(1 + eta) k!).
  const double x = -law.eta * std::log(law.gamma);
  const double log_divisor =
      x > 700 ? x - std::log(law.eta) : std::log(-std::log(law.gamma)) + std::log(RelativeGrowth(x));
  const double log_mass =
      k * keep - log_divisor + std::lgamma(k + law.eta) - std::lgamma(1 + law.eta) - std::lgamma(k + 1);
  return std::min(0.0, log_mass + std::log(ratio / (1 - ratio)) + kCancelled);
}

std::int64_t ComputeReach(const DrawLaw& law, double probability) {
  Masses<Digits50> masses(law);
  Digits50 left = 1;
  for (; masses.k() < kMaxDrawnCandidates; masses.Step()) {
    left -= masses.mass();
    if (left <= probability) return masses.k();
  }
  return kMaxDrawnCandidates;
}

std::string DescribeDraws(const DrawLaw& law) {
  const std::string mean = ", E[K] = " + FormatSixDigits(law.mean);
  if (law.family == DrawFamily::poisson) return "Poisson" + mean;
  const std::string gamma = mean + ", gamma " + FormatSixDigits(law.gamma);
  if (law.eta == 1) return "geometric" + gamma;
  if (law.eta == 0) return "logarithmic" + gamma;
  return "negative binomial, eta " + FormatSixDigits(law.eta) + gamma;
}

std::int64_t DrawCandidateCount(const DrawLaw& law, const BitSource& bits) {
  UniformBits uniform(bits);
  if (const std::optional<std::int64_t> k = Invert<100>(law, uniform, 5)) return *k;
  return Invert<1000>(law, uniform, 52).value_or(kMaxDrawnCandidates);
}

std::int64_t DrawBelow(std::int64_t bound, const BitSource& bits) {
  const auto count = static_cast<std::uint64_t>(bound);
  const std::uint64_t uneven = (std::numeric_limits<std::uint64_t>::max() - count + 1) % count;
  std::uint64_t word = bits();
  while (word > std::numeric_limits<std::uint64_t>::max() - uneven) word = bits();
  return static_cast<std::int64_t>(word % count);
}

std::uint64_t DrawSystemBits() {
  RETORT_CHECK(sodium_init() >= 0);
  std::uint64_t bits = 0;
  randombytes_buf(&bits, sizeof bits);
  return bits;
}

}  // namespace retort::privacy
