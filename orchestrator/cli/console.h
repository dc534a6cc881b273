// Where a command writes: stdout is data, stderr is messages.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/diagnostic.h"
#include "experiments/spec/status.h"

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

  void Data(std::string_view text) const;     // stdout, as is
  void Message(std::string_view text) const;  // stderr, one line; dropped when quiet
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

// On the process's stdout and stderr.
[[nodiscard]] Console ProcessConsole(bool json, bool quiet, bool no_color, int columns);

}  // namespace retort::orchestrator::cli
