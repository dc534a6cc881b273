// A located problem of the user's input.
#pragma once

#include <string>
#include <vector>

namespace retort {

struct Diagnostic {
  std::string message;  // one sentence: what is wrong and what would be right
  std::string file;
  int line = 0, column = 0;          // 1-based, the column in code points; 0 = not located
  std::string key;                   // dotted, e.g. "trial.steps"
  std::vector<std::string> choices;  // nearest valid first
  std::string source_line;           // text of `line`, or empty
};

// Returns "file:line:column: message", the source line, a caret, and the nearest valid choice. The text is printable
// (printable.h); a message keeps its lines.
[[nodiscard]] std::string Render(const Diagnostic& diagnostic);
// Returns an array with {"message","file","line","column","key","choices"} for each error.
[[nodiscard]] std::string FormatErrorsJson(const std::vector<Diagnostic>& errors);
// Returns the candidates nearest to `word` by edit distance, best first, at most three; empty when none is near.
[[nodiscard]] std::vector<std::string> FindNearest(const std::string& word, const std::vector<std::string>& candidates);
// Returns all candidates, nearest first: for the values of a closed set.
[[nodiscard]] std::vector<std::string> SortByNearness(const std::string& word,
                                                      const std::vector<std::string>& candidates);

}  // namespace retort
