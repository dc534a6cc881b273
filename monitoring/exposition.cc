#include <charconv>
#include <cmath>
#include <cstdio>

#include "monitoring/exporter.h"

namespace retort::monitoring {
namespace {

void AppendNumber(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char digits[32];
    const bool whole = value == std::trunc(value) && std::abs(value) < 1e15;  // most are counts
    const auto end = whole ? std::to_chars(digits, digits + sizeof(digits), static_cast<std::int64_t>(value))
                           : std::to_chars(digits, digits + sizeof(digits), value);
    out.append(digits, end.ptr);
  }
}

void AppendEscaped(std::string& out, std::string_view text) {
  if (text.find_first_of("\\\"\n") == std::string_view::npos) {
    out += text;
    return;
  }
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

// `sweep`: the label of every sample, as text: sweep="NAME"; or empty.
void AppendSample(std::string& out, const MetricFamily& family, const std::string& sweep,
                  const MetricValues::Labels& labels, double value) {
  out += family.name;
  const bool labelled = !sweep.empty() || !labels.empty();
  if (labelled) out.append("{").append(sweep);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i > 0 || !sweep.empty()) out += ',';
    out += family.labels[i].name;
    out += "=\"";
    AppendEscaped(out, labels[i]);
    out += '"';
  }
  out += labelled ? "} " : " ";
  AppendNumber(out, value);
  out += '\n';
}

// Each bucket counts what is at most its bound.
void AppendDistribution(std::string& out, const MetricFamily& family, const std::string& sweep,
                        const Histogram& distribution) {
  const std::string name(family.name), labels = sweep.empty() ? "" : "{" + sweep + "}";
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < distribution.counts().size(); ++i) {
    out += name + "_bucket{" + sweep + (sweep.empty() ? "le=\"" : ",le=\"");
    AppendNumber(out, i < distribution.bounds().size() ? distribution.bounds()[i] : INFINITY);
    below += distribution.counts()[i];
    out += "\"} " + std::to_string(below) + "\n";
  }
  out += name + "_sum" + labels + " ";
  AppendNumber(out, distribution.sum());
  out += "\n" + name + "_count" + labels + " " + std::to_string(below) + "\n";
}

std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') quoted += '\\';
    if (byte >= 0x20) {
      quoted += c;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(byte));
    quoted += escape;
  }
  return quoted + "\"";
}

}  // namespace

std::string ExpositionText(const MetricValues& values, std::string_view sweep) {
  std::string text, label;
  if (!sweep.empty()) {
    label = "sweep=\"";
    AppendEscaped(label, sweep);
    label += '"';
  }
  std::size_t samples = 0;
  for (const MetricFamily& family : MetricCatalogue()) samples += values.Series(family.metric).size();
  text.reserve(16'384 + 96 * samples);
  for (const MetricFamily& family : MetricCatalogue()) {
    const bool distributed = family.type == MetricType::histogram;
    if (!distributed && values.Series(family.metric).empty()) continue;
    text.append("# HELP ").append(family.name).append(" ").append(family.help);
    text.append("\n# TYPE ").append(family.name).append(" ").append(MetricTypeName(family.type)).append("\n");
    if (distributed) AppendDistribution(text, family, label, values.Distribution(family.metric));
    for (const auto& [labels, value] : values.Series(family.metric)) AppendSample(text, family, label, labels, value);
  }
  return text;
}

std::string TargetsJson(std::string_view address, std::string_view sweep, std::string_view run, bool encrypted) {
  return "[{\"targets\": [" + JsonString(address) + "], \"labels\": {\"sweep\": " + JsonString(sweep) +
         (run.empty() ? "" : ", \"__param_run\": " + JsonString(run)) +
         (encrypted ? ", \"__scheme__\": \"https\"" : "") + "}}]\n";
}

}  // namespace retort::monitoring
