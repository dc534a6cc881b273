// How long it took, on how many devices, and what energy they used where that was measured.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "orchestrator/cli/html_table.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/report_sources.h"
#include "orchestrator/cost_model.h"

namespace retort::orchestrator::cli {
namespace {

constexpr const char* kEnergy = "energy_joules";  // of an attempt, all its devices

// Of trials of one role, method and data set.
struct Times {
  int trials = 0;
  double sum = 0, least = 0, most = 0;  // seconds of wall clock
  double device_seconds = 0;
  double joules = 0;
  int metered = 0;  // trials with energy
};

using Kind = std::tuple<std::string, std::string, std::string>;

double Timing(const storage::ResultRow& row, const std::string& name, double otherwise) {
  for (const auto& [known, value] : row.timings)
    if (known == name) return value;
  return otherwise;
}

void Add(const TrialView& trial, Times& times) {
  const double seconds = Timing(*trial.row, "seconds", -1);
  if (seconds < 0) return;
  times.least = times.trials == 0 ? seconds : std::min(times.least, seconds);
  times.most = std::max(times.most, seconds);
  times.sum += seconds;
  ++times.trials;
  times.device_seconds += seconds * trial.spec.devices * Timing(*trial.row, kDeviceShare, 1);
  if (const double joules = Timing(*trial.row, kEnergy, -1); joules >= 0) {
    times.joules += joules * Timing(*trial.row, kDeviceShare, 1);
    ++times.metered;
  }
}

std::map<Kind, Times> TimesOf(const ResultsView& view) {
  std::map<Kind, Times> all;
  for (const TrialView& trial : view.trials) {
    if (!trial.row) continue;
    Add(trial, all[{trial.spec.role == Role::teacher ? "teacher" : "student", trial.spec.method,
                    trial.spec.data ? trial.spec.data->name : "–"}]);
  }
  return all;
}

HtmlTable TimesTable(const std::map<Kind, Times>& all, bool energy) {
  HtmlTable table;
  table.caption = "Wall clock of the last attempt of each trial that has ended";
  table.columns = {{"role", HtmlSort::text},         {"method", HtmlSort::text},
                   {"data", HtmlSort::text},         {"trials", HtmlSort::number, true},
                   {"mean", HtmlSort::number, true}, {"least", HtmlSort::number, true},
                   {"most", HtmlSort::number, true}, {"device-hours", HtmlSort::number, true}};
  if (energy) table.columns.push_back({"energy", HtmlSort::number, true});
  for (const auto& [kind, times] : all) {
    if (times.trials == 0) continue;
    const double hours = times.device_seconds / 3600;
    const double mean = times.sum / times.trials;
    HtmlLine line = {{std::get<0>(kind)},
                     {std::get<1>(kind)},
                     {std::get<2>(kind)},
                     NumberCell(std::to_string(times.trials), times.trials),
                     NumberCell(DurationText(mean), mean),
                     NumberCell(DurationText(times.least), times.least),
                     NumberCell(DurationText(times.most), times.most),
                     NumberCell(fmt::format("{:.3f}", hours), hours)};
    line[1].header = true;
    if (energy)
      line.push_back(
          times.metered == 0
              ? HtmlCell{"–"}
              : NumberCell(fmt::format("{:.4g} Wh of {}", times.joules / 3600, times.metered), times.joules));
    table.groups.push_back({std::move(line)});
  }
  return table;
}

Times TotalOf(const std::map<Kind, Times>& all) {
  Times total;
  for (const auto& [kind, times] : all) {
    total.trials += times.trials;
    total.joules += times.joules;
    total.metered += times.metered;
  }
  return total;
}

std::string EnergyText(const Times& total) {
  if (total.metered == 0) return "Energy: not measured, as no trial had an NVIDIA GPU whose driver tells it.";
  std::string text = fmt::format("Energy: {:.4g} Wh on the devices of {} {}, as NVML counts it", total.joules / 3600,
                                 total.metered, total.metered == 1 ? "trial" : "trials");
  if (const int others = total.trials - total.metered; others > 0)
    text += fmt::format("; of {} {} it was not measured", others, others == 1 ? "other" : "others");
  return text + ".";
}

}  // namespace

void WriteTimings(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "timings"}});
  html.Element("h2", "Timings", {{"id", "timings"}});
  const ResultsView& view = sources.view;
  const double now = view.newest_event;
  html.Paragraph(
      fmt::format("All runs together took {} of wall clock and {:.3f} device-hours, lost attempts included.",
                  DurationText(view.usage.WallSeconds(now, view.running)),
                  view.usage.DeviceSeconds(now, view.running) / 3600));
  const std::map<Kind, Times> all = TimesOf(view);
  const Times total = TotalOf(all);
  html.Paragraph(EnergyText(total));
  if (!all.empty()) WriteTable(html, TimesTable(all, total.metered > 0));
}

}  // namespace retort::orchestrator::cli
