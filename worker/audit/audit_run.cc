#include "worker/audit/audit_run.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/messages.h"
#include "cluster/worker_questions.h"
#include "experiments/methods/methods.h"
#include "experiments/privacy/audit_report.h"
#include "worker/audit/audited_trial.h"
#include "worker/audit/inversion.h"
#include "worker/audit/membership.h"
#include "worker/audit/release_step.h"
#include "worker/audit/step_pairs.h"
#include "worker/audit/transcript.h"
#include "worker/run/failure.h"

namespace retort::worker::audit {

namespace {

using privacy::AuditFinding;
using privacy::AuditKind;

constexpr double kMu = 2, kSharedMu = 3;  // where 100,000, or 50,000, samples find 0.95 of mu
constexpr std::int64_t kSamples = 100'000, kSharedSamples = 50'000;

Result<AuditFinding> AuditEmbedding(const StepAuditSettings& settings) {
  const release::EmbeddingSettings scaled = MakeScaledEmbedding(kSharedMu);
  const auto make = [scaled] {
    return release::ClassEmbedding::Create(scaled, noise::NoiseKey::FromOperatingSystem());
  };
  return AuditEmbeddingStep(make, scaled, settings);
}

std::string WhyNoStep(TrialKind kind) {
  if (IsPostProcessing(kind)) return "it draws no noise of its own; audit its teacher's DP-SGD steps";
  if (IsLoaded(kind)) return "it is not trained here and releases nothing by itself";
  if (IsTeacher(kind)) return "it is trained without noise and releases nothing by itself";
  return "this build has no worst neighbours for its release";
}

Result<AuditFinding> AuditOwnStep(const AuditedTrial& trial) {
  const TrialSpec& spec = trial.inputs.spec;
  const std::int64_t classes = trial.inputs.data.classes;
  StepAuditSettings settings{trial.order.samples > 0 ? trial.order.samples : kSamples, spec.privacy.delta,
                             trial.order.confidence};
  const bool shared =
      FindNoiseForm(spec.reading) == NoiseForm::shared || spec.release.normalization == Normalization::frobenius;
  const TrialKind kind = FindKind(spec);
  switch (FindReleaseKind(kind)) {
    case ReleaseKind::steps:
      if (trial.order.samples == 0) settings.samples = kSharedSamples;
      return AuditDpSgdStep(MakeScaledDpSgdStep(spec, kSharedMu), spec.release.norm_bound, settings);
    case ReleaseKind::embedding:
      if (trial.order.samples == 0) settings.samples = kSharedSamples;
      return AuditEmbedding(settings);
    case ReleaseKind::gradients:
    case ReleaseKind::votes: {
      if (shared && trial.order.samples == 0) settings.samples = kSharedSamples;
      const ScaledStep step = ScaleStep(spec, classes, shared ? kSharedMu : kMu);
      return AuditReleaseStep(MakeMechanismMaker(step, classes), step.pair, settings);
    }
    case ReleaseKind::responses:
      return AuditResponseStep(spec, classes, settings);
    case ReleaseKind::none:
    case ReleaseKind::raw_answers:
    case ReleaseKind::losses:
    case ReleaseKind::labels:
      break;
  }
  return MakeSkippedFinding(AuditKind::release_step, trial, WhyNoStep(kind));
}

Result<AuditFinding> AuditReleases(const AuditedTrial& trial, const AuditProgress& progress) {
  progress("release-step", 0, 1);
  Result<AuditFinding> finding = AuditOwnStep(trial);
  if (!finding.ok() && finding.status().code() == StatusCode::refused)
    return MakeSkippedFinding(AuditKind::release_step, trial, finding.status().message());
  if (finding.ok() && finding->ran && trial.inputs.spec.noise == NoiseMode::seeded)
    finding->note = "the trial itself drew seeded noise, and nothing is proven of it";
  return finding;
}

Status Append(Result<AuditFinding> finding, std::vector<AuditFinding>& findings) {
  if (!finding.ok()) return finding.status();
  findings.push_back(std::move(finding).value());
  return {};
}

Status RunOne(AuditKind kind, const AuditedTrial& trial, const AuditProgress& progress,
              std::vector<AuditFinding>& findings) {
  switch (kind) {
    case AuditKind::release_step:
      return Append(AuditReleases(trial, progress), findings);
    case AuditKind::transcript:
      return Append(AuditTranscript(trial, progress), findings);
    case AuditKind::canary:
      return Append(AuditCanaries(trial, progress), findings);
    case AuditKind::membership: {
      RETORT_ASSIGN_OR_RETURN(const std::vector<AuditFinding> found, AuditMembership(trial, progress));
      findings.insert(findings.end(), found.begin(), found.end());
      return {};
    }
    case AuditKind::inversion: {
      RETORT_ASSIGN_OR_RETURN(const std::vector<AuditFinding> found, AuditInversions(trial, progress));
      findings.insert(findings.end(), found.begin(), found.end());
      return {};
    }
  }
  return {};
}

}  // namespace

Result<std::vector<AuditFinding>> RunAudits(const privacy::AuditOrder& order, storage::Env& env,
                                            const DeviceOpener& open, const AuditProgress& progress) {
  std::vector<AuditFinding> findings;
  Status status;
  const std::optional<Failure> failure = CatchTorch([&]() -> std::optional<Failure> {
    const Result<AuditedTrial> trial = LoadAuditedTrial(order, env, open);
    if (!trial.ok()) {
      status = trial.status();
      return std::nullopt;
    }
    at::set_num_threads(trial->inputs.spec.threads);
    for (const AuditKind kind : order.kinds) {
      status = RunOne(kind, *trial, progress, findings);
      if (!status.ok()) return std::nullopt;
    }
    return std::nullopt;
  });
  if (failure) return EnvironmentError(failure->detail);
  if (!status.ok()) return status;
  return findings;
}

namespace {

using Clock = std::chrono::steady_clock;

Result<std::string> EncodeReport(const Result<std::vector<privacy::AuditFinding>>& findings, const std::string& trial) {
  if (!findings.ok()) return findings.status();
  return privacy::EncodeAuditReport({trial, "", *findings});
}

}  // namespace

Status ServeAudit(cluster::SocketLink& link, const std::string& text, storage::Env& env, Devices& devices) {
  const Result<privacy::AuditOrder> order = privacy::DecodeAuditOrder(text);
  if (!order.ok()) return cluster::SendAnswer(link, order.status());
  std::string phase;
  Clock::time_point said = Clock::now();
  const AuditProgress progress = [&](const std::string& now, std::int64_t step, std::int64_t steps) {
    if (now == phase && Clock::now() - said < std::chrono::seconds(1)) return;
    phase = now;
    said = Clock::now();
    static_cast<void>(link.Send({{}, {}, 0, cluster::Progress{step, steps, now, {}}}));  // a lost report does no harm
  };
  const auto open = [&devices](const std::string& name) { return devices.Open(name); };
  return cluster::SendAnswer(link, EncodeReport(RunAudits(*order, env, open, progress), order->trial));
}

}  // namespace retort::worker::audit
