#include "orchestrator/screen/live_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"
#include "orchestrator/reactor/admission.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kMinName = 10;  // columns

// A group of lines, of which some may be left out.
struct Section {
  std::vector<BlockLine> lines;
  std::string what;  // "more running": of those without room
  std::size_t shown = 0;
};

std::string Shortened(const NamedText& text, std::size_t width) {
  const std::size_t rest = CountColumns(text.before) + CountColumns(text.after);
  const std::size_t least = std::max(kMinName, width / 3);
  const std::size_t room = rest + least < width ? width - rest : least;
  return CutEnd(text.before + CutMiddle(text.name, room) + text.after, width);
}

std::string RateText(double steps_per_second) {
  if (steps_per_second <= 0) return "";
  if (steps_per_second >= 100) return fmt::format("{:.0f}/s", steps_per_second);
  if (steps_per_second >= 1) return fmt::format("{:.1f}/s", steps_per_second);
  return fmt::format("{:.2g}/s", steps_per_second);
}

std::string PerHourText(double trials) {
  return trials < 100 ? fmt::format("{:.2g} trials/h", trials) : fmt::format("{:.0f} trials/h", trials);
}

std::string StepsText(const RunningTrial& trial) {
  return trial.total_steps > 0 ? fmt::format("{}/{}", trial.step, trial.total_steps) : "";
}

std::string Padded(const std::string& text, std::size_t width, bool left) {
  const std::string space(width - std::min(width, CountColumns(text)), ' ');
  return left ? text + space : space + text;
}

std::size_t Widest(const std::vector<RunningTrial>& running,
                   const std::function<std::string(const RunningTrial&)>& text) {
  std::size_t width = 0;
  for (const RunningTrial& trial : running) width = std::max(width, CountColumns(text(trial)));
  return width;
}

std::size_t BarCells(std::size_t width) { return std::clamp<std::size_t>(width / 5, 4, 20); }

// Of the trials that may be shown: the columns are as wide as these need.
std::vector<BlockLine> RunningLines(std::vector<RunningTrial> running, std::size_t width) {
  if (running.size() > kMaxBlockLines) running.resize(kMaxBlockLines);
  const auto name = [](const RunningTrial& trial) { return trial.name; };
  const auto phase = [width](const RunningTrial& trial) { return CutEnd(trial.phase, width < 60 ? 8 : 24); };
  const auto rate = [](const RunningTrial& trial) { return RateText(trial.steps_per_second); };
  const std::size_t steps = Widest(running, StepsText), rates = Widest(running, rate);
  const std::size_t cells = BarCells(width) - (width < 60 ? 2 : 0);
  std::size_t phases = Widest(running, phase), rest = phases + steps + rates + cells + 4;
  if (rest + kMinName > width) rest -= std::exchange(phases, 0) + 1;
  const std::size_t names = std::min(Widest(running, name), rest + kMinName < width ? width - rest : kMinName);
  std::vector<BlockLine> lines;
  for (const RunningTrial& trial : running) {
    std::string line = Padded(CutMiddle(trial.name, names), names, true) + " ";
    if (phases > 0) line += Padded(phase(trial), phases, true) + " ";
    line += Padded(StepsText(trial), steps, false) + " " +
            DrawBar(ComputeFractionDone(trial.step, trial.total_steps), cells);
    lines.push_back({CutEnd(line + " " + Padded(rate(trial), rates, false), width)});
  }
  return lines;
}

std::string CountsText(const Tally& tally, std::size_t width) {
  std::string text =
      DrawBar(ComputeFractionDone(static_cast<std::int64_t>(tally.done), static_cast<std::int64_t>(tally.trials)),
              BarCells(width));
  text += fmt::format(" {}/{} done", tally.done, tally.trials);
  const auto add = [&text](std::size_t count, const char* what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(tally.failed, "failed");
  add(tally.running, "running");
  add(tally.queued, "queued");
  add(tally.waiting, "waiting");
  add(tally.not_run, "not run");
  add(tally.cancelled, "cancelled");
  return text;
}

std::string IntervalText(const Interval& seconds) {
  if (seconds.low == seconds.high) return "";
  std::string low = FormatRoughDuration(seconds.low);
  const std::string high = FormatRoughDuration(seconds.high);
  const std::size_t unit = low.find(' ');
  if (low.substr(unit) == high.substr(high.find(' '))) low.resize(unit);
  return fmt::format(" ({} to {})", low, high);
}

std::string PaceText(const BlockContent& content) {
  std::string text;
  if (content.stopping)
    text = "stopping";
  else if (content.left)
    text = fmt::format("~{} left{}", FormatRoughDuration(content.left->mean), IntervalText(*content.left));
  else if (content.tally.done < content.tally.trials)
    text = "time left not known yet";
  if (content.trials_per_hour > 0) text += (text.empty() ? "" : ", ") + PerHourText(content.trials_per_hour);
  return text;
}

std::vector<Section> MakeSections(const BlockContent& content, std::size_t width) {
  std::vector<Section> sections(6);
  for (const NamedText& problem : content.problems) sections[0].lines.push_back({Shortened(problem, width), true});
  sections[0].what = "more problems";
  sections[1].lines = RunningLines(content.running, width);
  sections[1].what = "more running";
  sections[2].lines.push_back({CutEnd(CountsText(content.tally, width), width)});
  if (const std::string pace = PaceText(content); !pace.empty()) sections[3].lines.push_back({CutEnd(pace, width)});
  for (const DataSpending& spent : content.spent)
    sections[4].lines.push_back({Shortened(FormatSpending(spent), width)});
  sections[4].what = "more data sets";
  if (content.next) sections[5].lines.push_back({Shortened(*content.next, width)});
  return sections;
}

// Gives lines to the most important groups first.
void ShareOut(std::size_t room, std::vector<Section>& sections) {
  constexpr std::size_t kAll = kMaxBlockLines;
  constexpr std::pair<std::size_t, std::size_t> kRounds[] = {{0, 1}, {2, 1}, {1, 1},    {3, 1},    {5, 1},   {4, 1},
                                                             {0, 3}, {4, 2}, {1, kAll}, {4, kAll}, {0, kAll}};
  for (const auto& [section, lines] : kRounds) {
    Section& one = sections[section];
    const std::size_t wanted = std::min(lines, one.lines.size());
    const std::size_t more = std::min(room, wanted - std::min(wanted, one.shown));
    one.shown += more;
    room -= more;
  }
}

}  // namespace

std::vector<BlockLine> LayOutBlock(const BlockContent& content, const Screen& screen) {
  // The last column stays free: a full line would make some terminals wrap.
  const std::size_t width = std::max<std::size_t>(screen.width, 2) - 1;
  const std::size_t room = std::clamp<std::size_t>(std::max<std::size_t>(screen.height, 1) - 1, 1, kMaxBlockLines);
  std::vector<Section> sections = MakeSections(content, width);
  ShareOut(room, sections);
  const std::size_t in_all[] = {content.problems.size(), content.running.size(), 1, 1, content.spent.size(), 1};
  std::vector<BlockLine> lines;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Section& section = sections[i];
    const std::size_t hidden = in_all[i] - std::min(in_all[i], section.shown);
    if (section.shown > 1 && hidden > 0)
      section.lines[section.shown - 1].text = CutEnd(fmt::format("and {} {}", hidden + 1, section.what), width);
    lines.insert(lines.end(), section.lines.begin(),
                 section.lines.begin() + static_cast<std::ptrdiff_t>(section.shown));
  }
  for (BlockLine& line : lines) {
    line.text = CutEnd(MakeOneLine(line.text), width);
    line.text.erase(line.text.find_last_not_of(' ') + 1);
    if (!screen.utf8) line.text = ConvertToAscii(CutEnd(ConvertToAscii(line.text), width));
  }
  return lines;
}

NamedText FormatSpending(const DataSpending& spent) {
  if (!std::isfinite(spent.root_epsilon))
    return {"", spent.data, fmt::format(": example ε unbounded ({})", spent.root_reason)};
  std::string delta = fmt::format("{:g}", spent.delta);
  if (const std::size_t padded = delta.find("e-0"); padded != std::string::npos) delta.erase(padded + 2, 1);
  const std::string cap = spent.budget ? fmt::format(" of {:g}", spent.budget->epsilon) : "";
  return {
      "", spent.data,
      fmt::format(": example ε ≤ {:.3f}{}, δ {}{}", spent.root_epsilon, cap, delta, spent.budget ? "" : ", no budget")};
}

NamedText FormatNextEvent(double seconds, std::string name, const std::string& what) {
  return {fmt::format("next, in ~{}: ", FormatRoughDuration(seconds)), std::move(name), " " + what};
}

}  // namespace retort::orchestrator
