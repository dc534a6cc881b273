// retort-worker on a host whose GPUs are pretend devices. It says that it can use kPretendDevices CUDA devices, trains
// on pretend:<n> where it is given cuda:<n>, and its gangs refuse what NCCL refuses: two ranks of one host on one
// device, where NCCL_HOSTID says which host that is. Trials that need it write NCCL_HOSTID to their worker's log.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ATen/ops/tensor.h>

#include "cluster/socket_link.h"
#include "cluster/worker_process.h"
#include "cluster/worker_questions.h"
#include "storage/files/env.h"
#include "tests/testing/pretend_device.h"
#include "worker/gang/collective_decorators.h"
#include "worker/gang/gloo_collective.h"
#include "worker/run/gang_formation.h"
#include "worker/run/trial_runner.h"
#include "worker/run/worker_service.h"
#include "worker/sleep/socket_host.h"

namespace retort::testing {
namespace {

using worker::Collective;

std::string PretendName(const std::string& device) {
  return device.starts_with("cuda:") ? "pretend:" + device.substr(5) : device;
}

std::string NcclHost() {
  const char* const own = std::getenv("TEST_SHARED_NCCL_HOST") == nullptr ? std::getenv("NCCL_HOSTID") : nullptr;
  return own == nullptr ? "this host" : own;
}

// As NCCL does when a gang meets.
Status CheckDevicesDiffer(Collective& gang, const std::string& device) {
  const auto place = static_cast<std::int64_t>(std::hash<std::string>{}(NcclHost() + " " + device));
  RETORT_ASSIGN_OR_RETURN(const std::vector<at::Tensor> places, gang.AllGather(at::tensor({place}, at::kLong)));
  for (std::size_t a = 0; a < places.size(); ++a)
    for (std::size_t b = a + 1; b < places.size(); ++b)
      if (places[a].item<std::int64_t>() == places[b].item<std::int64_t>())
        return EnvironmentError("Duplicate GPU detected: rank " + std::to_string(a) + " and rank " + std::to_string(b) +
                                " both on " + device);
  return {};
}

// Gloo under what knows tensors of the pretend device.
Result<std::unique_ptr<Collective>> MeetPretend(const worker::GangMembership& membership, const std::string& device) {
  std::fprintf(stderr, "%s meets as %s\n", device.c_str(), NcclHost().c_str());
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Collective> gang, worker::JoinGlooGang(membership));
  RETORT_RETURN_IF_ERROR(CheckDevicesDiffer(*gang, device));
  RETORT_ASSIGN_OR_RETURN(const worker::OpenDevice opened, OpenPretend(PretendName(device)));
  return worker::StageOn(opened.device, worker::StageOn(at::kCPU, std::move(gang)));
}

Status Serve(cluster::SocketLink& link) {
  RETORT_RETURN_IF_ERROR(link.Send({{}, {}, 0, cluster::Hello{"pretend", "cpu", {"cpu"}}}));
  for (;;) {
    Result<std::optional<cluster::Envelope>> received = link.Receive(std::chrono::milliseconds(60'000));
    if (!received.ok()) return received.status().code() == StatusCode::cancelled ? Status() : received.status();
    if (!received->has_value() || !std::holds_alternative<cluster::Start>((*received)->message)) continue;
    const cluster::Envelope& envelope = **received;
    worker::SocketHost host(link, envelope.attempt, envelope.generation);
    const worker::TrialOrder order{envelope.attempt, envelope.generation.value,
                                   std::get<cluster::Start>(envelope.message), "pretend"};
    const auto join = [](const cluster::Start& start, Generation generation, worker::TrialHost& trial_host) {
      return worker::FormGangOn(MeetPretend, start, generation, trial_host);
    };
    const auto open = [](const std::string& name) { return OpenPretend(PretendName(name)); };
    RETORT_RETURN_IF_ERROR(host.Send(worker::RunTrial(order, host, storage::PosixEnv(), join, open)));
  }
}

}  // namespace
}  // namespace retort::testing

int main(int argc, char** argv) {
  if (!retort::cluster::DieWithParent(retort::cluster::kWorkerSocket).ok()) return 3;
  retort::cluster::SocketLink link(retort::cluster::kWorkerSocket);
  if (argc > 1 && std::strcmp(argv[1], retort::cluster::kProbeCuda) == 0) {
    const auto answer = retort::cluster::MakeCudaAnswer("pretend", retort::testing::kPretendDevices);
    return retort::GetExitCode(link.Send({{}, {}, 0, answer}).code());
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
  retort::worker::PrepareTorch();
  const retort::Status status = retort::testing::Serve(link);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return retort::GetExitCode(status.code());
}
