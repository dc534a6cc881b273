#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cluster/host.h"
#include "monitoring/credentials.h"
#include "monitoring/http_server.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/serve/live_feed.h"
#include "orchestrator/cli/serve/live_page.h"
#include "orchestrator/cli/serve/page_server.h"
#include "orchestrator/cli/serve/results_watch.h"
#include "orchestrator/process/stop_signals.h"
#include "orchestrator/process/system_clock.h"

namespace retort::orchestrator::cli {
namespace {

constexpr double kLookSeconds = 1;      // between two looks while somebody reads
constexpr double kIdleSeconds = 15;     // and while nobody does
constexpr double kBeatSeconds = 15;     // between two signs of life to readers
constexpr double kLookPauseFactor = 4;  // times what a look took, at least
constexpr double kReportSeconds = 5;    // between two reports, at least
constexpr double kReportPauseFactor = 10;
constexpr int kMaxFailedLooks = 3;  // in a row, before they are taken for more than a file that is being written

// Wakes the loop when somebody asks for the page. Called by the server's thread.
class Doorbell {
 public:
  Doorbell() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Doorbell() {
    if (fd_ >= 0) ::close(fd_);
  }
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  void Ring() const {
    const std::uint64_t one = 1;
    (void)!::write(fd_, &one, sizeof(one));
  }
  // Whether it rang since the last call.
  [[nodiscard]] bool Answer() const {
    std::uint64_t rings = 0;
    return ::read(fd_, &rings, sizeof(rings)) > 0;
  }

 private:
  int fd_;
};

// Looks, and gives readers what is new, until a signal comes.
class PageLoop {
 public:
  PageLoop(const Invocation& call, ResultsWatch& watch, LiveFeed& feed) : call_(call), watch_(watch), feed_(feed) {}

  // Error: of the first look, which must succeed.
  Status Begin(const std::string& directory) {
    directory_ = directory;
    RETORT_ASSIGN_OR_RETURN(std::optional<LiveState> state, watch_.Look(ReadClocks().unix_seconds));
    if (state) feed_.Publish(*std::move(state));
    return {};
  }

  void Run(StopSignals& signals, const Doorbell& bell, monitoring::HttpServer& server) {
    double next_beat = ReadClocks().monotonic + kBeatSeconds;
    while (!signals.stop()) {
      const double now = ReadClocks().monotonic;
      if (bell.Answer() || server.CountStreams() > 0) wanted_ = now;
      const bool idle = now - wanted_ > kIdleSeconds;
      const double next_look = looked_ + std::max(idle ? kIdleSeconds : kLookSeconds, pause_);
      if (now >= next_look) Look();
      if (!idle && now >= next_report_) Report();
      if (now >= next_beat) {
        feed_.Beat();
        next_beat = now + kBeatSeconds;
      }
      server.Wake();
      pollfd waits[] = {{signals.fd(), POLLIN, 0}, {bell.fd(), POLLIN, 0}};
      static_cast<void>(::poll(waits, 2, static_cast<int>(1000 * (idle ? kIdleSeconds : kLookSeconds))));
      signals.Read(ReadClocks().monotonic);
    }
  }

 private:
  void Look() {
    const double began = ReadClocks().monotonic;
    Result<std::optional<LiveState>> state = watch_.Look(ReadClocks().unix_seconds);
    if (state.ok()) {
      failed_ = 0;
      if (*state) feed_.Publish(*std::move(*state));
    } else if (++failed_ >= kMaxFailedLooks) {
      feed_.Publish(MakeUnreadableState(directory_, state.status().message()));
    }
    looked_ = ReadClocks().monotonic;
    pause_ = kLookPauseFactor * (looked_ - began);
  }

  void Report() {
    if (!watch_.IsReportDue()) return;
    const double began = ReadClocks().monotonic;
    Result<std::string> report = watch_.MakeReport(call_.line.global.profile, ReadClocks().unix_seconds);
    if (report.ok()) feed_.PublishReport(*std::move(report));
    const double now = ReadClocks().monotonic;
    next_report_ = now + std::max(kReportSeconds, kReportPauseFactor * (now - began));
  }

  const Invocation& call_;
  ResultsWatch& watch_;
  LiveFeed& feed_;
  std::string directory_;
  double wanted_ = 0, looked_ = 0, next_report_ = 0;  // monotonic
  double pause_ = 0;                                  // seconds after a look
  int failed_ = 0;
};

Result<monitoring::HttpOptions> ReadHttpOptions(const ServeArguments& asked) {
  RETORT_RETURN_IF_ERROR(CheckPageAddress(asked.address, asked.allow_remote));
  monitoring::HttpOptions options;
  options.address = asked.address;
  if (asked.port >= 0) options.port = static_cast<std::uint16_t>(asked.port);
  options.first_port = kFirstPagePort;
  options.ports_tried = kPagePortsTried;
  options.streams = true;
  if (!asked.tls.empty()) {
    RETORT_ASSIGN_OR_RETURN(options.certificate, monitoring::ReadCertificate(asked.tls));
  }
  // A stream is ended after a while, and its reader comes again by itself.
  options.limits = {.connections = 64,
                    .max_per_peer = 32,
                    .idle = std::chrono::seconds(20),
                    .whole = std::chrono::minutes(30),
                    .user_of = cluster::FindPeerUser};
  return options;
}

Status DescribeBusyPort(const ServeArguments& asked) {
  return EnvironmentError(
      "The page cannot be served on " + monitoring::BracketHost(asked.address) +
      (asked.port >= 0 ? ":" + std::to_string(asked.port) + ": the port is in use, or" : ":") +
      " the address is not one of this host" + (asked.tls.empty() ? "" : ", or the certificate cannot be used") +
      ". Name another --port, or none to take the next free one from " + std::to_string(kFirstPagePort) + ".");
}

std::string MakeJson(const std::string& directory, const std::string& url, std::uint16_t port) {
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = directory;
  document["url"] = url;
  document["port"] = port;
  return FormatDocument(document);
}

Result<int> Serve(const Invocation& call, const std::string& directory) {
  const ServeArguments& asked = call.line.serve;
  RETORT_ASSIGN_OR_RETURN(const monitoring::HttpOptions options, ReadHttpOptions(asked));
  RETORT_ASSIGN_OR_RETURN(StopSignals signals, StopSignals::Open());
  LiveFeed feed(MakeLivePage);
  ResultsWatch watch(call.env, directory, OpenCosts(call));
  PageLoop loop(call, watch, feed);
  RETORT_RETURN_IF_ERROR(loop.Begin(directory));
  std::string host = "127.0.0.1";
  if (asked.allow_remote) {
    RETORT_ASSIGN_OR_RETURN(host, cluster::FindHostAddress(call.environment));
  }
  const std::string token = monitoring::MakeAccessToken();
  const Doorbell bell;
  const std::unique_ptr<monitoring::HttpServer> server =
      monitoring::HttpServer::Start(options, [&](const monitoring::HttpRequest& request) {
        monitoring::HttpReply reply = AnswerPage(request, feed, token);
        if (reply.status == 200) bell.Ring();
        return reply;
      });
  if (server == nullptr) return DescribeBusyPort(asked);
  const std::string url = server->Origin(host) + "/?token=" + token;
  call.console.Data(call.line.global.json ? MakeJson(directory, url, server->port()) : url + "\n");
  call.console.Message("serving " + directory + ", read only; whoever has this address sees it; Ctrl-C ends it");
  loop.Run(signals, bell, *server);
  return 0;
}

}  // namespace

void AddServe(CLI::App& app, CommandLine& line) {
  CLI::App* serve = AddCommand(app, "serve",
                               "The report as a live page for browsers on this machine: problems, curves of what runs, "
                               "tables; read only, until Ctrl-C");
  serve->add_option("RESULTS", line.serve.results, "The results folder (default: as --results)")->type_name("DIR");
  serve
      ->add_option("--address", line.serve.address,
                   "Address of this host to listen on (default 127.0.0.1: this machine alone reaches it)")
      ->type_name("ADDR");
  serve->add_option("--port", line.serve.port, "Port (default: the next free one from 9577; 0: any)")
      ->check(CLI::Range(0, 65535));
  serve->add_flag("--allow-remote", line.serve.allow_remote,
                  "Let --address be one that other machines reach; they need the token in the printed address, too");
  serve
      ->add_option("--tls", line.serve.tls,
                   "PEM file with certificate chain and private key: the page is served by HTTPS")
      ->type_name("FILE");
}

int ExecuteServe(const Invocation& call) {
  const std::string& named = call.line.serve.results;
  if (!named.empty() && !call.line.global.results.empty())
    return call.console.Fail(UsageError("RESULTS and --results both name the folder: leave one of them out."));
  const Result<FoundResults> found = FindResults(call.env, named.empty() ? call.line.global.results : named);
  if (!found.ok()) return call.console.Fail(found.status());
  if (found->chosen) call.console.Message("results: " + found->directory);
  const Result<int> code = Serve(call, found->directory);
  return code.ok() ? *code : call.console.Fail(code.status());
}

}  // namespace retort::orchestrator::cli
