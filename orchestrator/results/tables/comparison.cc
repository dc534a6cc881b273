#include "orchestrator/results/tables/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "experiments/methods/spec_keys.h"
#include "orchestrator/results/tables/table_lines.h"

namespace retort::orchestrator {
namespace {

using SpecsById = std::unordered_map<TrialId, const TrialSpec*>;

// What tells one published value from all others.
std::tuple<std::string, std::string, std::string, std::string, std::optional<double>, std::string, std::string> Key(
    const PublishedValue& value) {
  return {value.paper, value.table, value.dataset, value.approach, value.epsilon, value.setting, value.metric};
}

// A value is known to the last digit that is printed.
double LastDigit(const PublishedValue& value) {
  const std::size_t point = value.printed.find('.');
  const std::size_t first = point == std::string::npos ? value.printed.size() : point + 1;
  const std::size_t end = std::min(value.printed.find_first_not_of("0123456789", first), value.printed.size());
  double unit = std::pow(10.0, -static_cast<double>(end - std::min(first, end)));
  if (value.printed.ends_with('K')) unit *= 1e3;
  if (value.printed.ends_with('M')) unit *= 1e6;
  return unit;
}

void Judge(const TableEntry& entry, ComparedValue& compared) {
  const double published = compared.value.value, mean = entry.summary->mean, digit = LastDigit(compared.value);
  compared.difference = mean - published;
  if (entry.summary->ci95) {
    compared.interval = entry.summary->ci95;
    compared.interval_kind = IntervalKind::seeds;
  } else if (*entry.test) {
    compared.interval = std::pair((*entry.test)->low, (*entry.test)->high);
    compared.interval_kind = IntervalKind::test;
  } else {
    compared.interval = std::pair(mean - digit, mean + digit);
  }
  const double slack = compared.interval_kind == IntervalKind::printed ? 0 : digit / 2;
  const auto [low, high] = *compared.interval;
  compared.verdict = published + slack < low    ? Verdict::above
                     : published - slack > high ? Verdict::below
                                                : Verdict::inside;
}

std::string ExplainUnjoined(const PublishedValue& value, const SweepPlan& plan) {
  const bool has_data = std::any_of(plan.data.begin(), plan.data.end(), [&](const auto& data) {
    return data->published_as && IsSameDataSet(value.dataset, *data->published_as);
  });
  if (!FindScope(value).joins) return "no method or metric of this program is what the value is of";
  if (!has_data) return "the sweep has no data set that is published as " + value.dataset;
  return "no trial of the sweep has the value's settings and ε";
}

// Why the trial cannot run here; empty where it can.
std::string FindLack(const TrialSpec& spec, const AbsentFiles& absent) {
  const auto data = spec.data ? absent.data.find(spec.data->name) : absent.data.end();
  if (data != absent.data.end()) return data->second;
  const auto teacher = absent.teachers.find(spec.teacher);
  return teacher != absent.teachers.end() ? teacher->second : "";
}

ComparedValue Compare(const TableEntry& entry, const SweepPlan& plan, const SpecsById& specs,
                      const AbsentFiles& absent) {
  ComparedValue compared;
  compared.value = **entry.source;
  compared.keys = entry.keys;
  compared.summary = *entry.summary;
  compared.smoke = entry.smoke;
  if (entry.state == CellState::quoted) {
    compared.reason = ExplainUnjoined(compared.value, plan);
    return compared;
  }
  compared.role = entry.role;
  const TrialSpec& spec = *specs.at(entry.trials->front());
  if (spec.role == Role::student) compared.reading = FormatKey(spec, "reading");
  if (entry.summary->n > 0) {
    Judge(entry, compared);
    return compared;
  }
  compared.reason = FindLack(spec, absent);
  compared.verdict = compared.reason.empty() ? Verdict::not_measured : Verdict::not_measurable;
  if (!compared.reason.empty()) return compared;
  compared.reason =
      entry.failed > 0 ? FormatSeeds(*entry.summary, entry.planned, entry.failed) : "no trial of it has ended";
  return compared;
}

// Best first: the verdict; of what is measured and outside, the nearest.
std::pair<int, double> Rank(const ComparedValue& compared) {
  const Verdict verdict = compared.smoke && IsMeasured(compared.verdict) ? Verdict::not_measured : compared.verdict;
  const bool outside = verdict == Verdict::above || verdict == Verdict::below;
  return {outside ? static_cast<int>(Verdict::above) : static_cast<int>(verdict),
          outside ? std::abs(compared.difference.value_or(0)) : 0};
}

void CountValue(const std::vector<const ComparedValue*>& of_value, PaperCount& count) {
  ++count.values;
  std::map<std::string, const ComparedValue*> best_of_reading;
  const ComparedValue* best = nullptr;
  for (const ComparedValue* one : of_value) {
    if (best == nullptr || Rank(*one) < Rank(*best)) best = one;
    if (!IsMeasured(one->verdict) || one->smoke || one->reading.empty()) continue;
    const ComparedValue*& known = best_of_reading[one->reading];
    if (known == nullptr || Rank(*one) < Rank(*known)) known = one;
  }
  const bool rehearsed = best != nullptr && best->smoke && IsMeasured(best->verdict);
  const Verdict verdict = best == nullptr ? Verdict::not_measurable : rehearsed ? Verdict::not_measured : best->verdict;
  ++count.verdicts[static_cast<std::size_t>(verdict)];
  for (const auto& [reading, one] : best_of_reading) {
    std::vector<int>& verdicts = count.by_reading.try_emplace(reading, kVerdicts).first->second;
    ++verdicts[static_cast<std::size_t>(one->verdict)];
  }
}

}  // namespace

std::string_view GetVerdictName(Verdict verdict) {
  constexpr std::array<std::string_view, kVerdicts> kNames = {"inside", "above", "below", "not measured",
                                                              "not measurable here"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view GetIntervalKindName(IntervalKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"seeds", "test", "printed"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<ComparedValue> CompareTable(const SweepPlan& plan, const ResultTable& table,
                                        const std::vector<PublishedValue>& published, const AbsentFiles& absent) {
  SpecsById specs;
  for (const TrialSpec& spec : plan.trials) specs.emplace(spec.id, &spec);
  std::vector<ComparedValue> compared;
  for (const TableEntry& entry : ListEntries(table))
    if (entry.source->has_value()) compared.push_back(Compare(entry, plan, specs, absent));
  for (const PublishedValue& value : published) {
    const bool shown = std::any_of(compared.begin(), compared.end(),
                                   [&](const ComparedValue& one) { return Key(one.value) == Key(value); });
    if (shown) continue;
    ComparedValue alone;
    alone.value = value;
    alone.reason = ExplainUnjoined(value, plan);
    compared.push_back(std::move(alone));
  }
  for (ComparedValue& one : compared) {
    one.sweep = table.sweep;
    one.table = table.spec.name;
  }
  return compared;
}

std::vector<PaperCount> CountByPaper(const std::vector<PublishedValue>& all,
                                     const std::vector<ComparedValue>& compared) {
  std::map<decltype(Key(all.front())), std::vector<const ComparedValue*>> by_value;
  for (const ComparedValue& one : compared) by_value[Key(one.value)].push_back(&one);
  std::vector<PaperCount> counts;
  for (const PublishedValue& value : all) {
    auto count =
        std::find_if(counts.begin(), counts.end(), [&](const PaperCount& one) { return one.paper == value.paper; });
    if (count == counts.end()) {
      counts.emplace_back().paper = value.paper;
      count = counts.end() - 1;
    }
    CountValue(by_value[Key(value)], *count);
  }
  return counts;
}

}  // namespace retort::orchestrator
