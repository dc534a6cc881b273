// An audit as `retort` asks for it: the order on the command line, the answer over the socket.
#pragma once

#include <string>

#include "cluster/socket_link.h"
#include "experiments/spec/status.h"
#include "storage/env.h"
#include "worker/devices.h"

namespace retort::worker::audit {

// Sends Progress while it goes on, then an answer (cluster/answer.h): an AuditReport of no row
// (audit_report.h), or why there is none. Error: that of the link.
[[nodiscard]] Status ServeAudit(cluster::SocketLink& link, const std::string& order, storage::Env& env,
                                Devices& devices);

}  // namespace retort::worker::audit
