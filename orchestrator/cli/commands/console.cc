#include "orchestrator/cli/commands/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "experiments/base/printable.h"
#include "orchestrator/cli/render/text_table.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kTextWidth = 110;
constexpr std::size_t kMinWidth = 30;
constexpr std::string_view kPlain = "\x1b[0m";

std::string_view Escape(Tint tint) {
  switch (tint) {
    case Tint::none:
      return "";
    case Tint::bold:
      return "\x1b[1m";
    case Tint::dim:
      return "\x1b[2m";
    case Tint::red:
      return "\x1b[31m";
    case Tint::green:
      return "\x1b[32m";
    case Tint::yellow:
      return "\x1b[33m";
  }
  return "";
}

// What may stand on a terminal, in the tints that commands paint with: names and texts of files that others made are in
// it.
std::string Shown(bool color, std::string_view text) {
  if (!color) return MakePrintable(text);
  std::string shown;
  std::size_t done = 0;
  for (std::size_t at = text.find('\x1b'); at != std::string_view::npos; at = text.find('\x1b', at + 1)) {
    for (const std::string_view tint : {Escape(Tint::bold), Escape(Tint::dim), Escape(Tint::red), Escape(Tint::green),
                                        Escape(Tint::yellow), kPlain}) {
      if (!text.substr(at).starts_with(tint)) continue;
      shown += MakePrintable(text.substr(done, at - done));
      shown += tint;
      done = at + tint.size();
    }
  }
  return shown + MakePrintable(text.substr(done));
}

std::string Painted(bool color, Tint tint, std::string_view text) {
  if (!color || tint == Tint::none) return std::string(text);
  return std::string(Escape(tint)) + std::string(text) + std::string(kPlain);
}

void Write(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

std::size_t TerminalWidth(int columns) {
  if (columns > 0) return std::max(static_cast<std::size_t>(columns), kMinWidth);
  winsize size{};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<std::size_t>(size.ws_col, kMinWidth);
  return kTextWidth;
}

}  // namespace

Console::Console(Sink out, Sink err, ConsoleOptions options)
    : out_(std::move(out)), err_(std::move(err)), options_(options) {}

void Console::Data(std::string_view text) const { out_(text); }

void Console::Text(std::string_view text) const {
  out_(options_.json ? std::string(text) : Fitted(Shown(options_.color_out, text)));
}

std::string Console::Fitted(std::string_view text) const {
  return options_.live && !options_.json ? FitText(text, options_.width) : std::string(text);
}

void Console::Message(std::string_view text) const {
  if (!options_.quiet) err_(MakePrintable(text) + "\n");
}

int Console::Fail(const Status& status) const {
  if (options_.json) {
    Diagnostic diagnostic;
    diagnostic.message = status.message();
    diagnostic.choices = status.choices();
    out_(FormatErrorsJson({diagnostic}) + "\n");
  } else {
    err_(Painted(options_.color_err, Tint::red, "error:") + " " + MakePrintable(status.message()) + "\n");
  }
  return GetExitCode(status.code());
}

int Console::Fail(const std::vector<Diagnostic>& errors, StatusCode code) const {
  if (options_.json) {
    out_(FormatErrorsJson(errors) + "\n");
    return GetExitCode(code);
  }
  for (const Diagnostic& error : errors) {
    std::string text = Render(error);
    if (!text.ends_with('\n')) text += '\n';
    err_(Painted(options_.color_err, Tint::red, "error:") + " " + text);
  }
  return GetExitCode(code);
}

void Console::Warn(const Diagnostic& warning) const {
  if (options_.quiet) return;
  std::string text = Render(warning);
  if (!text.ends_with('\n')) text += '\n';
  err_(Painted(options_.color_err, Tint::yellow, "warning:") + " " + text);
}

std::string Console::Paint(Tint tint, std::string_view text) const { return Painted(options_.color_out, tint, text); }

Console MakeProcessConsole(bool json, bool quiet, bool no_color, int columns) {
  ConsoleOptions options;
  options.json = json;
  options.quiet = quiet;
  options.live = isatty(STDOUT_FILENO) == 1;
  options.color_out = !no_color && options.live;
  options.color_err = !no_color && isatty(STDERR_FILENO) == 1;
  options.width = TerminalWidth(columns);
  return {[](std::string_view text) { Write(stdout, text); }, [](std::string_view text) { Write(stderr, text); },
          options};
}

std::size_t ChooseHelpColumns(std::size_t most, int columns) {
  return isatty(STDOUT_FILENO) == 1 ? std::min(most, TerminalWidth(columns)) : most;
}

}  // namespace retort::orchestrator::cli
