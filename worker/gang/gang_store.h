// The small key-value store at which a gang meets, on gang rank 0's host.
//
// c10d's own TCPStore admits whoever sends its public magic number, lists every key to them, so that a secret prefix
// hides nothing, and has neither deadlines nor limits for strangers. This one closes what does not show its secret in
// time.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "experiments/base/status.h"

namespace retort::worker {

// Serves from a thread of its own until destroyed.
class GangStore {
 public:
  virtual ~GangStore() = default;
  // "HOST:PORT/SECRET", what GangAddress carries to the other members.
  [[nodiscard]] virtual std::string address() const = 0;
};

// Limits on connections that have not shown the secret.
struct UnadmittedLimits {
  std::chrono::milliseconds deadline{5000};  // to show it, from the connection on
  std::size_t connections = 64;              // at once; the oldest goes
};

// Opens a store on a free port, with a secret of its own. Connections that do not know it are closed. `host` is the
// name or address by which the others reach this host; the store listens on that address alone. Error:
// environment.
[[nodiscard]] Result<std::unique_ptr<GangStore>> OpenGangStore(const std::string& host, UnadmittedLimits limits = {});

}  // namespace retort::worker
