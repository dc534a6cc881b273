#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "experiments/spec/data_readers.h"
#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/named_data.h"
#include "storage/data/data_check.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;

ordered_json ReportJson(const DataSpec& data, const storage::DataReport& report) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["reader"] = data.reader;
  document["path"] = data.path;
  document["target"] = data.target;
  document["version"] = data.version;
  document["examples"] = report.examples;
  document["classes"] = ordered_json::array();
  for (std::size_t i = 0; i < report.class_counts.size(); ++i)
    document["classes"].push_back({{"name", report.class_names[i]}, {"count", report.class_counts[i]}});
  document["parts"] = ordered_json::array();
  for (const storage::DataPart& part : report.parts)
    document["parts"].push_back({{"name", part.name}, {"begin", part.begin}, {"end", part.end}});
  document["channels"] = report.channels;
  document["height"] = report.height;
  document["width"] = report.width;
  document["encoded"] = report.encoded;
  document["digest"] = report.digests.content;
  document["examples_digest"] = report.digests.examples;
  DataSpec shaped = data;
  shaped.channels = report.channels;
  const PixelScale scale = PixelScaleOf(shaped);
  document["mean"] = scale.mean;
  document["std"] = scale.std;
  document["sources"] = report.sources;
  document["known_files"] = ordered_json::array();
  for (const storage::FoundFile& file : report.known) {
    document["known_files"].push_back({{"path", file.path}, {"size", file.size}, {"md5", file.md5}});
    document["known_files"].back()["as_published"] =
        file.as_published.empty() ? ordered_json() : ordered_json(file.as_published);
  }
  document["findings"] = report.findings;
  document["warnings"] = report.warnings;
  document["damaged"] = report.damaged;
  document["sound"] = report.damaged_in_all == 0;
  return document;
}

std::string ClassesText(const storage::DataReport& report) {
  const auto& counts = report.class_counts;
  std::string text = fmt::format("{} classes, {} to {} examples each\n", counts.size(),
                                 *std::min_element(counts.begin(), counts.end()),
                                 *std::max_element(counts.begin(), counts.end()));
  constexpr std::size_t kMostShown = 20;
  for (std::size_t i = 0; i < counts.size() && i < kMostShown; ++i)
    text += fmt::format("  {:>5}  {:<24} {:>9}\n", i, report.class_names[i], counts[i]);
  if (counts.size() > kMostShown)
    text += fmt::format("  and {} more (--json lists all)\n", counts.size() - kMostShown);
  return text;
}

std::string ReportText(const DataSpec& data, const storage::DataReport& report) {
  std::string text =
      fmt::format("{}: {}, {} examples, {}{} x {} pixels, {} channel{}\n", data.path, data.reader,
                  report.examples, report.encoded ? "the first of " : "", report.height, report.width,
                  report.channels, report.channels == 1 ? "" : "s");
  for (const storage::DataPart& part : report.parts)
    text +=
        fmt::format("  {:<12} {:>9} examples, {} to {}\n", part.name, part.size(), part.begin, part.end - 1);
  text += ClassesText(report);
  text += "digest   " + report.digests.content + "\nexamples " + report.digests.examples + "\n";
  for (const storage::FoundFile& file : report.known)
    text += fmt::format("{}: {} bytes, MD5 {}: {}\n", file.path, file.size, file.md5,
                        file.as_published.empty() ? "differs from what is published under this name"
                                                  : "as published (" + file.as_published + ")");
  for (const std::string& warning : report.warnings) text += "warning: " + warning + "\n";
  for (const std::string& finding : report.findings) text += "note: " + finding + "\n";
  for (const std::string& damage : report.damaged) text += "damaged: " + damage + "\n";
  if (report.damaged_in_all > report.damaged.size())
    text += fmt::format("and {} more are damaged\n", report.damaged_in_all - report.damaged.size());
  return text;
}

}  // namespace

int DataCheckCommand(const Invocation& call) {
  const std::variant<DataSpec, Diagnostic> named = NamedData(call.line);
  if (const auto* error = std::get_if<Diagnostic>(&named)) return call.console.Fail({*error});
  const auto& data = std::get<DataSpec>(named);
  const Result<storage::DataReport> report =
      storage::CheckData(call.env, data, storage::ProcessDigestCache());
  if (!report.ok()) return call.console.Fail(report.status());
  call.console.Text(call.line.global.json ? DocumentText(ReportJson(data, *report))
                                          : ReportText(data, *report));
  return report->damaged_in_all == 0 ? 0 : ExitCode(StatusCode::damage);
}

}  // namespace retort::orchestrator::cli
