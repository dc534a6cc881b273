// Where a command writes: stdout is data, stderr is messages. Data are written as they are; what a message quotes of
// files and of the command line may hold anything, and is made printable (printable.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/diagnostic.h"
#include "experiments/base/status.h"

namespace retort::orchestrator::cli {

enum class Tint : unsigned char { none, bold, dim, red, green, yellow };

struct ConsoleOptions {
  bool json = false;   // errors become one JSON document on stdout
  bool quiet = false;  // no messages but errors
  bool color_out = false, color_err = false;
  bool live = false;        // stdout is a terminal
  std::size_t width = 110;  // columns to fit text into
};

class Console {
 public:
  using Sink = std::function<void(std::string_view)>;
  Console(Sink out, Sink err, ConsoleOptions options);

  void Data(std::string_view text) const;  // stdout, as is
  void Text(std::string_view text) const;  // stdout; for people, so that on a terminal it is fitted (text_table.h)
  [[nodiscard]] std::string Fitted(std::string_view text) const;  // what Text writes
  void Message(std::string_view text) const;  // stderr, with a line end, made printable; dropped when quiet
  // Return the exit code that goes with the error.
  [[nodiscard]] int Fail(const Status& status) const;
  [[nodiscard]] int Fail(const std::vector<Diagnostic>& errors, StatusCode code = StatusCode::usage) const;
  void Warn(const Diagnostic& warning) const;
  [[nodiscard]] std::string Paint(Tint tint, std::string_view text) const;  // for stdout
  [[nodiscard]] const ConsoleOptions& options() const { return options_; }

 private:
  Sink out_, err_;
  ConsoleOptions options_;
};

// On the process's stdout and stderr. `columns`: what the environment says of them, 0 for nothing.
[[nodiscard]] Console MakeProcessConsole(bool json, bool quiet, bool no_color, int columns);
// That the paragraphs of a help on the process's stdout have: no more than `most`, and on a terminal what it has.
[[nodiscard]] std::size_t ChooseHelpColumns(std::size_t most, int columns);

}  // namespace retort::orchestrator::cli
