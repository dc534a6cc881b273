#include "experiments/sweep/diagnostic_collector.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace retort {

void DiagnosticCollector::Keep(std::vector<Located>& list, Position where, Diagnostic diagnostic) {
  const std::string mark = std::to_string(where.source) + ":" + std::to_string(where.line) + ":" +
                           std::to_string(where.column) + ":" + diagnostic.message;
  if (seen_.insert(mark).second) list.push_back({where, std::move(diagnostic)});
}

void DiagnosticCollector::AddError(Position where, std::string key, std::string message,
                                   std::vector<std::string> choices) {
  Keep(errors_, where, sources_->At(where, std::move(key), std::move(message), std::move(choices)));
}

void DiagnosticCollector::AddWarning(Position where, std::string key, std::string message) {
  Keep(warnings_, where, sources_->At(where, std::move(key), std::move(message)));
}

void DiagnosticCollector::Add(Diagnostic error) {
  const Position where{0, error.line, error.column};
  Keep(errors_, where, std::move(error));
}

void DiagnosticCollector::AddUnknown(Position where, std::string key, const std::string& what, const std::string& word,
                                     const std::vector<std::string>& candidates, bool closed,
                                     const std::string& place) {
  std::vector<std::string> nearest = FindNearest(word, candidates);
  std::string message = "unknown " + what + " \"" + word + "\"" + (place.empty() ? "" : " " + place);
  if (!nearest.empty()) message += "; did you mean \"" + nearest.front() + "\"?";
  AddError(where, std::move(key), std::move(message), closed ? SortByNearness(word, candidates) : std::move(nearest));
}

bool DiagnosticCollector::HasErrorAt(Position where) const {
  return std::any_of(errors_.begin(), errors_.end(), [where](const Located& error) { return error.where == where; });
}

std::vector<Diagnostic> DiagnosticCollector::Sorted(std::vector<Located> list) {
  std::stable_sort(list.begin(), list.end(), [](const Located& a, const Located& b) {
    return std::tie(a.where.source, a.where.line, a.where.column) <
           std::tie(b.where.source, b.where.line, b.where.column);
  });
  std::vector<Diagnostic> out;
  out.reserve(list.size());
  for (Located& located : list) out.push_back(std::move(located.diagnostic));
  return out;
}

std::vector<Diagnostic> DiagnosticCollector::TakeErrors() { return Sorted(std::exchange(errors_, {})); }
std::vector<Diagnostic> DiagnosticCollector::TakeWarnings() { return Sorted(std::exchange(warnings_, {})); }

}  // namespace retort
