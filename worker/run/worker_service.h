// Serves an agent: says hello, runs the attempts that it asks for, one at a time, until it closes the link. Also
// answers `retort doctor`.
#pragma once

#include <optional>
#include <string>

#include "cluster/messages.h"
#include "cluster/socket_link.h"
#include "cluster/worker_questions.h"
#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "worker/devices/devices.h"

namespace retort::worker {

// Returns when the agent closed the link (ok) or the link broke (its error). `build` identifies this
// program in Hello and in provenance. Trials run on the devices of `devices`.
// `first` is a Start that the agent sent before this program took the process over (sleep_service.h); it is run first.
[[nodiscard]] Status ServeAgent(cluster::SocketLink& link, storage::Env& env, const std::string& build,
                                Devices& devices, const std::optional<cluster::Envelope>& first = std::nullopt);

// Process-wide settings of LibTorch; once, before the first tensor.
void PrepareTorch();

// Multiplies matrices for about 0.3 s; the fastest product counts. 1 <= threads <= 1024. Error: environment,
// when LibTorch cannot.
[[nodiscard]] Result<cluster::WorkerReport> ReportSelf(const std::string& build, int threads);

// `threads` as text, the report over the socket (cluster/worker_questions.h). Error: that of the link.
[[nodiscard]] Status ServeReport(cluster::SocketLink& link, const std::string& build, const std::string& threads);

}  // namespace retort::worker
