// Collects what is wrong with a sweep, all of it, each problem once.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "experiments/base/diagnostic.h"
#include "experiments/sweep/toml_tree.h"

namespace retort {

class DiagnosticCollector {
 public:
  // `sources` outlives the object.
  explicit DiagnosticCollector(const SourceTexts* sources) : sources_(sources) {}

  void AddError(Position where, std::string key, std::string message, std::vector<std::string> choices = {});
  void AddWarning(Position where, std::string key, std::string message);
  void Add(Diagnostic error);
  // `unknown WHAT "word" PLACE; did you mean "nearest"?`, with the choices nearest first. `closed` lists all
  // of them; otherwise only near ones, if there are any.
  void AddUnknown(Position where, std::string key, const std::string& what, const std::string& word,
                  const std::vector<std::string>& candidates, bool closed, const std::string& place = "");

  [[nodiscard]] bool HasErrorAt(Position where) const;
  [[nodiscard]] bool clean() const { return errors_.empty(); }
  // In the order of the texts.
  [[nodiscard]] std::vector<Diagnostic> TakeErrors();
  [[nodiscard]] std::vector<Diagnostic> TakeWarnings();

 private:
  struct Located {
    Position where;
    Diagnostic diagnostic;
  };
  void Keep(std::vector<Located>& list, Position where, Diagnostic diagnostic);
  [[nodiscard]] static std::vector<Diagnostic> Sorted(std::vector<Located> list);

  const SourceTexts* sources_;
  std::vector<Located> errors_, warnings_;
  std::set<std::string> seen_;
};

}  // namespace retort
