#include "orchestrator/cli/render/tracker_files.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/json.h"
#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"
#include "orchestrator/cli/render/json_documents.h"
#include "storage/formats/event_file.h"

namespace retort::orchestrator::cli {
namespace {

// What MLflow takes (mlflow/utils/validation.py): longer keys and values are refused by its servers.
constexpr std::size_t kMaxKey = 250, kMaxParam = 6000, kMaxTag = 8000;
constexpr int kExperimentDigits = 18;
constexpr int kFinished = 3, kFailed = 4;  // RunStatus
constexpr int kLocalSource = 4;            // SourceType

std::string EscapeCell(const std::string& text) {
  std::string escaped;
  for (const char c : MakeOneLine(text)) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string SettingsTable(const TrialRecord& record) {
  std::string text = "| setting | value |\n|---|---|\n";
  for (const auto& [key, value] : record.settings) text += "| " + EscapeCell(key) + " | " + EscapeCell(value) + " |\n";
  return text;
}

std::string PrivacyText(const TrialRecord& record) {
  std::string text;
  for (const std::string& sentence : record.withdrawn) text += "**Withdrawn:** " + MakeOneLine(sentence) + "\n\n";
  for (const NamedEpsilon& one : record.epsilons) text += "- " + MakeOneLine(one.line) + "\n";
  return text + "\n" + MakePrintable(record.statement) + "\n";
}

std::vector<storage::Hyperparameter> MakeHyperparameters(const TrialRecord& record) {
  std::vector<storage::Hyperparameter> settings;
  for (const auto& [key, value] : record.settings) {
    const std::optional<double> number = ParseFiniteNumber(value);
    settings.push_back({key, value, number.has_value(), number.value_or(0)});
  }
  return settings;
}

// Names of one kind, by MLflow's rules. No two are alike: of those that would be, later ones get a number.
class MlflowNames {
 public:
  [[nodiscard]] std::string Add(const std::string& prefix, const std::string& name) {
    std::string fit = prefix;
    for (const char c : name) fit += IsAllowed(c) ? c : '_';
    if (fit.size() > kMaxKey - kNumberRoom) fit.resize(kMaxKey - kNumberRoom);
    std::string own = fit;
    for (int number = 2; !taken_.insert(own).second; ++number) own = fit + "." + std::to_string(number);
    return own;
  }

 private:
  static constexpr std::size_t kNumberRoom = 10;
  static bool IsAllowed(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' || c == ' ';
  }
  std::set<std::string> taken_;
};

std::int64_t Milliseconds(double seconds) { return std::llround(seconds * 1000); }

// A value of YAML; JSON is a part of it.
std::string Quoted(const std::string& text) { return DumpJson(nlohmann::ordered_json(text)); }

std::string FileUri(const std::string& path) {
  constexpr std::string_view kPlain = "/-_.~";
  std::string uri = "file://";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && std::isalnum(byte) != 0) || kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += "%" + FormatHex(std::string_view(&c, 1));
    }
  }
  return uri;
}

std::string MetricLine(double at, double value, std::int64_t step) {
  return std::to_string(Milliseconds(at)) + " " + FormatExactNumber(value) + " " + std::to_string(step) + "\n";
}

std::string DescribeRun(const TrialRecord& record, const MlflowStore& store, const std::string& experiment) {
  std::string text = "artifact_uri: " + FileUri(store.location) + "/" + experiment + "/" + record.id + "/artifacts\n";
  text += "end_time: " + std::to_string(Milliseconds(record.ended)) + "\n";
  text += "entry_point_name: ''\nexperiment_id: '" + experiment + "'\nlifecycle_stage: active\n";
  text += "run_id: '" + record.id + "'\nrun_name: " + Quoted(record.name) + "\nrun_uuid: '" + record.id + "'\n";
  text += "source_name: retort\nsource_type: " + std::to_string(kLocalSource) + "\nsource_version: ''\n";
  text += "start_time: " + std::to_string(Milliseconds(record.began)) + "\n";
  text += "status: " + std::to_string(record.succeeded ? kFinished : kFailed) + "\ntags: []\nuser_id: ''\n";
  return text;
}

std::vector<std::pair<std::string, std::string>> ListTags(const TrialRecord& record, const MlflowStore& store) {
  std::vector<std::pair<std::string, std::string>> tags = {
      {"mlflow.runName", record.name}, {"mlflow.source.name", "retort"},
      {"mlflow.source.type", "LOCAL"}, {"mlflow.note.content", PrivacyText(record)},
      {"retort.sweep", store.sweep},   {"retort.trial", record.id},
      {"retort.state", record.state},  {"retort.row_digest", record.row_digest}};
  std::string withdrawn;
  for (const std::string& sentence : record.withdrawn) withdrawn += (withdrawn.empty() ? "" : " ") + sentence;
  if (!withdrawn.empty()) tags.emplace_back("retort.withdrawn", withdrawn);
  MlflowNames names;
  for (const NamedEpsilon& one : record.epsilons) tags.emplace_back(names.Add("retort.claim.", one.name), one.line);
  return tags;
}

}  // namespace

TrackerFile MakeTensorBoardRun(const TrialRecord& record) {
  storage::EventFile file(record.began);
  file.AddHyperparameters(MakeHyperparameters(record), record.began, record.ended, record.succeeded);
  file.AddText("privacy", record.ended, PrivacyText(record));
  file.AddText("settings", record.ended, SettingsTable(record));
  for (const auto& [name, points] : record.curves)
    for (const TimedPoint& point : points) file.AddScalar("curve/" + name, point.step, point.at, point.value);
  for (const auto& [name, value] : record.metrics)
    file.AddScalar("metric/" + name, record.last_step, record.ended, value);
  for (const NamedEpsilon& one : record.epsilons)
    file.AddScalar("epsilon/" + one.name, record.last_step, record.ended, one.epsilon,
                   one.is_lower ? storage::Rounding::down : storage::Rounding::up);
  return {record.name + "/" + storage::FormatEventFileName(record.ended), std::move(file).Take()};
}

std::string MakeMlflowExperimentId(const std::string& sweep) {
  std::string digits;
  for (const std::uint8_t byte : ComputeSha256(sweep))
    if (digits.size() < kExperimentDigits) digits += static_cast<char>('0' + byte % (digits.empty() ? 9 : 10));
  digits.front() = static_cast<char>(digits.front() + 1);  // numbers of MLflow's own do not begin with a zero
  return digits;
}

TrackerFile MakeMlflowExperiment(const MlflowStore& store, double began, double ended) {
  const std::string id = MakeMlflowExperimentId(store.sweep);
  return {id + "/meta.yaml", "artifact_location: " + FileUri(store.location) + "/" + id +
                                 "\ncreation_time: " + std::to_string(Milliseconds(began)) + "\nexperiment_id: '" + id +
                                 "'\nlast_update_time: " + std::to_string(Milliseconds(ended)) +
                                 "\nlifecycle_stage: active\nname: " + Quoted(store.sweep) + "\n"};
}

std::vector<TrackerFile> MakeMlflowRun(const TrialRecord& record, const MlflowStore& store) {
  const std::string experiment = MakeMlflowExperimentId(store.sweep);
  const std::string run = experiment + "/" + record.id + "/";
  std::vector<TrackerFile> files = {{run + "meta.yaml", DescribeRun(record, store, experiment)},
                                    {run + "artifacts/claims.json", FormatDocument(MakeClaimsJson(record.claims))}};
  for (const char* folder : {"metrics/", "params/"}) files.push_back({run + folder, ""});  // it is no run without them
  MlflowNames metrics, params;
  for (const auto& [name, value] : record.metrics)
    files.push_back({run + "metrics/" + metrics.Add("", name), MetricLine(record.ended, value, record.last_step)});
  for (const auto& [name, points] : record.curves) {
    std::string lines;
    for (const TimedPoint& point : points) lines += MetricLine(point.at, point.value, point.step);
    if (!lines.empty()) files.push_back({run + "metrics/" + metrics.Add("curve/", name), std::move(lines)});
  }
  for (const NamedEpsilon& one : record.epsilons)
    files.push_back({run + "metrics/" + metrics.Add("epsilon/", one.name),
                     MetricLine(record.ended, one.epsilon, record.last_step)});
  for (const auto& [key, value] : record.settings)
    files.push_back({run + "params/" + params.Add("", key), CutEnd(MakeOneLine(value), kMaxParam)});
  for (const auto& [key, value] : ListTags(record, store)) {
    const std::string text = MakePrintable(value);
    const std::size_t end = FindCodePoint(text, kMaxTag - 1);
    files.push_back({run + "tags/" + key, end < text.size() ? text.substr(0, end) + "…" : text});
  }
  return files;
}

}  // namespace retort::orchestrator::cli
