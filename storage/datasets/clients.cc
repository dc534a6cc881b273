#include "storage/datasets/clients.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "experiments/base/status.h"

namespace retort::storage {
namespace {

// In (0, 1), never 0: its logarithm is taken.
double Open(const RngStream& stream, std::uint64_t index) {
  return (static_cast<double>(stream.Word(index) >> 11) + 0.5) * 0x1p-53;
}

// Logarithm of a Gamma(shape, 1) draw: Marsaglia and Tsang (2000), and for shapes below 1 their G(a + 1) U^(1/a). In
// logarithms, since small shapes give draws below the least double.
double LogGamma(double shape, const RngStream& stream) {
  const double boost = shape < 1 ? std::log(Open(stream, 0)) / shape : 0;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (std::uint64_t i = 1;; ++i) {
    const RngStream round = stream.Lane(i);
    const double x = DrawNormalPair(0, round).first, v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(Open(round, 2)) < x * x / 2 + d - d * v + d * std::log(v)) return std::log(d * v) + boost;
  }
}

// Rising places of each class's examples.
std::vector<std::vector<std::int64_t>> ByClass(const std::vector<std::int64_t>& labels, std::int64_t classes) {
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(classes));
  for (std::size_t i = 0; i < labels.size(); ++i)
    places[static_cast<std::size_t>(labels[i])].push_back(static_cast<std::int64_t>(i));
  return places;
}

std::vector<std::int64_t> Shuffled(const std::vector<std::int64_t>& members, const RngStream& stream) {
  std::vector<std::int64_t> shuffled;
  for (const std::int64_t at : DrawPermutation(static_cast<std::int64_t>(members.size()), stream))
    shuffled.push_back(members[static_cast<std::size_t>(at)]);
  return shuffled;
}

// Cuts the members of a class by the shares, which sum to 1.
void Deal(const std::vector<std::int64_t>& members, const std::vector<double>& shares, Clients& clients) {
  double sum = 0;
  std::size_t begin = 0;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    sum += shares[k];
    const auto cut = static_cast<std::size_t>(std::llround(sum * static_cast<double>(members.size())));
    const std::size_t end = k + 1 == clients.size() ? members.size() : std::clamp(cut, begin, members.size());
    clients[k].insert(clients[k].end(), members.begin() + static_cast<std::ptrdiff_t>(begin),
                      members.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
}

// What the full clients would have taken goes to the others in proportion. Somebody has fewer than the mean as
// long as examples are left.
void LeaveOutFullClients(const Clients& clients, std::int64_t n, std::vector<double>& shares) {
  const double mean = static_cast<double>(n) / static_cast<double>(clients.size());
  double sum = 0, least = 0;
  std::size_t emptiest = 0;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    if (static_cast<double>(clients[k].size()) >= mean) shares[k] = 0;
    sum += shares[k];
    if (k == 0 || static_cast<double>(clients[k].size()) < least) {
      least = static_cast<double>(clients[k].size());
      emptiest = k;
    }
  }
  if (sum <= 0) shares[emptiest] = sum = 1;
  for (double& share : shares) share /= sum;
}

std::int64_t CountFewest(const Clients& clients) {
  std::size_t fewest = clients.front().size();
  for (const std::vector<std::int64_t>& client : clients) fewest = std::min(fewest, client.size());
  return static_cast<std::int64_t>(fewest);
}

// A client without examples takes the last of the client with the most.
void FillEmpty(Clients& clients) {
  for (std::vector<std::int64_t>& client : clients) {
    if (!client.empty()) continue;
    auto most = std::max_element(clients.begin(), clients.end(),
                                 [](const auto& a, const auto& b) { return a.size() < b.size(); });
    client.push_back(most->back());
    most->pop_back();
  }
}

}  // namespace

std::vector<double> DrawDirichletShares(std::int64_t count, double concentration, const RngStream& stream) {
  std::vector<double> shares;
  for (std::int64_t i = 0; i < count; ++i)
    shares.push_back(LogGamma(concentration, stream.Lane(static_cast<std::uint64_t>(i))));
  const double most = *std::max_element(shares.begin(), shares.end());
  double sum = 0;
  for (double& share : shares) sum += share = std::exp(share - most);
  for (double& share : shares) share /= sum;
  return shares;
}

Clients DrawEqualClients(std::int64_t n, std::int64_t clients, std::uint64_t seed) {
  RETORT_CHECK(clients >= 1 && clients <= n);
  const std::vector<std::int64_t> order = DrawPermutation(n, RngStream(seed, Purpose::shards, 0, 2));
  Clients out;
  for (std::int64_t k = 0; k < clients; ++k) {
    out.emplace_back(order.begin() + k * n / clients, order.begin() + (k + 1) * n / clients);
    std::sort(out.back().begin(), out.back().end());
  }
  return out;
}

Clients DrawDirichletClients(const std::vector<std::int64_t>& labels, std::int64_t classes, std::int64_t clients,
                             double concentration, std::uint64_t seed) {
  RETORT_CHECK(clients >= 1 && clients <= static_cast<std::int64_t>(labels.size()));
  RETORT_CHECK(concentration > 0 && std::isfinite(concentration));
  const std::vector<std::vector<std::int64_t>> places = ByClass(labels, classes);
  Clients out(static_cast<std::size_t>(clients));
  for (std::int64_t label = 0; label < classes; ++label) {
    const RngStream stream(seed, Purpose::shards, static_cast<std::uint64_t>(label), 1);
    Deal(Shuffled(places[static_cast<std::size_t>(label)], stream.Lane(0)),
         DrawDirichletShares(clients, concentration, stream.Lane(1)), out);
  }
  FillEmpty(out);
  for (std::vector<std::int64_t>& client : out) std::sort(client.begin(), client.end());
  return out;
}

Result<Clients> MakeBalancedClients(const std::vector<std::int64_t>& labels, std::int64_t classes, std::int64_t clients,
                                    double concentration, std::uint64_t seed, std::int64_t least) {
  constexpr std::uint64_t kTries = 1000;
  const auto n = static_cast<std::int64_t>(labels.size());
  RETORT_CHECK(clients >= 1 && clients <= n && concentration > 0 && std::isfinite(concentration));
  const std::vector<std::vector<std::int64_t>> places = ByClass(labels, classes);
  for (std::uint64_t attempt = 0; attempt < kTries; ++attempt) {
    Clients out(static_cast<std::size_t>(clients));
    for (std::int64_t label = 0; label < classes; ++label) {
      const RngStream stream = RngStream(seed, Purpose::shards, static_cast<std::uint64_t>(label), 3).Lane(attempt);
      std::vector<double> shares = DrawDirichletShares(clients, concentration, stream.Lane(1));
      LeaveOutFullClients(out, n, shares);
      Deal(Shuffled(places[static_cast<std::size_t>(label)], stream.Lane(0)), shares, out);
    }
    if (CountFewest(out) < least) continue;
    for (std::vector<std::int64_t>& client : out) std::sort(client.begin(), client.end());
    return out;
  }
  return UsageError("No division of " + std::to_string(n) + " examples leaves each of " + std::to_string(clients) +
                    " clients " + std::to_string(least) + " of them: raise dirichlet_alpha, or have fewer clients.");
}

}  // namespace retort::storage
