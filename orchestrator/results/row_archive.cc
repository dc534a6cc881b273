#include "orchestrator/results/row_archive.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cluster/sample_order.h"
#include "experiments/base/digests.h"
#include "experiments/base/json.h"
#include "experiments/base/number_text.h"
#include "experiments/methods/spec_codec.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator {
namespace {

using Json = nlohmann::json;
using Curve = std::vector<std::pair<std::int64_t, double>>;

// What of a provenance says with what a number was made; where it was made is nobody's business.
constexpr std::array kKeptProvenance = {"build",      "torch",   "cpu_capability", "device",
                                        "trained_on", "threads", "timings"};

std::string ScrubProvenance(const std::string& provenance) {
  const Json all = Json::parse(provenance, nullptr, false);
  Json kept = Json::object();
  for (const char* key : kKeptProvenance)
    if (all.is_object() && all.contains(key)) kept[key] = all.at(key);
  return DumpJson(kept);
}

std::string LastName(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// Replaces the paths of this machine by their last names, the same one in specs and in the sweep file.
class PathScrubber {
 public:
  void Scrub(TrialSpec& spec) {
    for (std::string* path : {&spec.weights, &spec.torchscript})
      if (!path->empty()) *path = Shorten(*path);
    if (spec.data == nullptr) return;
    std::shared_ptr<const DataSpec>& known = data_[spec.data->name + spec.data->digest];
    if (known == nullptr) {
      DataSpec data = *spec.data;
      data.path = Shorten(data.path);
      for (auto* source : {&data.split.train_source, &data.split.public_source, &data.split.test_source,
                           &data.split.validation_source})
        if (!source->list.empty()) source->list = Shorten(source->list);
      known = std::make_shared<const DataSpec>(std::move(data));
    }
    spec.data = known;
  }
  // The longest paths first: one may begin another. What is left are those of tables that no trial uses.
  [[nodiscard]] std::string Scrub(std::string text) const {
    for (auto path = short_.rbegin(); path != short_.rend(); ++path)
      for (std::size_t at = 0; (at = text.find(path->second.first, at)) != std::string::npos;
           at += path->second.second.size())
        text.replace(at, path->second.first.size(), path->second.second);
    for (std::size_t at = 0; (at = text.find("\"/", at)) != std::string::npos; ++at) {
      const std::size_t begin = at + 1, end = text.find_first_of("\"\n", begin);
      if (end != std::string::npos && text[end] == '"')
        text.replace(begin, end - begin, LastName(text.substr(begin, end - begin)));
    }
    return text;
  }

 private:
  std::string Shorten(const std::string& path) {
    std::string name = LastName(path);
    // A path of an imported archive is its last name already.
    if (name != path) short_[{path.size(), path}] = {path, name};
    return name;
  }
  std::map<std::pair<std::size_t, std::string>, std::pair<std::string, std::string>> short_;
  std::map<std::string, std::shared_ptr<const DataSpec>> data_;
};

Curve Thin(const Curve& curve) {
  if (curve.size() <= kMaxCurvePoints) return curve;
  Curve thin;
  for (std::size_t i = 0; i < kMaxCurvePoints; ++i)
    thin.push_back(curve[i * (curve.size() - 1) / (kMaxCurvePoints - 1)]);
  return thin;
}

// Teachers before the students that name them.
std::vector<const TrialView*> SortByParent(const ResultsView& view) {
  std::vector<const TrialView*> sorted;
  for (const bool child : {false, true})
    for (const std::vector<TrialView>* some : {&view.trials, &view.unplanned})
      for (const TrialView& trial : *some)
        if (trial.spec.parent.has_value() == child) sorted.push_back(&trial);
  return sorted;
}

bool HasEnded(const TrialView& trial) {
  return trial.state == TrialState::succeeded || trial.state == TrialState::failed;
}

class Collector {
 public:
  Collector(storage::Env& env, const ResultsView& view, RowArchive& archive)
      : env_(env), view_(view), archive_(archive), audits_(env, view.directory) {}

  [[nodiscard]] Status Collect() {
    const std::vector<const TrialView*> trials = SortByParent(view_);
    Plan(trials);
    for (const TrialView* trial : trials) RETORT_RETURN_IF_ERROR(Add(*trial));
    archive_.ledger = view_.ledger;
    return {};
  }

 private:
  void Add(Event event) { archive_.events.push_back({view_.newest_event, std::move(event)}); }

  void Plan(const std::vector<const TrialView*>& trials) {
    std::vector<TrialPlanned> planned;
    for (const TrialView* trial : trials) {
      TrialSpec spec = trial->spec;
      scrubber_.Scrub(spec);
      planned.push_back(MakeTrialPlanned(spec));
      spec_texts_[trial->spec.id] = planned.back().spec_json;
    }
    archive_.sweep_toml = scrubber_.Scrub(std::move(archive_.sweep_toml));
    Add(SweepOpened{kResultsFormatVersion, view_.sweep, archive_.sweep_toml, "{}"});
    for (const auto& [digest, unpacked] : view_.unpacked)
      if (digest != unpacked) Add(DataNoted{digest, unpacked});
    for (TrialPlanned& one : planned) Add(std::move(one));
    PlanAdopted adopted;
    for (const TrialView& trial : view_.trials)
      if (trial.planned) adopted.order.push_back(trial.spec.id);
    Add(std::move(adopted));
    Add(RunStarted{"{}"});
  }

  [[nodiscard]] Status Add(const TrialView& trial) {
    if (trial.attempts == 0) return {};
    const AttemptId attempt{trial.spec.id, trial.attempts};
    Add(AttemptLeased{attempt, {++generation_}, {{0, 0}}});
    Add(AttemptStarted{attempt});
    AttemptEnded ended;
    ended.attempt = attempt;
    ended.failure = trial.failure;
    if (!HasEnded(trial) || !HasRow(trial)) {
      ended.for_good = false;
      Add(std::move(ended));
      return {};
    }
    RETORT_ASSIGN_OR_RETURN(storage::ResultRow row, ReadRow(trial));
    row.spec_json = spec_texts_.at(trial.spec.id);
    row.provenance_json = ScrubProvenance(row.provenance_json);
    ended.succeeded = trial.state == TrialState::succeeded;
    ended.detail = row.detail;
    ended.metrics = row.metrics;
    ended.timings = row.timings;
    ended.parameters_digest = row.parameters_digest;
    ended.file = row.attempt_file;
    Add(std::move(ended));
    if (!row.attempt_file.empty()) RETORT_RETURN_IF_ERROR(AddAttempt(row));
    RETORT_ASSIGN_OR_RETURN(const std::optional<privacy::AuditReport> audit, audits_.Of(trial.folder, row));
    if (audit) archive_.audits.push_back(*audit);
    RETORT_ASSIGN_OR_RETURN(const std::optional<SyntheticResult> synthetic,
                            ReadSynthetic(env_, view_.directory, trial));
    if (synthetic) archive_.synthetic.emplace_back(row.trial, *synthetic);
    Add(RowWritten{std::move(row)});
    return {};
  }

  [[nodiscard]] Status AddAttempt(const storage::ResultRow& row) {
    RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file,
                            storage::ReadAttemptFile(view_.directory + "/" + row.attempt_file));
    file.parameters.clear();
    file.samples.reset();
    file.spec_json = row.spec_json;
    file.provenance_json = row.provenance_json;
    for (auto& [name, curve] : file.curves) curve = Thin(curve);
    archive_.attempts.push_back({row.attempt_file, std::move(file)});
    return {};
  }

  storage::Env& env_;
  const ResultsView& view_;
  RowArchive& archive_;
  StoredAudits audits_;
  PathScrubber scrubber_;
  std::map<TrialId, std::string> spec_texts_;
  std::uint64_t generation_ = 0;
};

Json EntryJson(const storage::LedgerEntry& entry) {
  Json json = {{"data", entry.data_digest},
               {"trial", entry.attempt.trial.Hex()},
               {"attempt", entry.attempt.number},
               {"generation", entry.generation},
               {"event", Json::parse(privacy::EncodeEvent(entry.event))}};
  if (entry.state == storage::LedgerState::settled) json["used"] = entry.used;
  return json;
}

Result<storage::LedgerEntry> ReadEntry(const Json& json) {
  storage::LedgerEntry entry;
  json.at("data").get_to(entry.data_digest);
  const std::optional<TrialId> trial = TrialId::FromHex(json.at("trial").get<std::string>());
  if (!trial) return DamageError("a reservation names no trial");
  entry.attempt.trial = *trial;
  json.at("attempt").get_to(entry.attempt.number);
  json.at("generation").get_to(entry.generation);
  RETORT_ASSIGN_OR_RETURN(entry.event, privacy::DecodeEvent(json.at("event").dump()));
  if (!json.contains("used")) return entry;
  entry.state = storage::LedgerState::settled;
  json.at("used").get_to(entry.used);
  return entry;
}

Json CurvesJson(const std::map<std::string, Curve>& curves) {
  Json json = Json::object();
  for (const auto& [name, curve] : curves) {
    Json points = Json::array();
    for (const auto& [step, value] : curve) points.push_back(Json::array({step, MakeJsonNumber(value)}));
    json[name] = std::move(points);
  }
  return json;
}

Result<std::map<std::string, Curve>> ReadCurves(const Json& json) {
  std::map<std::string, Curve> curves;
  for (const auto& [name, points] : json.items()) {
    Curve& curve = curves[name];
    for (const Json& point : points) {
      const std::optional<double> value = point.at(1).is_string() ? ParseFiniteNumber(point.at(1).get<std::string>())
                                                                  : std::optional(point.at(1).get<double>());
      curve.emplace_back(RequireInteger<std::int64_t>(point.at(0)), value.value_or(std::nan("")));
    }
  }
  return curves;
}

// What the row does not hold as well.
Json AttemptJson(const ArchivedAttempt& attempt) {
  const storage::AttemptFile& file = attempt.file;
  Json json = {{"path", attempt.path},
               {"trial", file.trial},
               {"attempt", file.attempt},
               {"teacher_digest", file.teacher_digest},
               {"curves", CurvesJson(file.curves)}};
  if (file.evaluation) {
    json["evaluation"] = {{"classes", file.evaluation->classes},
                          {"n", file.evaluation->n},
                          {"accuracy", MakeJsonNumber(file.evaluation->accuracy)},
                          {"top5", MakeJsonNumber(file.evaluation->top5)},
                          {"confusion", file.evaluation->confusion}};
  }
  return json;
}

Result<ArchivedAttempt> ReadAttempt(const Json& json) {
  ArchivedAttempt attempt;
  json.at("path").get_to(attempt.path);
  json.at("trial").get_to(attempt.file.trial);
  attempt.file.attempt = RequireInteger<std::uint32_t>(json.at("attempt"));
  json.at("teacher_digest").get_to(attempt.file.teacher_digest);
  RETORT_ASSIGN_OR_RETURN(attempt.file.curves, ReadCurves(json.at("curves")));
  if (!json.contains("evaluation")) return attempt;
  const Json& told = json.at("evaluation");
  storage::Evaluation evaluation;
  evaluation.classes = RequireInteger<std::int64_t>(told.at("classes"));
  evaluation.n = RequireInteger<std::int64_t>(told.at("n"));
  told.at("accuracy").get_to(evaluation.accuracy);
  told.at("top5").get_to(evaluation.top5);
  told.at("confusion").get_to(evaluation.confusion);
  attempt.file.evaluation = std::move(evaluation);
  return attempt;
}

// Named by its features. A program of before reads "fid" as one in the classifier's own, so none is there for it.
constexpr const char* kFidMember = "fid_oriented_gradients";
static_assert(cluster::kFrechetFeatures == "oriented-gradients");

Json SyntheticJson(const std::string& trial, const SyntheticResult& result) {
  return {{"trial", trial},
          {"count", result.count},
          {"seed", result.seed},
          {"labels", result.labels},
          {"network", result.network},
          {"accuracy", MakeJsonNumber(result.accuracy)},
          {"fid", MakeJsonNumber(std::nan(""))},
          {kFidMember, MakeJsonNumber(result.frechet_distance)}};
}

SyntheticResult ReadSyntheticJson(const Json& json) {
  SyntheticResult result;
  result.count = RequireInteger<std::int64_t>(json.at("count"));
  result.seed = RequireInteger<std::uint64_t>(json.at("seed"));
  json.at("labels").get_to(result.labels);
  json.at("network").get_to(result.network);
  json.at("accuracy").get_to(result.accuracy);
  if (json.contains(kFidMember) && json.at(kFidMember).is_number()) json.at(kFidMember).get_to(result.frechet_distance);
  return result;
}

// Without the spec of a row, which stands in its trial_planned.
Json EventJson(const JournalEvent& event) {
  Json json = Json::parse(EncodeEvent(event));
  if (std::holds_alternative<RowWritten>(event.event)) {
    storage::ResultRow row = std::get<RowWritten>(event.event).row;
    row.spec_json = "{}";
    json = Json::parse(EncodeEvent({event.at, RowWritten{std::move(row)}}));
  }
  return {{"event", static_cast<int>(FindEventType(event.event))}, {"of", std::move(json)}};
}

class Decoder {
 public:
  [[nodiscard]] Status Read(const Json& line) {
    if (line.contains("event")) return ReadEvent(line);
    if (line.contains("reservation")) {
      RETORT_ASSIGN_OR_RETURN(storage::LedgerEntry entry, ReadEntry(line.at("reservation")));
      entry.id = archive_.ledger.size() + 1;
      archive_.ledger.push_back(std::move(entry));
      return {};
    }
    if (line.contains("attempt")) {
      RETORT_ASSIGN_OR_RETURN(ArchivedAttempt attempt, ReadAttempt(line.at("attempt")));
      archive_.attempts.push_back(std::move(attempt));
      return {};
    }
    if (line.contains("synthetic")) {
      const Json& told = line.at("synthetic");
      archive_.synthetic.emplace_back(told.at("trial").get<std::string>(), ReadSyntheticJson(told));
      return {};
    }
    if (!line.contains("audit")) return DamageError("a line of an unknown kind");
    RETORT_ASSIGN_OR_RETURN(privacy::AuditReport report, privacy::DecodeAuditReport(line.at("audit").dump()));
    archive_.audits.push_back(std::move(report));
    return {};
  }

  // Gives attempts what their rows and the ledger hold.
  [[nodiscard]] Result<RowArchive> Finish() && {
    for (ArchivedAttempt& attempt : archive_.attempts) {
      const auto row = rows_.find(attempt.file.trial);
      if (row == rows_.end()) return DamageError("an attempt of " + attempt.file.trial + ", which has no row");
      const storage::ResultRow& of = std::get<RowWritten>(archive_.events[row->second].event).row;
      if (attempt.path != of.attempt_file)
        return DamageError("an attempt of " + of.trial + " that its row does not name");
      storage::AttemptFile& file = attempt.file;
      file.sweep = sweep_;
      file.spec_json = of.spec_json;
      file.provenance_json = of.provenance_json;
      file.claims = of.claims;
      file.metrics = of.metrics;
      file.timings = of.timings;
      for (const storage::LedgerEntry& entry : archive_.ledger)
        if (entry.attempt.trial.Hex() == of.trial) file.ledger.push_back(entry);
    }
    return std::move(archive_);
  }

 private:
  [[nodiscard]] Status ReadEvent(const Json& line) {
    RETORT_ASSIGN_OR_RETURN(JournalEvent event,
                            DecodeEvent(RequireInteger<std::uint16_t>(line.at("event")), line.at("of").dump()));
    if (const auto* opened = std::get_if<SweepOpened>(&event.event)) {
      sweep_ = opened->name;
      archive_.sweep_toml = opened->resolved_toml;
    }
    if (const auto* planned = std::get_if<TrialPlanned>(&event.event))
      specs_[planned->spec.id.Hex()] = planned->spec_json;
    if (auto* written = std::get_if<RowWritten>(&event.event)) {
      const auto spec = specs_.find(written->row.trial);
      if (spec == specs_.end()) return DamageError("a row of " + written->row.trial + ", which was never planned");
      written->row.spec_json = spec->second;
      if (written->row.row_digest != storage::ComputeRowDigest(written->row))
        return DamageError("the row of " + written->row.name +
                           " is not what its digest says: its settings, metrics or parameters were changed");
      rows_[written->row.trial] = archive_.events.size();
    }
    archive_.events.push_back(std::move(event));
    return {};
  }

  RowArchive archive_;
  std::string sweep_;
  std::map<std::string, std::string> specs_;  // by trial
  std::map<std::string, std::size_t> rows_;   // the same: indices into events
};

void AddLine(const Json& json, std::string& text) { text += DumpJson(json) + "\n"; }

// As ReadJson; numbers that do not fit are damage, too.
template <typename Read>
Result<bool> ReadLine(std::string_view line, const Read& read) {
  try {
    return ReadJson<bool>(line, "the line", read);
  } catch (const std::invalid_argument& error) {
    return DamageError(error.what());
  }
}

// The lines without the seal. Error: as DecodeArchive.
Result<std::string_view> Unseal(std::string_view text, const std::string& name) {
  constexpr std::string_view kHead = "{\"row_archive\":";
  if (!text.starts_with(kHead)) return UsageError(name + " is no archive of rows: `retort export-rows` writes one.");
  const std::size_t last = text.rfind('\n', text.size() < 2 ? 0 : text.size() - 2);
  const std::string_view body = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  const Json seal = Json::parse(text.substr(body.size()), nullptr, false);
  if (!seal.is_object() || !seal.contains("seal")) return DamageError(name + " was cut: its last line is no seal.");
  if (seal.at("seal") != ComputeSha256Hex(std::string(body)))
    return DamageError(name + " was edited: its seal is not that of its lines.");
  return body;
}

}  // namespace

Result<RowArchive> CollectArchive(storage::Env& env, const ResultsView& view, const std::string& program) {
  if (!view.ledger_lost.empty()) return DamageError(view.ledger_lost);
  RowArchive archive;
  archive.program = program;
  RETORT_ASSIGN_OR_RETURN(archive.sweep_toml, env.ReadFile(view.directory + "/sweep.toml"));
  RETORT_RETURN_IF_ERROR(Collector(env, view, archive).Collect());
  return archive;
}

std::string EncodeArchive(const RowArchive& archive) {
  std::string text;
  AddLine({{"row_archive", kArchiveVersion}, {"written_by", archive.program}}, text);
  for (const JournalEvent& event : archive.events) AddLine(EventJson(event), text);
  for (const storage::LedgerEntry& entry : archive.ledger) AddLine({{"reservation", EntryJson(entry)}}, text);
  for (const ArchivedAttempt& attempt : archive.attempts) AddLine({{"attempt", AttemptJson(attempt)}}, text);
  for (const privacy::AuditReport& report : archive.audits)
    AddLine({{"audit", Json::parse(privacy::EncodeAuditReport(report))}}, text);
  for (const auto& [trial, result] : archive.synthetic) AddLine({{"synthetic", SyntheticJson(trial, result)}}, text);
  AddLine({{"seal", ComputeSha256Hex(text)}}, text);
  return text;
}

Result<RowArchive> DecodeArchive(std::string_view text, const std::string& name) {
  RETORT_ASSIGN_OR_RETURN(std::string_view body, Unseal(text, name));
  Decoder decoder;
  std::string program;
  for (int number = 1; !body.empty(); ++number) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(line.size() + 1);
    const auto read = [&](const Json& json) -> Result<bool> {
      if (number > 1) {
        RETORT_RETURN_IF_ERROR(decoder.Read(json));
        return true;
      }
      program = json.at("written_by").get<std::string>();
      const std::int64_t version = RequireInteger<std::int64_t>(json.at("row_archive"));
      if (version == kArchiveVersion) return true;
      return UsageError(name + " is of version " + std::to_string(version) + " (written by " + program +
                        "), and this retort reads version " + std::to_string(kArchiveVersion) +
                        ": use the retort that wrote it.");
    };
    const Result<bool> done = ReadLine(line, read);
    if (done.ok()) continue;
    if (done.status().code() == StatusCode::usage) return done.status();
    return DamageError(name + ":" + std::to_string(number) + ": " + done.status().message());
  }
  Result<RowArchive> archive = std::move(decoder).Finish();
  if (!archive.ok()) return DamageError(name + ": " + archive.status().message());
  archive->program = program;
  return archive;
}

}  // namespace retort::orchestrator
