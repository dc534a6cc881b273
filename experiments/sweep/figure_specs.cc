// [figure.NAME] tables.
#include "experiments/sweep/figure_specs.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "experiments/sweep/sweep_document.h"
#include "experiments/sweep/table_specs.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

// Returns the keys that a figure of this kind does not use.
std::vector<std::string> UnusedBy(FigureKind kind) {
  switch (kind) {
    case FigureKind::line:
      return {"count"};
    case FigureKind::bar:
      return {"count", "log_x"};
    case FigureKind::curve:
      return {"count", "published", "teachers"};
    case FigureKind::samples:
    case FigureKind::map:
      return {"y", "log_x", "log_y", "x_label", "y_label", "published", "teachers"};
  }
  return {};
}

// One figure after its table was found to hold known keys of the right types.
class FigureReader {
 public:
  FigureReader(const TomlEntry& entry, std::string path, ReadContext& context)
      : node_(entry.value), path_(std::move(path)), context_(context) {
    figure_.spec.name = entry.key;
    figure_.where = entry.where;
  }

  void Read() {
    Text("x", figure_.spec.x);
    Text("y", figure_.spec.y);
    Text("panels", figure_.spec.panels);
    Text("title", figure_.spec.title);
    Text("x_label", figure_.spec.x_label);
    Text("y_label", figure_.spec.y_label);
    Text("published", figure_.spec.published);
    Flag("log_x", figure_.spec.log_x);
    Flag("log_y", figure_.spec.log_y);
    Flag("teachers", figure_.spec.teachers);
    if (const TomlEntry* count = node_.Find("count")) figure_.spec.count = count->value.integer;
    if (const TomlEntry* series = node_.Find("series"))
      for (const TomlNode& key : series->value.items) figure_.spec.series.push_back(key.text);
    figure_.x = Where("x");
    figure_.log_x = Where("log_x");
    ReadKind();
    CheckKeys();
    if (!context_.partial) CheckWhole();
    context_.document.figures.push_back(std::move(figure_));
  }

 private:
  void Text(std::string_view name, std::string& into) const {
    if (const TomlEntry* entry = node_.Find(name)) into = entry->value.text;
  }
  void Flag(std::string_view name, bool& into) const {
    if (const TomlEntry* entry = node_.Find(name)) into = entry->value.flag;
  }
  [[nodiscard]] Position Where(std::string_view name) const {
    const TomlEntry* entry = node_.Find(name);
    return entry == nullptr ? figure_.where : entry->value.where;
  }

  void ReadKind() {
    const TomlEntry* kind = node_.Find("kind");
    if (kind == nullptr) return;
    const std::vector<std::string>& names = ListFigureKindNames();
    const auto found = std::find(names.begin(), names.end(), kind->value.text);
    if (found == names.end())
      context_.diagnostics.AddUnknown(kind->value.where, path_ + ".kind", "kind", kind->value.text, names, true);
    else
      figure_.spec.kind = static_cast<FigureKind>(found - names.begin());
  }

  void CheckKey(const TomlNode& node, const std::string& name) {
    if (FindKey(node.text, kNowhere) != nullptr) return;
    context_.diagnostics.AddUnknown(node.where, path_ + "." + name, "key", node.text, ListKeyNames(kNowhere), false);
  }

  void CheckKeys() {
    if (const TomlEntry* series = node_.Find("series"))
      for (const TomlNode& key : series->value.items) CheckKey(key, "series");
    if (const TomlEntry* panels = node_.Find("panels")) CheckKey(panels->value, "panels");
    const TomlEntry* x = node_.Find("x");
    // In an overlay the kind may stand elsewhere, and a curve's x is no key.
    if (x != nullptr && !context_.partial && figure_.spec.kind != FigureKind::curve) CheckKey(x->value, "x");
  }

  // Checks the keys together.
  void CheckWhole() {
    const FigureSpec& spec = figure_.spec;
    for (const std::string& name : UnusedBy(spec.kind)) {
      const TomlEntry* entry = node_.Find(name);
      if (entry == nullptr) continue;
      context_.diagnostics.AddError(entry->value.where, path_ + "." + name,
                                    name + " says nothing about a figure of kind \"" + GetFigureKindName(spec.kind) +
                                        "\": remove it, or choose another kind");
    }
    if (spec.kind == FigureKind::line || spec.kind == FigureKind::bar) CheckMetric();
    if (spec.name.size() > kMaxFileNameBytes)
      context_.diagnostics.AddError(figure_.where, path_, DescribeTooLongName("the name of a figure", spec.name));
    if (spec.kind == FigureKind::curve && node_.Find("y") == nullptr)
      context_.diagnostics.AddError(figure_.where, path_ + ".y",
                                    "missing " + path_ + ".y: the curve to draw, as \"train.student_loss\"");
    if (!spec.x.empty() && spec.x == spec.panels)
      context_.diagnostics.AddError(Where("panels"), path_ + ".panels",
                                    "panels and x are both \"" + spec.x + "\"; each key has one place");
  }

  void CheckMetric() {
    const TomlEntry* y = node_.Find("y");
    if (y == nullptr || y->value.text.starts_with(kAuditPrefix)) return;
    std::vector<std::string> names(kMetricNames.begin(), kMetricNames.end());
    names.insert(names.end(), kTimingNames.begin(), kTimingNames.end());
    if (std::find(names.begin(), names.end(), y->value.text) != names.end()) return;
    context_.diagnostics.AddUnknown(y->value.where, path_ + ".y", "metric", y->value.text, names, true);
  }

  const TomlNode& node_;
  std::string path_;
  ReadContext& context_;
  FigureTable figure_;
};

std::vector<std::string> AxisNames(const SweepDocument& document) {
  std::vector<std::string> names;
  for (const Axis& axis : document.axes) {
    for (const Assignments& row : axis.rows) {
      for (const Assignment& assignment : row) {
        const std::string name(assignment.key->TrialName());
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
  }
  if (document.seeds.size() > 1) names.emplace_back("seed");
  return names;
}

// Returns the value that all students to which the key applies share; nothing when they differ.
std::optional<std::string> SharedValue(const std::vector<TrialSpec>& trials, const std::string& key) {
  std::optional<std::string> shared;
  for (const TrialSpec& trial : trials) {
    if (trial.role == Role::teacher) continue;
    const std::string value = FormatKey(trial, key);
    if (value.empty()) continue;
    if (shared && *shared != value) return std::nullopt;
    shared = value;
  }
  return shared.value_or("");
}

void CheckAxis(const FigureTable& figure, const std::vector<std::string>& axes, const std::vector<TrialSpec>& trials,
               bool part, DiagnosticCollector& diagnostics) {
  const std::string& x = figure.spec.x;
  if (std::find(axes.begin(), axes.end(), x) != axes.end()) return;
  const std::optional<std::string> shared = SharedValue(trials, x);
  if (!shared) return;
  std::string message = "x = \"" + x + "\" is no axis of this sweep: ";
  message += shared->empty() ? "it applies to none of its trials" : "every trial has " + x + " = " + *shared;
  std::string list;
  for (const std::string& axis : axes) list += (list.empty() ? "" : ", ") + axis;
  message += list.empty() ? "; it has no axes" : "; its axes are " + list;
  const std::string key = "figure." + figure.spec.name + ".x";
  if (part)
    diagnostics.AddWarning(figure.x, key, std::move(message));
  else
    diagnostics.AddError(figure.x, key, std::move(message), SortByNearness(x, axes));
}

void CheckLogarithm(const FigureTable& figure, const std::vector<TrialSpec>& trials, DiagnosticCollector& diagnostics) {
  for (const TrialSpec& trial : trials) {
    if (trial.role == Role::teacher) continue;
    const std::string value = FormatKey(trial, figure.spec.x);
    double number = 1;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    if (value.empty() || parsed.ec != std::errc() || number > 0) continue;
    diagnostics.AddError(figure.log_x, "figure." + figure.spec.name + ".log_x",
                         "a logarithmic axis has no place for " + figure.spec.x + " = " + value);
    return;
  }
}

}  // namespace

const std::vector<std::string>& ListFigureKindNames() {
  static const std::vector<std::string> names = {"line", "bar", "curve", "samples", "map"};
  return names;
}

const std::string& GetFigureKindName(FigureKind kind) { return ListFigureKindNames()[static_cast<std::size_t>(kind)]; }

void ReadFigures(const TomlNode& figures, ReadContext& context) {
  for (const TomlEntry& entry : figures.entries) {
    const std::string path = context.prefix + "figure." + entry.key;
    if (entry.value.kind != TomlKind::table) {
      context.diagnostics.AddError(entry.value.where, path, path + " takes a table, not " + entry.value.Describe());
      continue;
    }
    // The name becomes that of a file.
    const bool plain = std::all_of(entry.key.begin(), entry.key.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
    if (!plain || entry.key.empty())
      context.diagnostics.AddError(entry.where, path,
                                   "a figure's name is that of its file: letters, digits, '_' and '-'");
    if (!CheckSection(entry.value, "figure.*", path, context.partial, context.diagnostics)) continue;
    FigureReader(entry, path, context).Read();
  }
}

void CheckFigures(const SweepDocument& document, const std::vector<TrialSpec>& trials, bool part,
                  DiagnosticCollector& diagnostics) {
  const std::vector<std::string> axes = AxisNames(document);
  for (const FigureTable& figure : document.figures) {
    if (figure.spec.x.empty() || figure.spec.kind == FigureKind::curve) continue;
    CheckAxis(figure, axes, trials, part, diagnostics);
    if (figure.spec.log_x) CheckLogarithm(figure, trials, diagnostics);
  }
}

}  // namespace retort
