#include "orchestrator/cli/render/audit_chart.h"

#include <fmt/format.h>

#include <utility>

#include "experiments/privacy/attack_bounds.h"

namespace retort::orchestrator::cli {
namespace {

using privacy::AuditCurve;
using privacy::AuditFinding;
using privacy::CurvePoint;

// The attack's name, without how many examples it was tried on.
std::string ShortSubject(const std::string& subject) { return subject.substr(0, subject.find(',')); }

// What has no logarithm is left out: points where nothing passes.
plot::Line MakeLine(const AuditFinding& finding, const AuditCurve& curve, std::size_t style) {
  plot::Line line;
  line.label = ShortSubject(finding.subject);
  line.style = style;
  for (const CurvePoint& point : curve.points) {
    if (point.false_positives == 0 || point.true_positives == 0) continue;
    const privacy::RateLimits limits =
        privacy::ComputeClopperPearsonLimits(point.true_positives, curve.members, finding.confidence);
    plot::Point drawn{static_cast<double>(point.false_positives) / static_cast<double>(curve.others),
                      static_cast<double>(point.true_positives) / static_cast<double>(curve.members)};
    drawn.interval = plot::Interval{limits.low, limits.high};
    line.points.push_back(std::move(drawn));
  }
  return line;
}

plot::Line MakeChance(const AuditCurve& curve, std::size_t style) {
  plot::Line line;
  line.label = "guessing";
  line.style = style;
  const double least = 1 / static_cast<double>(curve.others);
  line.points = {{least, least}, {1, 1}};
  return line;
}

}  // namespace

std::optional<plot::Chart> MakeAuditChart(const std::string& trial, const privacy::AuditReport& report) {
  plot::Panel panel;
  const AuditFinding* last = nullptr;
  for (const AuditFinding& finding : report.findings) {
    if (!finding.curve) continue;
    panel.lines.push_back(MakeLine(finding, *finding.curve, panel.lines.size()));
    last = &finding;
  }
  if (last == nullptr) return std::nullopt;
  panel.lines.push_back(MakeChance(*last->curve, panel.lines.size()));
  plot::Chart chart;
  chart.marks = plot::Marks::curves;
  chart.title = "membership inference against " + trial;
  chart.x = {"false positive rate", true, {}, {}, 1.0};
  chart.y = {"true positive rate", true, {}, {}, 1.0};
  chart.panels.push_back(std::move(panel));
  chart.caption = {
      fmt::format(
          "{} private and {} other examples. Bands: {:g} % limits of the true positive rate (Clopper and Pearson).",
          last->curve->members, last->curve->others, last->confidence * 100),
      "This comes from the private examples: keep it where they are kept."};
  chart.name = chart.title;
  chart.description = chart.title + ": true positive rate against false positive rate of each attack.";
  return chart;
}

}  // namespace retort::orchestrator::cli
