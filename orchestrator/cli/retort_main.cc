// The user's program. Reads the environment and the command line once and runs one command.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cluster/launch_environment.h"
#include "orchestrator/cli/commands/command_line.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/console.h"
#include "orchestrator/process/environment.h"
#include "storage/files/env.h"
#include "storage/files/file_modes.h"

namespace {

int Columns(const std::string& text) {
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  return error == std::errc() && end == text.data() + text.size() && columns > 0 ? columns : 0;
}

// A file that is opened later must not become stdout or stderr, which others write to.
void FillStandardDescriptors() {
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) ::close(fd);
}

// Those of the others that name no file work without.
bool NeedsFolder(const std::string& command) {
  for (const std::string_view without : {"version", "schema", "completion", "man", "metrics", "epsilon", "calibrate"})
    if (command == without || command.starts_with(std::string(without) + " ")) return false;
  return true;
}

// A folder that was removed while somebody was in it has no path, and nothing can be created in it.
bool FolderIsGone() {
  std::error_code error;
  (void)std::filesystem::current_path(error);
  return static_cast<bool>(error);
}

// Figures are written with the font that comes with the program, besides those of the system.
void ShowShippedFonts() {
  const std::string shared = retort::orchestrator::FindSharedFolder(), fonts = shared + "/fonts/fonts.conf";
  if (!shared.empty() && ::access(fonts.c_str(), R_OK) == 0)
    ::setenv("FONTCONFIG_FILE", fonts.c_str(), /*overwrite=*/0);
}

// `code`, unless stdout lacks a part of what was written.
int Ended(int code) {
  if (std::ferror(stdout) == 0) return code;
  std::fputs("error: stdout cannot be written (is its disk full?)\n", stderr);
  return code == 0 ? retort::GetExitCode(retort::StatusCode::environment) : code;
}

}  // namespace

int main(int argc, char** argv) {
  FillStandardDescriptors();
  ShowShippedFonts();
  namespace cli = retort::orchestrator::cli;
  const std::vector<std::string> environment = retort::orchestrator::ReadProcessEnvironment();
  const auto variable = [&](const char* name) { return retort::cluster::FindVariable(environment, name).value_or(""); };
  const int columns = Columns(variable("COLUMNS"));
  const cli::ParsedCommandLine parsed = cli::ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc),
                                                              cli::ChooseHelpColumns(cli::kHelpColumns, columns));
  cli::GlobalOptions global;
  global.json = parsed.json;
  if (parsed.command) global = parsed.command->global;
  const bool no_color = global.no_color || !variable("NO_COLOR").empty() || variable("TERM") == "dumb";
  const cli::Console console = cli::MakeProcessConsole(global.json, global.quiet, no_color, columns);
  if (!parsed.errors.empty()) {
    // Under mpirun every rank sees the same mistake; one says so.
    const bool speaks = retort::orchestrator::IsWorldRankZero(environment);
    return speaks ? console.Fail(parsed.errors) : retort::GetExitCode(retort::StatusCode::usage);
  }
  if (!parsed.command) {
    console.Text(parsed.text);
    return Ended(0);
  }
  if (NeedsFolder(parsed.command->command) && FolderIsGone())
    return console.Fail(
        retort::EnvironmentError("the working folder was removed or cannot be reached: change to another one (cd), and "
                                 "run the same command again."));
  const mode_t umask = retort::storage::ChooseFileModes(parsed.command->run.share);
  return Ended(cli::Dispatch({*parsed.command, environment, console, retort::storage::PosixEnv(), umask}));
}
