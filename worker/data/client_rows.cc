#include "worker/data/client_rows.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <string>

#include "storage/data/clients.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kFewest = 10;  // examples of a client
constexpr std::uint64_t kTries = 1000;

std::int64_t Smallest(const storage::Clients& clients) {
  return std::ssize(*std::min_element(clients.begin(), clients.end(),
                                      [](const auto& a, const auto& b) { return a.size() < b.size(); }));
}

}  // namespace

Result<std::vector<at::Tensor>> ClientRows(const at::Tensor& labels, std::int64_t classes, std::int64_t clients,
                                           double concentration, std::uint64_t seed) {
  const at::Tensor own = labels.cpu().contiguous();
  const auto* label = own.const_data_ptr<std::int64_t>();
  const std::vector<std::int64_t> values(label, label + own.numel());
  if (own.numel() < clients)
    return UsageError(std::to_string(clients) + " clients need as many private examples; there are " +
                      std::to_string(own.numel()) + ".");
  const std::int64_t fewest = std::clamp<std::int64_t>(own.numel() / (2 * clients), 1, kFewest);
  for (std::uint64_t round = 0; round < kTries; ++round) {
    const std::uint64_t key = round == 0 ? seed : RngStream(seed, Purpose::shards, round, 4).Word(0);
    const storage::Clients drawn = storage::DirichletClients(values, classes, clients, concentration, key);
    if (Smallest(drawn) < fewest) continue;
    std::vector<at::Tensor> rows;
    for (const std::vector<std::int64_t>& client : drawn) rows.push_back(at::tensor(client, at::kLong));
    return rows;
  }
  return UsageError("With dirichlet_alpha = " + std::to_string(concentration) + " no draw gave each of " +
                    std::to_string(clients) + " clients " + std::to_string(fewest) +
                    " examples: a larger one shares them out more evenly.");
}

}  // namespace retort::worker
