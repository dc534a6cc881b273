// Examples shared out among clients whose classes are skewed, as federated learning simulates them.
#pragma once

#include <cstdint>
#include <vector>

namespace retort::worker {

// Of each class, the shares of the m clients are one draw of Dirichlet(concentration, ..., concentration); the
// examples of the class are cut by them in an order that `seed` fixes, so small concentrations give clients few
// classes and large ones equal mixes (Hsu et al. 2019; Yurochkin et al. 2019, by classes). A client left with
// nothing takes one example from the client with the most.
// labels [n], each in 0..classes-1; 1 <= clients <= n; concentration > 0, finite. Returns [clients], each the indices
// of its examples in rising order; together every index once. The same everywhere for the same arguments; drawn from
// the labels, so the division itself is private unless they are public.
[[nodiscard]] std::vector<std::vector<std::int64_t>> DirichletClients(const std::vector<std::int64_t>& labels,
                                                                      std::int64_t classes, std::int64_t clients,
                                                                      double concentration, std::uint64_t seed);

// One draw of Dirichlet(concentration, ..., concentration): `count` shares, summing to 1.
class RngStream;
[[nodiscard]] std::vector<double> DirichletShares(std::int64_t count, double concentration, const RngStream& stream);

}  // namespace retort::worker
