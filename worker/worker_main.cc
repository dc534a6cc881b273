// retort-worker: started by an agent of `retort`, never by hand. Talks over descriptor 3.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "cluster/host.h"
#include "cluster/sample_order.h"
#include "cluster/socket_link.h"
#include "cluster/worker_process.h"
#include "cluster/worker_questions.h"
#include "experiments/privacy/audit_report.h"
#include "storage/files/env.h"
#include "worker/audit/audit_run.h"
#include "worker/devices/devices.h"
#include "worker/environment.h"
#include "worker/run/exported_graph.h"
#include "worker/run/exported_script.h"
#include "worker/run/model_check.h"
#include "worker/run/worker_service.h"
#include "worker/samples/sample_run.h"
#include "worker/sleep/sleep_service.h"

#ifndef RETORT_VERSION
#define RETORT_VERSION "unknown"
#endif

namespace {

int ProbeCuda(retort::worker::Devices& devices) {
  retort::cluster::SocketLink link(retort::cluster::kWorkerSocket);
  const auto answer = retort::cluster::MakeCudaAnswer(RETORT_VERSION, devices.CountCuda());
  return retort::GetExitCode(link.Send({{}, {}, 0, answer}).code());
}

// Whether retort starts the program with these arguments. An empty order counts as missing.
bool IsKnownCommand(int argc, char** argv) {
  if (argc < 2) return true;
  for (const char* const alone : {"--version", retort::cluster::kProbeCuda, retort::worker::kHandOverFlag})
    if (std::strcmp(argv[1], alone) == 0) return true;
  for (const char* const with_order :
       {retort::privacy::kAuditArgument, retort::cluster::kSampleArgument, retort::cluster::kModelArgument,
        retort::cluster::kLayersArgument, retort::cluster::kGraphArgument, retort::cluster::kGeneratorGraphArgument,
        retort::cluster::kScriptArgument, retort::cluster::kReportArgument})
    if (std::strcmp(argv[1], with_order) == 0) return argc > 2 && argv[2][std::strspn(argv[2], " \t\r\n")] != '\0';
  return false;
}

int Run(int argc, char** argv) {
  if (!IsKnownCommand(argc, argv)) {
    std::fprintf(
        stderr,
        "retort-worker: '%s' is no word that it knows, or has no value. It is started by retort, never by hand.\n",
        argv[1]);
    return retort::GetExitCode(retort::StatusCode::usage);
  }
  if (argc > 1 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("retort-worker " RETORT_VERSION);
    return 0;
  }
  retort::worker::Devices devices(retort::worker::GetProgramDirectory() + "/libretort_cuda.so",
                                  retort::cluster::FindGpuUuids(retort::worker::ListCudaVariables()));
  if (const retort::Status status = retort::cluster::DieWithParent(retort::cluster::kWorkerSocket); !status.ok()) {
    std::fprintf(stderr, "retort-worker: %s\n", status.message().c_str());
    return retort::GetExitCode(status.code());
  }
  if (argc > 1 && std::strcmp(argv[1], retort::cluster::kProbeCuda) == 0) return ProbeCuda(devices);
  retort::cluster::ReserveStack();
  retort::worker::FixCublasWorkspace();
  // Terminals and batch systems signal every process they see. What it means is the agent's business: it sends
  // a Stop, or SIGKILL. A write past the limit of file sizes fails, as on a full disk.
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGHUP, SIGPIPE, SIGXFSZ})
    std::signal(signal, SIG_IGN);
  retort::worker::PrepareTorch();
  retort::cluster::SocketLink link(retort::cluster::kWorkerSocket);
  if (argc > 2 && std::strcmp(argv[1], retort::privacy::kAuditArgument) == 0) {
    const retort::Status sent = retort::worker::audit::ServeAudit(link, argv[2], retort::storage::PosixEnv(), devices);
    return retort::GetExitCode(sent.code());
  }
  if (argc > 2 && std::strcmp(argv[1], retort::cluster::kSampleArgument) == 0)
    return retort::GetExitCode(
        retort::worker::samples::ServeSamples(link, argv[2], retort::storage::PosixEnv()).code());
  if (argc > 2 && std::strcmp(argv[1], retort::cluster::kModelArgument) == 0)
    return retort::GetExitCode(retort::worker::ServeModelCheck(link, argv[2], retort::storage::PosixEnv()).code());
  if (argc > 2 && std::strcmp(argv[1], retort::cluster::kLayersArgument) == 0)
    return retort::GetExitCode(retort::worker::ServeLayers(link, argv[2]).code());
  if (argc > 2 && std::strcmp(argv[1], retort::cluster::kGraphArgument) == 0)
    return retort::GetExitCode(retort::worker::ServeNetworkGraph(link, argv[2]).code());
  if (argc > 2 && std::strcmp(argv[1], retort::cluster::kGeneratorGraphArgument) == 0)
    return retort::GetExitCode(retort::worker::ServeGeneratorGraph(link, argv[2]).code());
  if (argc > 2 && std::strcmp(argv[1], retort::cluster::kScriptArgument) == 0)
    return retort::GetExitCode(retort::worker::ServeScript(link, argv[2], retort::storage::PosixEnv()).code());
  if (argc > 2 && std::strcmp(argv[1], retort::cluster::kReportArgument) == 0)
    return retort::GetExitCode(retort::worker::ServeReport(link, RETORT_VERSION, argv[2]).code());
  const auto first = retort::worker::ReadHandedOverStart(argc, argv);
  const retort::Status status =
      first.ok() ? retort::worker::ServeAgent(link, retort::storage::PosixEnv(), RETORT_VERSION, devices, *first)
                 : first.status();
  if (!status.ok()) std::fprintf(stderr, "retort-worker: %s\n", status.message().c_str());
  return retort::GetExitCode(status.code());
}

}  // namespace

int main(int argc, char** argv) {
  const int code = Run(argc, argv);
  std::fflush(nullptr);
  // Taking LibTorch's tables apart takes as long as half of building them, and the kernel does it at once.
  ::_exit(code);
}
