// The gang's meeting point as c10d knows it, for the collectives built on c10d.
#pragma once

#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "worker/gang/gloo_collective.h"

namespace retort::worker {

// Runs `body`; what c10d, gloo or NCCL throw becomes "<what> failed: <first line>" (environment).
[[nodiscard]] Status CatchC10d(const std::string& what, const std::function<void()>& body);

// Returns a client of the store at membership.address, with the generation's own keys.
[[nodiscard]] Result<c10::intrusive_ptr<c10d::Store>> ConnectGangStore(const GangMembership& membership);

}  // namespace retort::worker
