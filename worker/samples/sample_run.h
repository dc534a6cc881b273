// Images from the generator of a finished trial, as `retort sample` asks for them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cluster/sample_order.h"
#include "cluster/socket_link.h"
#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::worker::samples {

// What is under way, and how far it is.
using SampleProgress = std::function<void(const std::string& phase, std::int64_t step, std::int64_t steps)>;

// Writes the images with their labels into order.folder, on the CPU. Image and label i are functions of the trial's
// file, order.seed and i. Of the data set nothing is read, but for an evaluation its test split. Errors: usage, for
// what the trial does not have or the format does not hold; damage, for a file that is not the trial's or not the one
// that its row was written for; environment.
[[nodiscard]] Result<cluster::SampleReport> WriteSamples(const cluster::SampleOrder& order, storage::Env& env,
                                                         const SampleProgress& progress);

// The order as text; Progress while it goes on, then the answer over the socket (cluster/worker_questions.h). Error:
// that of the link.
[[nodiscard]] Status ServeSamples(cluster::SocketLink& link, const std::string& order, storage::Env& env);

}  // namespace retort::worker::samples
