#include "experiments/privacy/audit_report.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <utility>

#include "experiments/base/json.h"
#include "experiments/base/number_text.h"

namespace retort::privacy {
namespace {

using nlohmann::json;

json Maybe(const std::optional<double>& value) { return value ? MakeJsonNumber(*value) : json(); }

json CurveJson(const AuditCurve& curve) {
  json out{{"members", curve.members}, {"others", curve.others}};
  out["false_positives"] = out["true_positives"] = json::array();
  for (const CurvePoint& point : curve.points) {
    out["false_positives"].push_back(point.false_positives);
    out["true_positives"].push_back(point.true_positives);
  }
  return out;
}

json FindingJson(const AuditFinding& finding) {
  json out;
  out["kind"] = AuditKindName(finding.kind);
  if (!finding.attack.empty()) out["attack"] = finding.attack;
  out["subject"] = finding.subject;
  out["ran"] = finding.ran;
  out["claim"] = finding.claim ? ParseJson(EncodeClaim(*finding.claim)) : json();
  out["confidence"] = finding.confidence;
  out["alarm_lower"] = Maybe(finding.alarm_lower);
  out["alarm_proven"] = Maybe(finding.alarm_proven);
  out["proven"] = Maybe(finding.proven);
  out["mu_lower"] = Maybe(finding.mu_lower);
  out["mu_proven"] = Maybe(finding.mu_proven);
  out["detectable"] = Maybe(finding.detectable);
  out["ceiling"] = Maybe(finding.ceiling);
  out["p_value"] = Maybe(finding.p_value);
  out["formula"] = Maybe(finding.formula);
  out["needed_accuracy"] = Maybe(finding.needed_accuracy);
  out["curve"] = finding.curve ? CurveJson(*finding.curve) : json();
  out["figures"] = json::array();
  for (const auto& [name, value] : finding.figures)
    out["figures"].push_back({{"name", name}, {"value", MakeJsonNumber(value)}});
  out["note"] = finding.note;
  return out;
}

Status ReadFigures(const json& list, AuditFinding& finding) {
  if (!list.is_array()) return DamageError("The audit finding has no valid 'figures': expected a list.");
  for (const json& entry : list) {
    JsonFields fields(DumpJson(entry), "figure of an audit");
    std::string name = fields.String("name");
    const double value = fields.Number("value");
    RETORT_RETURN_IF_ERROR(fields.status());
    finding.figures.emplace_back(std::move(name), value);
  }
  return {};
}

// A count that is no number is less than the one before.
Result<AuditCurve> DecodeCurve(const json& object) {
  const Status wrong = DamageError("The audit finding has no valid 'curve': expected rising counts of two kinds.");
  const json passed = object.value("false_positives", json()), hit = object.value("true_positives", json());
  if (!passed.is_array() || !hit.is_array() || passed.size() != hit.size()) return wrong;
  JsonFields fields(DumpJson(object), "curve of an audit");
  AuditCurve curve;
  curve.members = fields.Integer("members");
  curve.others = fields.Integer("others");
  RETORT_RETURN_IF_ERROR(fields.status());
  CurvePoint last;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    const CurvePoint point{FindInteger<std::int64_t>(passed[i]).value_or(-1),
                           FindInteger<std::int64_t>(hit[i]).value_or(-1)};
    if (point.false_positives < last.false_positives || point.true_positives < last.true_positives) return wrong;
    curve.points.push_back(last = point);
  }
  if (curve.members < 1 || curve.others < 1 || last.true_positives > curve.members ||
      last.false_positives > curve.others)
    return wrong;
  return curve;
}

// Fields that reports of earlier versions lack.
std::optional<double> LaterNumber(const json& object, const char* name, JsonFields& fields) {
  return object.contains(name) ? fields.NumberOrNull(name) : std::nullopt;
}

Result<AuditFinding> DecodeFinding(const json& object) {
  JsonFields fields(DumpJson(object), "audit finding");
  AuditFinding finding;
  const std::optional<AuditKind> kind = FindAuditKind(fields.String("kind"));
  if (!kind) fields.Fail("kind", "the name of an audit");
  finding.kind = kind.value_or(AuditKind::release_step);
  if (fields.Has("attack")) {
    finding.attack = fields.String("attack");
    if (!FindInversionAttack(finding.attack)) fields.Fail("attack", "the name of an attack");
  } else if (finding.kind == AuditKind::inversion) {  // from before there were others
    finding.attack = GetInversionAttackName(InversionAttack::fredrikson);
  }
  finding.subject = fields.String("subject");
  finding.ran = fields.Flag("ran");
  finding.confidence = fields.Number("confidence");
  finding.alarm_lower = fields.NumberOrNull("alarm_lower");
  finding.alarm_proven = fields.NumberOrNull("alarm_proven");
  finding.proven = fields.NumberOrNull("proven");
  finding.mu_lower = fields.NumberOrNull("mu_lower");
  finding.mu_proven = fields.NumberOrNull("mu_proven");
  finding.detectable = fields.NumberOrNull("detectable");
  finding.ceiling = fields.NumberOrNull("ceiling");
  finding.p_value = LaterNumber(object, "p_value", fields);
  finding.formula = LaterNumber(object, "formula", fields);
  finding.needed_accuracy = LaterNumber(object, "needed_accuracy", fields);
  finding.note = fields.String("note");
  RETORT_RETURN_IF_ERROR(fields.status());
  RETORT_RETURN_IF_ERROR(ReadFigures(object.value("figures", json()), finding));
  if (const json curve = object.value("curve", json()); !curve.is_null()) {
    if (!curve.is_object()) return DamageError("The audit finding has no valid 'curve': expected an object.");
    RETORT_ASSIGN_OR_RETURN(finding.curve, DecodeCurve(curve));
  }
  const json claim = object.value("claim", json());
  if (!claim.is_null()) {
    RETORT_ASSIGN_OR_RETURN(finding.claim, DecodeClaim(DumpJson(claim)));
  }
  return finding;
}

}  // namespace

const std::vector<std::string>& AuditKindNames() {
  static const std::vector<std::string> names = {"release-step", "transcript", "canary", "membership", "inversion"};
  return names;
}

std::string_view AuditKindName(AuditKind kind) { return AuditKindNames().at(static_cast<std::size_t>(kind)); }

std::optional<AuditKind> FindAuditKind(std::string_view name) {
  for (std::size_t i = 0; i < AuditKindNames().size(); ++i)
    if (AuditKindNames()[i] == name) return static_cast<AuditKind>(i);
  return std::nullopt;
}

const std::vector<std::string>& ListInversionAttackNames() {
  static const std::vector<std::string> names = {"fredrikson", "gmi", "plg-mi"};
  return names;
}

std::string_view GetInversionAttackName(InversionAttack attack) {
  return ListInversionAttackNames().at(static_cast<std::size_t>(attack));
}

std::optional<InversionAttack> FindInversionAttack(std::string_view name) {
  for (std::size_t i = 0; i < ListInversionAttackNames().size(); ++i)
    if (ListInversionAttackNames()[i] == name) return static_cast<InversionAttack>(i);
  return std::nullopt;
}

std::string FormatAuditName(const AuditFinding& finding) {
  const std::string kind(AuditKindName(finding.kind));
  return finding.attack.empty() ? kind : kind + "/" + finding.attack;
}

std::string FindContradiction(const AuditFinding& finding) {
  const std::string what = std::string(AuditKindName(finding.kind)) + " audit of " + finding.subject + ": ";
  if (finding.mu_lower && finding.mu_proven && *finding.mu_lower > *finding.mu_proven)
    return what + "the attack shows mu >= " + FormatSixDigits(*finding.mu_lower) +
           ", the claim says mu <= " + FormatSixDigits(*finding.mu_proven);
  const std::optional<double> proven = finding.alarm_proven ? finding.alarm_proven : finding.proven;
  if (finding.alarm_lower && proven && *finding.alarm_lower > *proven)
    return what + "the attack shows epsilon >= " + FormatSixDigits(*finding.alarm_lower) +
           ", the claim says epsilon <= " + FormatSixDigits(*proven);
  if (finding.p_value && *finding.p_value <= 1 - kAlarmConfidence)
    return what + "if what is claimed holds, so many guesses are right with a probability of at most " +
           FormatSixDigits(*finding.p_value);
  return "";
}

std::string FormatVerdict(const AuditFinding& finding) {
  if (!finding.ran) return "not done: " + finding.note;
  if (const std::string contradiction = FindContradiction(finding); !contradiction.empty())
    return "LEAK beyond what is proven: " + contradiction;
  // What a release step or a transcript gives away is what its noise is for.
  const bool meant = finding.kind == AuditKind::release_step || finding.kind == AuditKind::transcript;
  if (finding.claim && finding.formula && finding.claim->lower.value_or(0) > *finding.formula && !meant)
    return "the attack shows more than the paper's formula claims" +
           std::string(finding.proven ? ", within what is proven" : "");
  if (finding.claim && finding.claim->lower.value_or(0) > 0 && !meant)
    return finding.proven ? "the attack succeeds, within what is proven"
                          : "the attack succeeds; nothing is proven that it could contradict";
  return finding.proven || finding.claim ? "no leak detected at this power" : "figures alone, no bound";
}

std::string EncodeAuditReport(const AuditReport& report) {
  json out;
  out["format_version"] = 1;
  out["trial"] = report.trial;
  out["row_digest"] = report.row_digest;
  out["findings"] = json::array();
  for (const AuditFinding& finding : report.findings) out["findings"].push_back(FindingJson(finding));
  return DumpJson(out);
}

Result<AuditReport> DecodeAuditReport(const std::string& text) {
  JsonFields fields(text, "audit report");
  AuditReport report;
  if (fields.Integer("format_version") != 1) fields.Fail("format_version", "1");
  report.trial = fields.String("trial");
  report.row_digest = fields.String("row_digest");
  RETORT_RETURN_IF_ERROR(fields.status());
  const json findings = TryParseJson(text).value("findings", json());
  if (!findings.is_array()) return DamageError("The audit report has no valid 'findings': expected a list.");
  for (const json& entry : findings) {
    if (!entry.is_object()) return DamageError("A finding of the audit report is not a JSON object.");
    RETORT_ASSIGN_OR_RETURN(AuditFinding finding, DecodeFinding(entry));
    report.findings.push_back(std::move(finding));
  }
  return report;
}

std::string EncodeAuditOrder(const AuditOrder& order) {
  nlohmann::json json;
  json["trial"] = order.trial;
  json["spec"] = order.spec;
  json["data_path"] = order.data_path;
  json["attempt_file"] = order.attempt_file;
  json["teacher_file"] = order.teacher_file;
  json["device"] = order.device;
  json["kinds"] = nlohmann::json::array();
  for (const AuditKind kind : order.kinds) json["kinds"].push_back(AuditKindName(kind));
  json["confidence"] = order.confidence;
  json["samples"] = order.samples;
  json["canaries"] = order.canaries;
  json["shadows"] = order.shadows;
  json["attacks"] = nlohmann::json::array();
  for (const InversionAttack attack : order.attacks) json["attacks"].push_back(GetInversionAttackName(attack));
  json["gan_steps"] = order.gan_steps;
  json["latent_steps"] = order.latent_steps;
  for (const auto& [key, claims] :
       {std::pair{"claims", &order.claims}, std::pair{"alarm_claims", &order.alarm_claims}}) {
    json[key] = nlohmann::json::array();
    for (const Claim& claim : *claims) json[key].push_back(EncodeClaim(claim));
  }
  return DumpJson(json);
}

Result<AuditOrder> DecodeAuditOrder(const std::string& json) {
  JsonFields fields(json, "audit order");
  AuditOrder order;
  order.trial = fields.String("trial");
  order.spec = fields.String("spec");
  order.data_path = fields.String("data_path");
  order.attempt_file = fields.String("attempt_file");
  order.teacher_file = fields.String("teacher_file");
  order.device = fields.String("device");
  for (const std::string& name : fields.Strings("kinds")) {
    const std::optional<AuditKind> kind = FindAuditKind(name);
    if (!kind) fields.Fail("kinds", "names of audits");
    order.kinds.push_back(kind.value_or(AuditKind::release_step));
  }
  order.attacks.clear();
  for (const std::string& name : fields.Strings("attacks")) {
    const std::optional<InversionAttack> attack = FindInversionAttack(name);
    if (!attack) fields.Fail("attacks", "names of attacks");
    order.attacks.push_back(attack.value_or(InversionAttack::fredrikson));
  }
  order.confidence = fields.Number("confidence");
  if (!(order.confidence > 0 && order.confidence < 1)) fields.Fail("confidence", "a number between 0 and 1");
  for (const auto& [key, count] : {std::pair{"samples", &order.samples}, std::pair{"canaries", &order.canaries},
                                   std::pair{"shadows", &order.shadows}, std::pair{"gan_steps", &order.gan_steps},
                                   std::pair{"latent_steps", &order.latent_steps}})
    *count = fields.Count(key);
  for (const auto& [key, claims] :
       {std::pair{"claims", &order.claims}, std::pair{"alarm_claims", &order.alarm_claims}}) {
    for (const std::string& text : fields.Strings(key)) {
      RETORT_ASSIGN_OR_RETURN(Claim claim, DecodeClaim(text));
      claims->push_back(std::move(claim));
    }
  }
  RETORT_RETURN_IF_ERROR(fields.status());
  return order;
}

}  // namespace retort::privacy
