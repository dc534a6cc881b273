#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/privacy/calculator.h"
#include "experiments/privacy/number_text.h"
#include "experiments/privacy/privacy_statement.h"
#include "experiments/privacy/published_settings.h"
#include "orchestrator/cli/calculator_text.h"
#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/commands.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;

Status NoMechanism() {
  std::string names;
  for (const std::string& name : privacy::MechanismNames()) names += (names.empty() ? "" : ", ") + name;
  return UsageError("Name a mechanism: " + names + ".");
}

// A delta above 1/N would let a mechanism publish some examples whole.
void WarnOfDelta(const Invocation& call, const std::vector<privacy::Answer>& answers) {
  const auto examples = call.line.question.values.find("examples");
  if (examples == call.line.question.values.end()) return;
  const std::string warning =
      privacy::DeltaWarning(answers.front().claim, static_cast<std::int64_t>(examples->second));
  if (!warning.empty()) call.console.Message("warning: " + warning);
}

int PapersCommand(const Invocation& call) {
  if (!call.line.question.mechanism.empty())
    return call.console.Fail(
        UsageError("--papers stands alone; leave out " + call.line.question.mechanism + "."));
  const std::vector<privacy::PublishedSetting> settings = privacy::PublishedSettings();
  if (call.line.global.json) {
    ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document["settings"] = SettingsJson(settings);
    call.console.Data(DocumentText(document));
  } else {
    call.console.Text(SettingsText(settings, call.console.options().width));
  }
  return 0;
}

}  // namespace

int EpsilonCommand(const Invocation& call) {
  if (call.line.papers) return PapersCommand(call);
  if (call.line.question.mechanism.empty()) return call.console.Fail(NoMechanism());
  const Result<std::vector<privacy::Answer>> answers = privacy::EpsilonOf(call.line.question);
  if (!answers.ok()) return call.console.Fail(answers.status());
  WarnOfDelta(call, *answers);
  if (call.line.global.json) {
    ordered_json document;
    document["schema_version"] = kSchemaVersion;
    AddAnswers(*answers, document);
    call.console.Data(DocumentText(document));
    return 0;
  }
  call.console.Text(AnswersText(*answers, call.line.explain, call.console.options().width));
  return 0;
}

int CalibrateCommand(const Invocation& call) {
  if (call.line.question.mechanism.empty()) return call.console.Fail(NoMechanism());
  const Result<privacy::Solution> solution = privacy::SolveFor(call.line.question, call.line.epsilon);
  if (!solution.ok()) return call.console.Fail(solution.status());
  WarnOfDelta(call, solution->answers);
  if (call.line.global.json) {
    ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document["parameter"] = solution->parameter;
    document["value"] = solution->value;
    document["more"] = solution->more;
    AddAnswers(solution->answers, document);
    call.console.Data(DocumentText(document));
    return 0;
  }
  call.console.Text(fmt::format("{} {} {}{}\n\n", solution->parameter, solution->more ? "more than" : "=",
                                privacy::ExactNumber(solution->value),
                                solution->more ? "; the claims are those of so many" : ""));
  call.console.Text(AnswersText(solution->answers, call.line.explain, call.console.options().width));
  return 0;
}

}  // namespace retort::orchestrator::cli
