// Archives of rows: commands that write one, make a results folder of one, or read one in place of a results folder.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/load_sweep.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/row_archive.h"
#include "storage/files/env.h"

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

// `--from`, for a command that reads results.
void AddFrom(CLI::App& command, CommandLine& line);

// The results folder that an archive is unpacked into, gone when this is.
class UnpackedArchive {
 public:
  // Error: as DecodeArchive and ImportArchive, naming the file; environment, where no temporary folder can be made.
  [[nodiscard]] static Result<std::unique_ptr<UnpackedArchive>> Read(storage::Env& env, const std::string& path);
  // Of an archive that was read; `name` stands in errors. Error: as ImportArchive; environment.
  [[nodiscard]] static Result<std::unique_ptr<UnpackedArchive>> Unpack(storage::Env& env, const RowArchive& archive,
                                                                       const std::string& name);
  UnpackedArchive(const UnpackedArchive&) = delete;
  UnpackedArchive& operator=(const UnpackedArchive&) = delete;
  ~UnpackedArchive();
  [[nodiscard]] std::string results() const { return folder_ + "/results"; }

 private:
  explicit UnpackedArchive(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

// Writes what a command made of a results folder into --out, and says so: say(), and the file's name; or, with --json,
// `document` with the size and the digest of the bytes. Returns the exit code.
[[nodiscard]] int EndWithFile(const Invocation& call, const std::string& bytes, const OutputRule& rule,
                              const std::function<std::string()>& say, nlohmann::ordered_json document);

// Runs `command` on the archive that `--from` names, as if it had been run here; on the results folder where there is
// no `--from`. Returns its exit code.
[[nodiscard]] int RunOnArchive(const Invocation& call, int (*command)(const Invocation&));

// What the unpacked archive of `--from` says of its data sets, one of each name, and of its teachers' files; nothing
// without `--from`, or where it cannot be read, which who reads its rows says.
[[nodiscard]] RecordedInputs ReadArchivedInputs(const Invocation& call);

// Whether what was read belongs to `plan`, where it came from an archive. Error: usage, for the rows of another sweep,
// or of this one with other settings in every trial.
[[nodiscard]] Status CheckBelongs(const Invocation& call, const SweepPlan& plan, const ResultsView& view);

}  // namespace retort::orchestrator::cli
