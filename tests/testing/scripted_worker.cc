// A worker that trains nothing: it speaks the whole protocol, leaves an attempt.h5 with fixed numbers, and
// can go wrong on purpose. What it does follows from the trial's seed:
//   below 1000   ends well after `steps` steps
//   1001         kills itself in the middle of its first attempt
//   1002         falls silent in the middle of its first attempt
//   1003         sends bytes that are no envelope, in its first attempt
//   1004         always fails: not_finite
//   1005         reserves releases until it is refused, and fails with that
//   1006         slow: 50 ms a step
//   1008         falls silent after the first step of every attempt, deaf to Stop as well
// A trial that a private selection drew reserves what was planned of it, takes 10 ms a step, and fails where its lr is
// 13. Its score follows from its id.
// Asked for an audit, it refutes every claim. Asked for CUDA devices, it says that it can use two. It saves the step it
// has reached in TRIAL/resume before it says so, and goes on from there.
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "cluster/socket_link.h"
#include "cluster/worker_process.h"
#include "cluster/worker_questions.h"
#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/audit_report.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "storage/files/env.h"
#include "storage/results/attempt_account.h"
#include "storage/results/attempt_file.h"

namespace {

using retort::FailureKind;
using retort::Result;
using retort::Status;
using retort::TrialSpec;
using retort::cluster::Envelope;
using retort::cluster::SocketLink;
using std::chrono::milliseconds;

constexpr std::int64_t kMaxBlock = std::int64_t{1} << 40;

class ScriptedTrial {
 public:
  ScriptedTrial(SocketLink& link, const Envelope& envelope, retort::cluster::Start start, TrialSpec spec)
      : link_(link), envelope_(envelope), start_(std::move(start)), spec_(std::move(spec)) {}

  // False when the agent is gone.
  bool Run() {
    std::filesystem::create_directories(start_.attempt_directory);
    if (!start_.teacher_file.empty() && !retort::storage::PosixEnv().Exists(start_.teacher_file))
      return Fail(FailureKind::data, "no teacher at " + start_.teacher_file);
    std::int64_t step = Resume();
    while (step < spec_.steps) {
      if (step % spec_.execution.reserve_block == 0 && !Reserve()) return End(refusal_);
      ++step;
      if (!Say(retort::cluster::Progress{step, spec_.steps, "train", {{"loss", 1.0 / static_cast<double>(step)}}}))
        return false;
      Misbehave(step);
      Save(step);
      if (!Pause()) return false;
      if (stopped_) return Fail(FailureKind::stopped, "asked to stop");
    }
    if (Selected() && spec_.optimization.lr == 13) return Fail(FailureKind::not_finite, "the loss is NaN");
    return spec_.seed == 1004 ? Fail(FailureKind::not_finite, "the loss is NaN at step 3") : Succeed();
  }

 private:
  [[nodiscard]] bool Selected() const { return !spec_.score.empty(); }
  [[nodiscard]] bool FirstAttempt() const { return start_.attempt_directory.ends_with("/attempt-1"); }

  std::int64_t Resume() const {
    std::int64_t step = 0;
    std::ifstream(start_.trial_directory + "/resume") >> step;
    return step;
  }

  void Save(std::int64_t step) {
    const std::string path = start_.trial_directory + "/resume";
    if (!retort::storage::PosixEnv().WriteFileAtomically(path, std::to_string(step)).ok()) std::_Exit(9);
    Say(retort::cluster::CheckpointCommitted{step, "digest"});
  }

  void Misbehave(std::int64_t step) {
    if (spec_.seed == 1008) std::this_thread::sleep_for(std::chrono::hours(1));
    if (!FirstAttempt() || step != spec_.steps / 2) return;
    if (spec_.seed == 1001) {
      std::fprintf(stderr, "about to die\n");
      std::raise(SIGKILL);
    }
    if (spec_.seed == 1002) std::this_thread::sleep_for(std::chrono::hours(1));
    if (spec_.seed == 1003) {
      const std::string garbage = "this is no envelope";
      static_cast<void>(::send(link_.fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL));
    }
  }

  // Waits for the length of a step, listening. False when the agent is gone.
  bool Pause() {
    const bool slow = spec_.seed == 1006;
    Result<std::optional<Envelope>> received = link_.Receive(milliseconds(slow ? 50 : Selected() ? 10 : 1));
    if (!received.ok()) return false;
    const bool stop = received->has_value() && std::holds_alternative<retort::cluster::Stop>((*received)->message);
    if (stop) stopped_ = true;
    return true;
  }

  bool Reserve() {
    retort::privacy::PrivacyEvent event;
    event.kind = retort::privacy::MechanismKind::noisy_votes;
    event.unit = retort::privacy::EventUnit::vote;
    event.sensitivity = 1.4142135623730951;
    event.noise_std = 40;
    event.noise_coordinates = event.release_coordinates = 10;
    event.source = retort::privacy::NoiseSource::secure_lattice;
    event.facts = retort::privacy::ListNeededFacts(event.kind);
    if (Selected()) event = retort::privacy::PlanEvents(spec_).value().front();
    const std::int64_t count = std::min(spec_.execution.reserve_block, Selected() ? event.count : kMaxBlock);
    do {
      Say(retort::cluster::Reserve{++requests_, event, count});
      if (!AwaitGrant()) return false;
      event.count = count;
      granted_.push_back({requests_, spec_.data->digest, envelope_.attempt, envelope_.generation.value,
                          retort::storage::LedgerState::reserved, event, 0});
      if (spec_.seed != 1005) Say(retort::cluster::Settle{requests_, count});
    } while (spec_.seed == 1005);
    return true;
  }

  bool AwaitGrant() {
    for (;;) {
      Result<std::optional<Envelope>> received = link_.Receive(std::chrono::hours(1));
      if (!received.ok()) std::_Exit(0);
      if (!received->has_value()) continue;
      if (std::holds_alternative<retort::cluster::Stop>((*received)->message)) stopped_ = true;
      const auto* reserved = std::get_if<retort::cluster::Reserved>(&(*received)->message);
      if (reserved == nullptr || reserved->id != requests_) continue;
      refusal_ = reserved->refusal;
      return reserved->granted;
    }
  }

  bool End(const std::string& refusal) { return Fail(FailureKind::budget_refused, refusal); }

  bool Fail(FailureKind failure, const std::string& detail) {
    retort::cluster::Ended ended;
    ended.failure = failure;
    ended.detail = detail;
    return Say(ended);
  }

  bool Succeed() {
    retort::cluster::Ended ended;
    ended.succeeded = true;
    ended.metrics = {{"test.accuracy", static_cast<double>(spec_.id.bits() % 1000) / 1000}};
    if (Selected()) ended.metrics.emplace_back(spec_.score, static_cast<double>(spec_.id.bits() % 997) / 997);
    ended.parameters_digest = retort::ComputeSha256Hex(spec_.id.Hex());
    const std::string path = start_.attempt_directory + "/attempt.h5";
    retort::storage::AttemptFile file;
    file.trial = spec_.id.Hex();
    file.sweep = start_.sweep;
    file.spec_json = start_.spec;
    file.provenance_json = "{}";
    file.attempt = envelope_.attempt.number;
    file.curves["loss"] = {{1, 1.0}, {spec_.steps, 0.5}};
    Account(file);
    if (const Status written = retort::storage::WriteAttemptFile(retort::storage::PosixEnv(), path, file);
        !written.ok())
      return Fail(FailureKind::disk, written.message());
    ended.file = path.substr(path.find("/trials/") + 1);
    return Say(ended);
  }

  // As the ledger has it: what earlier attempts were charged, of which this worker keeps nothing, and its own grants.
  void Account(retort::storage::AttemptFile& file) const {
    file.ledger = granted_;
    for (auto& entry : retort::storage::MakeUncountedEntries({}, start_.charged, envelope_.attempt,
                                                             envelope_.generation.value, spec_.data->digest))
      file.ledger.push_back(std::move(entry));
    retort::privacy::ClaimContext context;
    context.spec = &spec_;
    for (const std::string& claim : start_.teacher_claims)
      context.teacher_claims.push_back(retort::privacy::DecodeClaim(claim).value());
    std::vector<retort::privacy::PrivacyEvent> charged;
    for (const auto& entry : file.ledger) charged.push_back(entry.Charged());
    file.claims = retort::privacy::ComputeClaims(context, charged);
  }

  bool Say(retort::cluster::Message message) {
    return link_.Send({envelope_.attempt, envelope_.generation, ++sequence_, std::move(message)}).ok();
  }

  SocketLink& link_;
  Envelope envelope_;
  retort::cluster::Start start_;
  TrialSpec spec_;
  std::uint64_t sequence_ = 0, requests_ = 0;
  bool stopped_ = false;
  std::string refusal_;
  std::vector<retort::storage::LedgerEntry> granted_;
};

retort::Result<std::string> RefuteEverything(const char* text) {
  const auto order = retort::privacy::DecodeAuditOrder(text);
  if (!order.ok()) return order.status();
  retort::privacy::AuditReport report{order->trial, "", {}};
  for (const retort::privacy::AuditKind kind : order->kinds) {
    retort::privacy::AuditFinding finding;
    finding.kind = kind;
    finding.subject = "a script";
    finding.alarm_lower = 9;
    finding.proven = 1.5;
    report.findings.push_back(finding);
  }
  return retort::privacy::EncodeAuditReport(report);
}

}  // namespace

int main(int argc, char** argv) {
  if (!retort::cluster::DieWithParent(retort::cluster::kWorkerSocket).ok()) return 3;
  ::prctl(PR_SET_DUMPABLE, 0);                                                               // no core files
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) std::signal(signal, SIG_IGN);  // as the real one
  SocketLink link(retort::cluster::kWorkerSocket);
  if (argc > 1 && std::strcmp(argv[1], retort::cluster::kProbeCuda) == 0)
    return link.Send({{}, {}, 0, retort::cluster::MakeCudaAnswer("scripted", 2)}).ok() ? 0 : 4;
  if (argc > 2 && std::strcmp(argv[1], retort::privacy::kAuditArgument) == 0)
    return retort::cluster::SendAnswer(link, RefuteEverything(argv[2])).ok() ? 0 : 4;
  if (!link.Send({{}, {}, 0, retort::cluster::Hello{"scripted", "cpu", {}}}).ok()) return 4;
  for (;;) {
    Result<std::optional<Envelope>> received = link.Receive(std::chrono::hours(1));
    if (!received.ok()) return 0;
    if (!received->has_value()) continue;
    const auto* start = std::get_if<retort::cluster::Start>(&(*received)->message);
    if (start == nullptr) continue;
    Result<TrialSpec> spec = retort::DecodeTrialSpec(start->spec);
    if (!spec.ok()) return 5;
    if (!ScriptedTrial(link, **received, *start, *spec).Run()) return 0;
  }
}
