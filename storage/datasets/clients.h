// Dividing examples among clients, to simulate federated learning.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/base/rng_stream.h"
#include "experiments/base/status.h"

namespace retort::storage {

// The places of each client's examples, ascending; together every place once. No client is empty.
using Clients = std::vector<std::vector<std::int64_t>>;

// Equal shares of examples 0..n-1 in an order that `seed` fixes; sizes differ by one at most. 1 <= clients <= n.
[[nodiscard]] Clients DrawEqualClients(std::int64_t n, std::int64_t clients, std::uint64_t seed);

// Of each class, the shares of the clients are one draw of Dirichlet(concentration, ..., concentration); the
// examples of the class are cut by them in an order that `seed` fixes, so small concentrations give clients few
// classes and large ones equal mixes (Hsu et al. 2019; Yurochkin et al. 2019, by classes). A client left with
// nothing takes one example from the client with the most.
// labels [n], each in 0..classes-1; 1 <= clients <= n; concentration > 0, finite. The same everywhere for the same
// arguments; drawn from the labels, so the division itself is private unless they are public.
[[nodiscard]] Clients DrawDirichletClients(const std::vector<std::int64_t>& labels, std::int64_t classes,
                                           std::int64_t clients, double concentration, std::uint64_t seed);

// As DENSE's code shares examples out (Zhang et al. 2022): the same, but a client that already has n / clients
// examples takes nothing of a further class, and the whole division is drawn anew until every client has `least`
// examples or more. Arguments as above. Error: usage, when a thousand divisions leave a client with fewer.
[[nodiscard]] Result<Clients> MakeBalancedClients(const std::vector<std::int64_t>& labels, std::int64_t classes,
                                                  std::int64_t clients, double concentration, std::uint64_t seed,
                                                  std::int64_t least = 10);

// One draw of Dirichlet(concentration, ..., concentration): `count` shares, summing to 1.
[[nodiscard]] std::vector<double> DrawDirichletShares(std::int64_t count, double concentration,
                                                      const RngStream& stream);

}  // namespace retort::storage
