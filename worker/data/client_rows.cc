#include "worker/data/client_rows.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <string>

#include "storage/data/clients.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kFewest = 10;  // examples of a client

}  // namespace

Result<std::vector<at::Tensor>> ClientRows(const at::Tensor& labels, std::int64_t classes, std::int64_t clients,
                                           double concentration, std::uint64_t seed) {
  const at::Tensor own = labels.cpu().contiguous();
  const auto* label = own.const_data_ptr<std::int64_t>();
  if (own.numel() < clients)
    return UsageError(std::to_string(clients) + " clients need as many private examples; there are " +
                      std::to_string(own.numel()) + ".");
  const std::int64_t least = std::clamp<std::int64_t>(own.numel() / (2 * clients), 1, kFewest);
  RETORT_ASSIGN_OR_RETURN(
      const storage::Clients drawn,
      storage::BalancedClients({label, label + own.numel()}, classes, clients, concentration, seed, least));
  std::vector<at::Tensor> rows;
  for (const std::vector<std::int64_t>& client : drawn) rows.push_back(at::tensor(client, at::kLong));
  return rows;
}

}  // namespace retort::worker
