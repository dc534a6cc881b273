#include "orchestrator/results/tables/embedding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "experiments/base/status.h"

namespace retort::orchestrator {
namespace {

constexpr int kBisections = 200;
constexpr double kEntropyTolerance = 1e-10;  // nats
constexpr int kPowerIterations = 100;
constexpr double kFirstSpread = 1e-4;  // standard deviation of the first component at the start
constexpr int kIterations = 1000, kExaggerated = 250;
constexpr double kExaggeration = 12;
constexpr double kMinRate = 200;
constexpr double kGainStep = 0.2, kGainDecay = 0.8, kMinGain = 0.01;

// Of the row at one width: exp(-beta (d - nearest)), normalised. Returns its entropy in nats.
double FillRow(const double* squared, std::size_t n, std::size_t i, double nearest, double beta,
               std::vector<double>& row) {
  double sum = 0, moment = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const double beyond = squared[j] - nearest;
    row[j] = j == i ? 0 : std::exp(-beta * beyond);
    sum += row[j];
    if (row[j] > 0) moment += row[j] * beta * beyond;
  }
  for (double& p : row) p /= sum;
  return std::log(sum) + moment / sum;
}

// One over the mean distance beyond the nearest.
double FirstBeta(const double* squared, std::size_t n, double nearest) {
  double sum = 0;
  for (std::size_t j = 0; j < n; ++j) sum += std::max(0.0, squared[j] - nearest);
  return sum > 0 ? static_cast<double>(n) / sum : 1;
}

// The Gram matrix about the points' mean, from their distances.
std::vector<double> Centred(const Distances& distances) {
  const std::size_t n = distances.n;
  std::vector<double> means(n), gram(n * n);
  for (std::size_t i = 0; i < n; ++i)
    means[i] = std::accumulate(distances.Row(i), distances.Row(i) + n, 0.0) / static_cast<double>(n);
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      gram[i * n + j] = -0.5 * (distances.squared[i * n + j] - means[i] - means[j] + mean);
  return gram;
}

double Norm(const std::vector<double>& vector) {
  return std::sqrt(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0));
}

std::vector<double> Product(const std::vector<double>& matrix, const std::vector<double>& vector) {
  std::vector<double> product(vector.size());
  for (std::size_t i = 0; i < vector.size(); ++i)
    product[i] = std::inner_product(vector.begin(), vector.end(), matrix.data() + i * vector.size(), 0.0);
  return product;
}

// The largest principal component, [n], by power iteration, taken out of `gram`; zeros where nothing is left
// that is larger than `nothing`.
std::vector<double> TakeComponent(std::vector<double>& gram, std::size_t n, double nothing) {
  std::size_t farthest = 0;
  for (std::size_t i = 1; i < n; ++i)
    if (gram[i * n + i] > gram[farthest * n + farthest]) farthest = i;
  const auto begin = gram.begin() + static_cast<std::ptrdiff_t>(farthest * n);
  std::vector<double> vector(begin, begin + static_cast<std::ptrdiff_t>(n));
  if (!(gram[farthest * n + farthest] > nothing)) return std::vector<double>(n, 0.0);
  double value = 0;
  for (int iteration = 0; iteration < kPowerIterations; ++iteration) {
    const double norm = Norm(vector);
    for (double& entry : vector) entry /= norm;
    std::vector<double> next = Product(gram, vector);
    value = Norm(next);
    if (!(value > nothing)) return std::vector<double>(n, 0.0);
    vector = std::move(next);
  }
  // `vector` is now `value` times the eigenvector.
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) gram[i * n + j] -= vector[i] * vector[j] / value;
  for (double& entry : vector) entry /= std::sqrt(value);
  return vector;
}

Places PrincipalPlaces(const Distances& distances) {
  std::vector<double> gram = Centred(distances);
  const double most = *std::max_element(distances.squared.begin(), distances.squared.end());
  const double nothing = 1e-9 * most;
  Places places{TakeComponent(gram, distances.n, nothing), {}};
  places.y = TakeComponent(gram, distances.n, nothing);
  const double spread = Norm(places.x) / std::sqrt(static_cast<double>(distances.n));
  if (!(spread > 0)) return places;
  for (std::vector<double>* of : {&places.x, &places.y})
    for (double& at : *of) at *= kFirstSpread / spread;
  return places;
}

// 1 / (1 + squared distance) on the map.
double Nearness(const Places& places, std::size_t i, std::size_t j) {
  const double dx = places.x[i] - places.x[j], dy = places.y[i] - places.y[j];
  return 1 / (1 + dx * dx + dy * dy);
}

// A quarter of the divergence's gradient, were `joint` `exaggeration` times as large. Attraction and
// repulsion are summed apart, since the latter's share becomes known last.
class Pull {
 public:
  explicit Pull(std::size_t n) : total_{std::vector<double>(n), std::vector<double>(n)}, push_(total_) {}

  const Places& Of(const std::vector<double>& joint, const Places& places, double exaggeration) {
    const std::size_t n = places.x.size();
    for (std::vector<double>* sum : {&total_.x, &total_.y, &push_.x, &push_.y}) std::fill(sum->begin(), sum->end(), 0);
    double nearness = 0;
    for (std::size_t i = 0; i < n; ++i) nearness += AddPairs(joint, places, exaggeration, i);
    if (!(nearness > 0)) return total_;
    for (std::size_t i = 0; i < n; ++i) {
      total_.x[i] -= push_.x[i] / nearness;
      total_.y[i] -= push_.y[i] / nearness;
    }
    return total_;
  }

 private:
  // Of point i with those behind it. Returns the nearness of the pairs, both ways.
  double AddPairs(const std::vector<double>& joint, const Places& places, double exaggeration, std::size_t i) {
    const std::size_t n = places.x.size();
    const double* row = joint.data() + i * n;
    double nearness = 0;
    for (std::size_t j = i + 1; j < n; ++j) {
      const double dx = places.x[i] - places.x[j], dy = places.y[i] - places.y[j];
      const double near = 1 / (1 + dx * dx + dy * dy);
      const double pull = exaggeration * row[j] * near, push = near * near;
      nearness += 2 * near;
      total_.x[i] += pull * dx;
      total_.y[i] += pull * dy;
      total_.x[j] -= pull * dx;
      total_.y[j] -= pull * dy;
      push_.x[i] += push * dx;
      push_.y[i] += push * dy;
      push_.x[j] -= push * dx;
      push_.y[j] -= push * dy;
    }
    return nearness;
  }

  Places total_, push_;
};

// One part of the descent. Rates are for a quarter of the gradient, as in the authors' program.
struct DescentPace {
  double exaggeration = 1, momentum = 0, rate = 0;
};

// n / 12 is the rate of Belkina et al. (2019) for exaggerated neighbours; few points overshoot above it.
DescentPace PaceAt(int iteration, std::size_t n) {
  const double rate = static_cast<double>(n) / kExaggeration;
  if (iteration < kExaggerated) return {kExaggeration, 0.5, rate};
  return {1, 0.8, std::max(kMinRate, rate)};
}

// Gradient descent with momentum and a gain for each coordinate (Jacobs 1988), as the paper's section 3.4 has
// it.
class Descent {
 public:
  explicit Descent(std::size_t n)
      : velocity_{std::vector<double>(n), std::vector<double>(n)},
        gain_{std::vector<double>(n, 1.0), std::vector<double>(n, 1.0)} {}

  void Step(const Places& pull, const DescentPace& pace, Places& places) {
    Move(pull.x, pace, velocity_.x, gain_.x, places.x);
    Move(pull.y, pace, velocity_.y, gain_.y, places.y);
  }

 private:
  static void Move(const std::vector<double>& pull, const DescentPace& pace, std::vector<double>& velocity,
                   std::vector<double>& gain, std::vector<double>& at) {
    double sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const bool turned = (pull[i] > 0) == (velocity[i] > 0);
      gain[i] = turned ? std::max(kMinGain, kGainDecay * gain[i]) : gain[i] + kGainStep;
      velocity[i] = pace.momentum * velocity[i] - pace.rate * gain[i] * pull[i];
      at[i] += velocity[i];
      sum += at[i];
    }
    for (double& coordinate : at) coordinate -= sum / static_cast<double>(at.size());
  }

  Places velocity_, gain_;
};

}  // namespace

double ChoosePerplexity(std::size_t n, double asked) {
  return std::max(1.0, std::min(asked, (static_cast<double>(n) - 1) / 3));
}

std::vector<double> ComputeAffinityRow(const Distances& distances, std::size_t i, double perplexity) {
  const std::size_t n = distances.n;
  RETORT_CHECK(n > 1 && i < n);
  const double* squared = distances.Row(i);
  double nearest = std::numeric_limits<double>::max();
  for (std::size_t j = 0; j < n; ++j)
    if (j != i) nearest = std::min(nearest, squared[j]);
  const double wanted = std::log(perplexity);
  double beta = FirstBeta(squared, n, nearest), low = 0, high = 0;
  std::vector<double> row(n);
  for (int step = 0; step < kBisections; ++step) {
    const double beyond = FillRow(squared, n, i, nearest, beta, row) - wanted;
    if (std::abs(beyond) < kEntropyTolerance) break;
    (beyond > 0 ? low : high) = beta;
    const double next = high > 0 ? (low + high) / 2 : 2 * beta;
    if (next == beta || !std::isfinite(next)) break;
    beta = next;
  }
  return row;
}

double ComputePerplexity(const std::vector<double>& row) {
  double entropy = 0;
  for (const double p : row)
    if (p > 0) entropy -= p * std::log(p);
  return std::exp(entropy);
}

std::vector<double> ComputeJointAffinities(const Distances& distances, double perplexity) {
  const std::size_t n = distances.n;
  std::vector<double> joint(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::vector<double> row = ComputeAffinityRow(distances, i, perplexity);
    for (std::size_t j = 0; j < n; ++j) {
      const double half = row[j] / (2 * static_cast<double>(n));
      joint[i * n + j] += half;
      joint[j * n + i] += half;
    }
  }
  return joint;
}

double ComputeDivergence(const std::vector<double>& joint, const Places& places) {
  const std::size_t n = places.x.size();
  double nearness = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) nearness += 2 * Nearness(places, i, j);
  double divergence = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double p = joint[i * n + j];
      if (p > 0) divergence += 2 * p * std::log(p * nearness / Nearness(places, i, j));
    }
  }
  return std::max(0.0, divergence);
}

Places ComputeDivergenceGradient(const std::vector<double>& joint, const Places& places) {
  Places gradient = Pull(places.x.size()).Of(joint, places, 1);
  for (std::vector<double>* of : {&gradient.x, &gradient.y})
    for (double& slope : *of) slope *= 4;
  return gradient;
}

Embedding ComputeEmbedding(const Distances& distances, double perplexity) {
  const std::size_t n = distances.n;
  Embedding map;
  map.perplexity = ChoosePerplexity(n, perplexity);
  if (n < 2) {
    map.places = {std::vector<double>(n), std::vector<double>(n)};
    return map;
  }
  const std::vector<double> joint = ComputeJointAffinities(distances, map.perplexity);
  map.places = PrincipalPlaces(distances);
  Pull pull(n);
  Descent descent(n);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const DescentPace pace = PaceAt(iteration, n);
    descent.Step(pull.Of(joint, map.places, pace.exaggeration), pace, map.places);
  }
  map.divergence = ComputeDivergence(joint, map.places);
  return map;
}

}  // namespace retort::orchestrator
