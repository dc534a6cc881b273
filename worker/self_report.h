// `retort doctor`: what this program is, and how fast it multiplies.
#pragma once

#include <string>

#include "cluster/socket_link.h"
#include "cluster/worker_report.h"
#include "experiments/spec/status.h"

namespace retort::worker {

// Multiplies matrices for about 0.3 s; the fastest product counts. 1 <= threads <= 1024. Error: environment,
// when LibTorch cannot.
[[nodiscard]] Result<cluster::WorkerReport> ReportSelf(const std::string& build, int threads);

// `threads` as text, the report over the socket (cluster/answer.h). Error: that of the link.
[[nodiscard]] Status ServeReport(cluster::SocketLink& link, const std::string& build,
                                 const std::string& threads);

}  // namespace retort::worker
