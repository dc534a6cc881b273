// Writes files at paths that the user named. Every command that writes one writes it here.
#pragma once

#include <string>
#include <string_view>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::orchestrator::cli {

// What may be written over. Never anything but a plain file: no link is followed or replaced, no pipe or device is
// either.
struct OutputRule {
  bool force = false;  // any plain file
  std::string_view mark =
      {};  // a plain file with this among its first bytes, so one that the command itself writes; empty: none
  std::string_view kind = {};  // "page": what such a file is called
  bool can_force = true;       // the command has --force, which the message then names
};

// Before there is anything to write. Error: usage, with what is at `path` and what to do.
[[nodiscard]] Status CheckOutput(storage::Env& env, const std::string& path, const OutputRule& rule);
// The whole file or nothing. Error: as CheckOutput; environment.
[[nodiscard]] Status WriteOutput(storage::Env& env, const std::string& path, std::string_view bytes,
                                 const OutputRule& rule);

// Of files that commands may write over without --force.
inline constexpr std::string_view kPageMark = "<!doctype html>";
inline constexpr std::string_view kManMark = ".TH RETORT";
inline constexpr std::string_view kSvgMark = "<svg role=\"img\" ";
inline constexpr std::string_view kPngMark{"Software\0retort", 15};

}  // namespace retort::orchestrator::cli
