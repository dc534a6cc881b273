// What a figure of a sweep shows: one [figure.NAME] of the sweep file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace retort {

class DiagnosticCollector;
struct ReadContext;
struct SweepDocument;
struct TomlNode;
struct TrialSpec;

enum class FigureKind : std::uint8_t {
  line,     // a metric against a key, one line a series
  bar,      // the same as bars, for keys without an order
  curve,    // what was recorded while the trials ran, one line a series
  samples,  // synthetic samples of the trials, one panel each
  map,      // those samples among images of their data set in a t-SNE map, one panel each
};

struct FigureSpec {
  std::string name;
  FigureKind kind = FigureKind::line;
  std::string x;                    // key of the trials, empty = the first axis that fits; of curves: "step" or a curve
  std::string y = "test.accuracy";  // metric, timing or figure of an audit; of curves: a curve
  std::vector<std::string> series;  // keys that tell lines apart
  std::string panels;               // key that makes small multiples; empty = one panel
  bool log_x = false, log_y = false;
  std::string title, x_label, y_label;  // empty = from the keys
  std::string published;                // "dpdfd-ijcai23/table1" or empty
  bool teachers = false;                // with a line at what each teacher reaches
  std::int64_t count = 36;              // of samples: images a panel; of a map: at most so many of each kind
};

// Whether a figure of this kind shows images of single trials, each in a panel of its own, and no metric.
[[nodiscard]] constexpr bool ShowsImages(FigureKind kind) {
  return kind == FigureKind::samples || kind == FigureKind::map;
}

// "line", "bar", "curve", "samples", "map", in this order.
[[nodiscard]] const std::vector<std::string>& ListFigureKindNames();
[[nodiscard]] const std::string& GetFigureKindName(FigureKind kind);

// Reads [figure.NAME] into the document of `context`.
void ReadFigures(const TomlNode& figures, ReadContext& context);

// Checks figures against the planned trials. `part`: a profile is laid over the sweep and may leave axes out, so that a
// figure without its axis is a warning.
void CheckFigures(const SweepDocument& document, const std::vector<TrialSpec>& trials, bool part,
                  DiagnosticCollector& diagnostics);

}  // namespace retort
