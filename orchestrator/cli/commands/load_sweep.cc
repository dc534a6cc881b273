#include "orchestrator/cli/commands/load_sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "experiments/base/environment.h"
#include "experiments/methods/teacher_outputs.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/calibration.h"
#include "experiments/privacy/selection_calibration.h"
#include "experiments/privacy/selection_plan.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/shipped_sweeps.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/results/plan_report.h"
#include "orchestrator/results/planned_selection.h"
#include "orchestrator/results/results_root.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/search_standing.h"
#include "orchestrator/results/shared_examples.h"
#include "orchestrator/results/tables/published.h"
#include "storage/datasets/data_inspection.h"
#include "storage/datasets/mark_store.h"
#include "storage/datasets/splits.h"
#include "storage/files/env.h"
#include "storage/files/path_status.h"
#include "storage/weights/class_names.h"
#include "storage/weights/known_weights.h"
#include "storage/weights/published_weights.h"
#include "storage/weights/read_weights.h"

namespace retort::orchestrator::cli {
namespace {

struct KnownPart {
  std::string_view name;
  std::int64_t examples = 0;
};

struct KnownSet {
  std::string_view reader, variant;  // target or version; empty: any
  std::int64_t classes = 0, channels = 0, height = 0, width = 0;
  std::array<KnownPart, 3> parts;
};

constexpr std::array kSets = {
    KnownSet{"idx", "", 10, 1, 28, 28, {{{"train", 60'000}, {"test", 10'000}, {}}}},
    KnownSet{"cifar10", "", 10, 3, 32, 32, {{{"train", 50'000}, {"test", 10'000}, {}}}},
    KnownSet{"cifar100", "fine", 100, 3, 32, 32, {{{"train", 50'000}, {"test", 10'000}, {}}}},
    KnownSet{"cifar100", "coarse", 20, 3, 32, 32, {{{"train", 50'000}, {"test", 10'000}, {}}}},
    KnownSet{"svhn", "", 10, 3, 32, 32, {{{"train", 73'257}, {"test", 26'032}, {"extra", 531'131}}}},
    KnownSet{"medmnist", "", 9, 3, 28, 28, {{{"train", 89'996}, {"validation", 10'004}, {"test", 7'180}}}},
    // Of the hair colours only some faces have one of the three; how many is read from the list.
    KnownSet{"celeba", "gender", 2, 3, 218, 178, {{{"train", 162'770}, {"validation", 19'867}, {"test", 19'962}}}},
    KnownSet{"celeba", "hair", 3, 3, 218, 178, {{{"train", 162'770}, {"validation", 19'867}, {"test", 19'962}}}},
    KnownSet{"covidx", "9B", 2, 3, 0, 0, {{{"train", 30'482}, {"test", 400}, {}}}},
    KnownSet{"covidx", "9A", 3, 3, 0, 0, {{{"train", 30'130}, {"test", 400}, {}}}},
    KnownSet{"covidx", "5", 3, 3, 0, 0, {{{"train", 13'958}, {"test", 0}, {}}}},
    KnownSet{"imagenet", "", 1000, 3, 0, 0, {{{"train", 1'281'167}, {"validation", 50'000}, {}}}},
    KnownSet{"tiny-imagenet", "", 200, 3, 64, 64, {{{"train", 100'000}, {"validation", 10'000}, {}}}},
};

const KnownSet* Find(const DataSpec& data) {
  for (const KnownSet& set : kSets)
    if (set.reader == data.reader && (set.variant.empty() || set.variant == data.target || set.variant == data.version))
      return &set;
  return nullptr;
}

std::int64_t FindExamples(const KnownSet& set, std::string_view part) {
  std::int64_t examples = 0;
  for (const KnownPart& known : set.parts)
    if (part.empty() || known.name == part) examples += known.examples;
  return examples;
}

// As inspection would: fractions one after the other, open parts to their end.
void ResolveSplit(const KnownSet& set, DataSpec& data) {
  SplitSpec& split = data.split;
  double sum = 0;
  for (const SplitPart& part : kSplitParts) {
    IndexRange& range = split.*part.range;
    const SplitSource& source = split.*part.source;
    if (source.fraction > 0) {
      range.begin = static_cast<std::int64_t>(std::floor(sum * static_cast<double>(data.examples) + 1e-6));
      sum += source.fraction;
      range.end = static_cast<std::int64_t>(std::floor(sum * static_cast<double>(data.examples) + 1e-6));
    } else if (!source.part.empty() && source.open_end) {
      range.end = std::max(range.begin, FindExamples(set, source.part));
    }
  }
}

// Data sets whose files are not here, as they were published: enough for the rows and columns of a table.
// Fills classes, shape, number of examples and the parts and fractions of the split from what is known of the set that
// its reader is for. Its digest stays empty, so that its trials are none that were ever run. What is known of no
// published set stays as the sweep file has it.
void AssumeAsPublished(DataSpec& data) {
  const SplitSpec& split = data.split;
  data.examples = std::max({split.train.end, split.public_range.end, split.test.end, split.validation.end});
  const KnownSet* set = Find(data);
  if (set == nullptr) return;
  if (data.classes == 0) data.classes = set->classes;
  data.channels = set->channels;
  if (data.height == 0 && set->height > 0) {
    data.height = set->height;
    data.width = set->width;
  }
  data.examples = std::max(data.examples, FindExamples(*set, ""));
  ResolveSplit(*set, data);
}

// Tables that name a published table which there is not.
std::vector<Diagnostic> UnknownPublished(const SweepPlan& plan) {
  std::vector<Diagnostic> errors;
  for (const TableSpec& table : plan.tables) {
    if (table.published.empty()) continue;
    const std::vector<std::string> names = ListPublishedTables();
    if (std::find(names.begin(), names.end(), table.published) != names.end()) continue;
    Diagnostic error;
    error.file = plan.file;
    error.key = "table." + table.name + ".published";
    error.message = error.key + ": there is no published table \"" + table.published + "\"";
    error.choices = FindNearest(table.published, names);
    if (error.choices.empty()) error.choices = names;
    errors.push_back(std::move(error));
  }
  return errors;
}

bool HasFiniteExampleClaim(const std::vector<privacy::Claim>& claims) {
  return std::any_of(claims.begin(), claims.end(), [](const privacy::Claim& claim) {
    return claim.adjacency == privacy::Adjacency::example && claim.status == privacy::ClaimStatus::proven &&
           std::isfinite(claim.epsilon);
  });
}

// Students that no budget can cover: under a cap each needs a finite proven `example` claim. Teachers stay in the
// results folder; what they cost is counted where their answers leave.
std::vector<Diagnostic> UncoverableUnderBudget(const SweepPlan& plan, PlannedClaims& claims) {
  const auto capped = [](const TrialSpec& spec) { return spec.data && spec.data->budget; };
  if (std::none_of(plan.trials.begin(), plan.trials.end(), capped)) return {};
  const TeacherSpecs teachers(plan.trials);
  std::vector<Diagnostic> errors;
  for (const TrialSpec& spec : plan.trials) {
    if (spec.role == Role::teacher || !capped(spec)) continue;
    if (HasFiniteExampleClaim(claims.Of(spec, teachers.Of(spec)))) continue;
    Diagnostic error;
    error.file = plan.file;
    error.key = "data." + spec.data->name + ".budget";
    error.message = error.key + ": the trial " + spec.name +
                    " has no finite proven claim for `example`, so no budget can cover it; leave it out, give it a " +
                    "private teacher or noisy votes, or remove the budget";
    errors.push_back(std::move(error));
  }
  return errors;
}

// What makes a selection one that no claim covers.
std::vector<Diagnostic> UnprovenSelection(const SweepPlan& plan) {
  if (!plan.select) return {};
  const Result<PlannedSelection> planned = PlanSelectionClaims(plan);
  if (planned.ok()) return {};
  Diagnostic error;
  error.file = plan.file;
  error.line = plan.select->where.line;
  error.column = plan.select->where.column;
  error.key = "sweep.select";
  error.message = "sweep.select: " + planned.status().message();
  return {std::move(error)};
}

Diagnostic Warning(const std::string& file, std::string key, const std::string& message) {
  Diagnostic warning;
  warning.file = file;
  warning.key = std::move(key);
  warning.message = message;
  return warning;
}

// `taken_for`: what the set counts as without its files.
Diagnostic AbsentData(const std::string& file, const DataSpec& data, const Status& status,
                      const std::string& taken_for) {
  const std::string key = "data." + data.name + ".path";
  return Warning(file, key, key + ": " + status.message() + "; until then it is taken to be " + taken_for);
}

// A range whose end only the files say: that of the rows, where it is of the same part or fraction.
void TakeRecorded(const SplitSource& source, const SplitSource& other, const IndexRange& recorded, IndexRange& range) {
  const bool open = source.open_end && source.part == other.part && range.begin == recorded.begin;
  if (open || (source.fraction > 0 && source.fraction == other.fraction)) range = recorded;
}

// Fills in what rows say of an absent set of this name and reader. False where they name none.
bool AssumeAsRecorded(const std::vector<DataSpec>& recorded, DataSpec& data) {
  const auto same = [&](const DataSpec& other) { return other.name == data.name && other.reader == data.reader; };
  const auto found = std::find_if(recorded.begin(), recorded.end(), same);
  if (found == recorded.end()) return false;
  data.digest = found->digest;
  data.examples = found->examples;
  data.classes = found->classes;
  data.channels = found->channels;
  data.height = found->height;
  data.width = found->width;
  SplitSpec& split = data.split;
  const SplitSpec& then = found->split;
  for (const SplitPart& part : kSplitParts)
    TakeRecorded(split.*part.source, then.*part.source, then.*part.range, split.*part.range);
  return true;
}

// A plan may do without files that are not there yet, and without nothing else. Error: environment, for what is there
// and may not be read.
Status MayBeMissing(storage::Env& env, const DataSpec& data) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, data.path));
  return there ? storage::CheckReadable(env, data.path) : Status();
}

// How many examples the lists of an absent set's split name.
Status CountLists(storage::Env& env, DataSpec& data) {
  for (const SplitPart& part : kSplitParts) {
    const SplitSource& source = data.split.*part.source;
    if (source.list.empty()) continue;
    RETORT_ASSIGN_OR_RETURN(const std::int64_t count, storage::CountListed(env, source.list));
    data.split.*part.range = {0, count};
  }
  return {};
}

Status InspectOrAssume(storage::Env& env, const LoadRequest& request, const storage::DigestCache& cache, DataSpec& data,
                       storage::DataNotes& notes, std::vector<Diagnostic>& absent) {
  const Status status = storage::InspectData(env, data, cache, &notes);
  if (status.code() != StatusCode::environment || !request.data_may_be_absent) return status;
  RETORT_RETURN_IF_ERROR(MayBeMissing(env, data));
  RETORT_RETURN_IF_ERROR(CountLists(env, data));
  AssumeAsPublished(data);
  const bool known = AssumeAsRecorded(request.recorded.data, data);
  absent.push_back(AbsentData(request.path, data, status, known ? "what the rows were measured on" : "as published"));
  return {};
}

// What a worker could not load, said before anything runs. `assumed`: paths of absent files.
std::vector<Diagnostic> UnusableWeights(storage::Env& env, const SweepPlan& plan,
                                        const std::set<std::string>& assumed) {
  std::vector<Diagnostic> errors;
  std::set<std::string> seen;
  for (const TrialSpec& spec : plan.trials) {
    const bool script = spec.weights.empty();
    const std::string& path = script ? spec.torchscript : spec.weights;
    if (spec.role != Role::teacher || spec.weights_digest.empty() || !seen.insert(path).second) continue;
    if (assumed.contains(path)) continue;
    const Status usable = script ? storage::CheckScriptFile(env, path) : storage::CheckWeightsFile(env, path);
    const std::string key = "teacher." + spec.teacher + (script ? ".torchscript" : ".weights");
    if (!usable.ok()) errors.push_back(Warning(plan.file, key, key + ": " + usable.message()));
  }
  return errors;
}

// What is there and only forbidden is no slip in the name of a sweep file.
Status NotForbidden(const std::string& path) {
  const bool forbidden = ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES;
  return forbidden ? storage::FileError(EACCES, "read", path) : Status();
}

// Files that sweeps name as torchvision does, by path.
using PublishedFiles = std::map<std::string, storage::PublishedFile>;

// Teachers whose file was not weighed. `assumed`: paths of those that are taken to be what rows were measured with.
std::vector<Diagnostic> AbsentWeights(const SweepPlan& plan, const std::set<std::string>& assumed,
                                      const PublishedFiles& published) {
  std::vector<Diagnostic> absent;
  for (const TrialSpec& spec : plan.trials) {
    const std::string& path = spec.weights.empty() ? spec.torchscript : spec.weights;
    if (spec.role != Role::teacher || path.empty()) continue;
    if (!spec.weights_digest.empty() && !assumed.contains(path)) continue;
    const std::string key = "teacher." + spec.teacher + (spec.weights.empty() ? ".torchscript" : ".weights");
    const auto named = published.find(path);
    const std::string what =
        named == published.end()
            ? "'" + path + "' is not there; no trial of it can run before then"
            : storage::ReportAbsent(named->second).message() + " No trial of it can run before then";
    absent.push_back(Warning(plan.file, key, key + ": " + what));
  }
  return absent;
}

// As PlanHooks::find_weights; notes what it finds.
Result<std::string> FindWeights(const std::string& text, PublishedFiles& published) {
  if (!storage::IsPublishedName(text)) return std::string();
  RETORT_ASSIGN_OR_RETURN(storage::PublishedFile file, storage::FindPublishedFile(text));
  std::string path = file.path;
  published[path] = std::move(file);
  return path;
}

// Error: also refused, for a file that has a published name and other bytes.
Result<std::string> DigestWeights(storage::Env& env, const std::string& path, const PublishedFiles& published) {
  const auto named = published.find(path);
  return named != published.end() ? storage::DigestPublished(env, named->second)
                                  : storage::ComputeFileDigest(env, path);
}

// The variable as the process has it, or, where data may be absent, as the file writes it: no such path exists.
std::optional<std::string> LookUp(const std::string& name, const std::string& file, std::vector<Diagnostic>& absent) {
  if (std::optional<std::string> value = GetEnvironmentVariable(name)) return value;
  const bool told =
      std::any_of(absent.begin(), absent.end(), [&name](const Diagnostic& one) { return one.key == name; });
  if (!told)
    absent.push_back(
        Warning(file, name, "the environment variable " + name + " is not set; set it, or write the path"));
  return "${" + name + "}";
}

// A file that torchvision publishes for another network cannot fit.
void WarnOfOtherNetworks(SweepPlan& plan) {
  for (const TrialSpec& spec : plan.trials) {
    const storage::KnownWeights* known = storage::FindKnownWeights(spec.weights_digest);
    if (known == nullptr || spec.network.starts_with(known->network)) continue;
    plan.warnings.push_back(Warning(plan.file, "teacher." + spec.teacher + ".weights",
                                    fmt::format("{} holds {}, which torchvision publishes for \"{}\", not for \"{}\"",
                                                spec.weights, known->name, known->network, spec.network)));
  }
}

using NotesByData = std::map<std::string, storage::DataNotes>;

// The names of the outputs that a teacher answers with; none where the file does not name one of them.
std::vector<std::string> ChooseNames(const std::vector<std::string>& names, const TrialSpec& spec) {
  if (spec.outputs.empty()) return names;
  const std::vector<std::int64_t> outputs = ParseOutputs(spec.outputs).value();
  std::vector<std::string> chosen;
  for (const std::int64_t output : outputs) {
    if (static_cast<std::size_t>(output) >= names.size()) return {};
    chosen.push_back(names[static_cast<std::size_t>(output)]);
  }
  return chosen;
}

// Teachers whose file numbers the classes otherwise than the data: every answer would be taken for another class. What
// cannot be read is told when the trial starts.
std::vector<Diagnostic> ContradictedClasses(storage::Env& env, const SweepPlan& plan, const NotesByData& notes) {
  std::vector<Diagnostic> errors;
  std::set<std::pair<std::string, std::string>> seen;  // by teacher and data: seeds share a file
  for (const TrialSpec& spec : plan.trials) {
    if (spec.role != Role::teacher || spec.weights_digest.empty() || spec.weights.empty() || !spec.data) continue;
    if (!seen.emplace(spec.teacher + " " + spec.weights, spec.data->name).second) continue;
    const auto found = notes.find(spec.data->name);
    if (found == notes.end()) continue;
    const Result<std::vector<std::string>> names = storage::ReadClassNames(env, spec.weights);
    if (!names.ok()) continue;
    const std::string what = storage::FindClassContradiction(ChooseNames(*names, spec), found->second.class_names);
    if (what.empty()) continue;
    const std::string key = "teacher." + spec.teacher + ".weights";
    errors.push_back(Warning(plan.file, key,
                             key + ": " + spec.weights + ": " + what + " (data." + spec.data->name + ", " +
                                 spec.data->path + "); number the classes in class-index.csv as the weights do"));
  }
  return errors;
}

// What inspection noticed in the files of a data set.
void WarnOfData(SweepPlan& plan, const NotesByData& notes) {
  for (const auto& data : plan.data) {
    const std::string key = "data." + data->name;
    const auto found = notes.find(data->name);
    if (found == notes.end()) continue;
    for (const std::string& text : found->second.warnings)
      plan.warnings.push_back(Warning(plan.file, key, key + ": " + data->path + ": " + text));
  }
}

using History = std::shared_ptr<const SearchHistory>;

struct InspectedData {
  DataSpec data;
  storage::DataNotes notes;
};

// What planning one text again needs not do again: its files were read, and count as they were then.
struct PlanMemory {
  privacy::Calibrator calibrator;
  PlannedClaims claims;
  std::map<std::string, InspectedData> inspected;        // by name
  std::map<std::string, std::string> unpacked, weights;  // digests, by packed digest and by path
};

// `text`: of the file, where it was read before. `history` may be null. `memory`: of the same request.
LoadedSweep LoadOnce(storage::Env& env, const LoadRequest& asked, const std::optional<std::string>& text,
                     History history, PlanMemory& memory) {
  LoadRequest request = asked;
  const std::string shared = FindSharedFolder();
  request.path = FindSweepFile(asked.path, shared);
  std::size_t data_errors = 0;
  const storage::DigestCache cache = storage::FindDigestCache();
  LoadedSweep loaded;
  if (const Status closed = NotForbidden(request.path); !closed.ok()) {
    loaded.errors.push_back(Warning(request.path, "", closed.message()));
    loaded.code = closed.code();
    return loaded;
  }
  if (std::optional<Diagnostic> unknown = DescribeUnknownSweep(request.path, shared)) {
    loaded.errors.push_back(*std::move(unknown));
    return loaded;
  }
  NotesByData notes;
  PlanHooks hooks;
  hooks.inspect = [&](DataSpec& data) {
    if (const auto known = memory.inspected.find(data.name); known != memory.inspected.end()) {
      data = known->second.data;
      notes[data.name] = known->second.notes;
      return Status();
    }
    const std::size_t absent = loaded.absent.size();
    Status status = InspectOrAssume(env, request, cache, data, notes[data.name], loaded.absent);
    if (!status.ok() && status.code() != StatusCode::usage) ++data_errors;
    if (status.ok() && loaded.absent.size() == absent) memory.inspected[data.name] = {data, notes[data.name]};
    return status;
  };
  hooks.unpacked = [&](const DataSpec& data) {
    if (const auto known = memory.unpacked.find(data.digest); known != memory.unpacked.end())
      return Result<std::string>(known->second);
    Result<std::string> digest = storage::ComputeUnpackedDigest(env, data, cache);
    if (digest.ok()) memory.unpacked[data.digest] = *digest;
    // Whether an absent set was packed is not known: it counts as it was recorded.
    if (!digest.ok() && request.data_may_be_absent && !storage::MayExist(env, data.path))
      return Result<std::string>(data.digest);
    if (!digest.ok()) ++data_errors;
    return digest;
  };
  PublishedFiles published;
  hooks.find_weights = [&](const std::string& name) { return FindWeights(name, published); };
  std::set<std::string> assumed;  // absent files
  hooks.digest_file = [&](const std::string& path) {
    if (const auto known = memory.weights.find(path); known != memory.weights.end())
      return Result<std::string>(known->second);
    Result<std::string> digest = DigestWeights(env, path, published);
    if (digest.ok()) memory.weights[path] = *digest;
    if (!digest.ok() && request.data_may_be_absent && !storage::MayExist(env, path)) {
      const auto known = request.recorded.weights.find(std::filesystem::path(path).filename().string());
      assumed.insert(path);
      return Result<std::string>(known != request.recorded.weights.end() ? known->second : std::string());
    }
    if (!digest.ok()) ++data_errors;
    return digest;
  };
  hooks.unpack_all = request.runs;
  if (request.data_may_be_absent)
    hooks.lookup = [&](const std::string& name) { return LookUp(name, request.path, loaded.absent); };
  hooks.calibrate = [&memory](TrialSpec& spec) { return memory.calibrator.Calibrate(spec); };
  hooks.calibrate_candidates = [&memory](const SelectSpec& select,
                                         std::span<const TrialSpec> candidates) -> Result<double> {
    RETORT_ASSIGN_OR_RETURN(const privacy::DrawLaw law,
                            privacy::MakeDrawLaw(select.distribution, select.mean, select.eta));
    return privacy::SolveCandidateEpsilon({law, *select.epsilon, select.score_noise}, candidates, memory.calibrator);
  };
  PlanOptions options;
  options.overrides = request.overrides;
  options.profile = request.profile;
  options.history = std::move(history);
  const Result<std::string> read = text ? Result<std::string>(*text) : ReadSweepFile(request.path);
  if (read.ok()) loaded.text = *read;
  PlanOutcome outcome =
      read.ok() ? ParseSweep(*read, request.path, options, hooks) : LoadSweep(request.path, options, hooks);
  loaded.plan = std::move(outcome.plan);
  loaded.errors = std::move(outcome.errors);
  if (loaded.plan) {
    loaded.errors = UnknownPublished(*loaded.plan);
    for (Diagnostic& error : UncoverableUnderBudget(*loaded.plan, memory.claims))
      loaded.errors.push_back(std::move(error));
    for (Diagnostic& error : UnprovenSelection(*loaded.plan)) loaded.errors.push_back(std::move(error));
    for (Diagnostic& error : UnusableWeights(env, *loaded.plan, assumed)) loaded.errors.push_back(std::move(error));
    for (Diagnostic& error : ContradictedClasses(env, *loaded.plan, notes)) loaded.errors.push_back(std::move(error));
    if (!loaded.errors.empty()) loaded.plan.reset();
    if (loaded.plan) {
      WarnOfData(*loaded.plan, notes);
      WarnOfOtherNetworks(*loaded.plan);
      if (request.data_may_be_absent) {
        const std::vector<Diagnostic> weights = AbsentWeights(*loaded.plan, assumed, published);
        loaded.absent.insert(loaded.absent.end(), weights.begin(), weights.end());
      }
    }
  }
  if (data_errors > 0 && data_errors == loaded.errors.size()) loaded.code = StatusCode::environment;
  return loaded;
}

// Null where nothing is stored, or it cannot be read: who reads results says so.
History ReadHistory(storage::Env& env, const std::string& results) {
  if (!storage::MayExist(env, results + "/journal.log")) return nullptr;
  const Result<ResultsView> view = ReadJournaled(env, results);
  if (!view.ok()) return nullptr;
  Result<SearchHistory> history = CollectHistory(*view);
  return history.ok() ? std::make_shared<const SearchHistory>(*std::move(history)) : nullptr;
}

}  // namespace

LoadedSweep LoadWithData(storage::Env& env, const LoadRequest& request) {
  PlanMemory memory;
  LoadedSweep loaded = LoadOnce(env, request, std::nullopt, nullptr, memory);
  if (!loaded.plan || !loaded.plan->search || !loaded.plan->search->IsAdaptive()) return loaded;
  const History history = ReadHistory(env, FindResultsPath(request.results, loaded.plan->name));
  return history == nullptr ? loaded : LoadOnce(env, request, loaded.text, history, memory);
}

PlanSearch MakePlanSearch(storage::Env& env, const LoadRequest& request, const LoadedSweep& loaded) {
  if (!loaded.plan || !loaded.plan->search || !loaded.plan->search->IsAdaptive()) return nullptr;
  const auto memory = std::make_shared<PlanMemory>();
  return [&env, request, text = loaded.text, memory](const SearchHistory& history) -> Result<SweepPlan> {
    LoadedSweep next = LoadOnce(env, request, text, std::make_shared<const SearchHistory>(history), *memory);
    if (next.plan) return *std::move(next.plan);
    return Status(next.code,
                  "what the search suggests next cannot be planned: " +
                      (next.errors.empty() ? std::string("no reason is known") : next.errors.front().message));
  };
}

namespace {

// Of a data set whose digest this is: its name here, else what it is.
std::string NameIn(const SweepPlan& plan, const std::string& digest) {
  for (const auto& data : plan.data)
    if (FindUnpackedDigest(plan.unpacked, data->digest) == digest) return "data." + data->name;
  return "a data set of another sweep in the same results root (" + digest.substr(0, 8) + ")";
}

void AddText(std::string& text, const std::string& more) { text += (text.empty() ? "" : "; ") + more; }

// What the examples of `data` have to do with those of the set `other`; empty where it is nothing.
std::string SharedText(const SharedExamples& shared, const SweepPlan& plan, const DataSpec& data,
                       const std::string& other) {
  const std::string& own = FindUnpackedDigest(plan.unpacked, data.digest);
  const std::string key = "data." + data.name, split = storage::SplitName(data);
  const std::string whose = own == other ? "the same files, split otherwise" : NameIn(plan, other);
  std::string text;
  if (const std::int64_t shown = own == other ? shared.Exposed(own, own) : 0; shown > 0)
    AddText(text,
            fmt::format("{} of the private examples of {} are public or test examples of it, too: no claim about an "
                        "example will have a bound. Take them out of one of the splits, by lists",
                        shown, key));
  if (const std::int64_t both = own == other ? 0 : shared.Shared(own, other); both > 0)
    AddText(text,
            fmt::format("{} of the private examples of {} are private ones of {}, too: what is spent on either counts "
                        "for both",
                        both, key, whose));
  if (const std::int64_t shown = shared.ExposedBy(own, split, other); shown > 0)
    AddText(text,
            fmt::format("{} of the private examples of {} are public or test examples of {}: what is shown of them "
                        "there, no claim here covers. Split both alike",
                        shown, key, whose));
  if (const std::int64_t shown = shared.FindPublicPart(own, split, other); shown > 0)
    AddText(text, fmt::format(
                      "{} of the public or test examples of {} are private ones of {}: what is shown of them here, no "
                      "claim there covers. Split both alike",
                      shown, key, whose));
  return text;
}

void WarnOfSharedExamples(const SharedExamples& shared, SweepPlan& plan) {
  for (const auto& data : plan.data) {
    for (const std::string& other : shared.Digests()) {
      const std::string text = SharedText(shared, plan, *data, other);
      if (!text.empty()) plan.warnings.push_back(Warning(plan.file, "data." + data->name, text));
    }
  }
}

}  // namespace

void AddBudgetWarnings(storage::Env& env, const std::string& results, SweepPlan& plan) {
  const auto warn = [&plan](const std::string& key, const std::string& message) {
    plan.warnings.push_back(Warning(plan.file, key, message));
  };
  for (const std::string& copy : DescribeCopies(env, results)) warn("sweep.name", copy);
  for (const std::string& unknown : DescribeUncounted(env, results)) warn("sweep.name", unknown);
  storage::DigestOptions reading;
  reading.cache = storage::FindDigestCache();
  reading.may_decode = false;
  Result<SharedExamples> shared = RootExamples(env, FindResultsRoot(results), reading).Look(plan);
  if (!shared.ok()) return warn("data", shared.status().message());
  WarnOfSharedExamples(*shared, plan);
  const Result<BudgetsByData> budgets = ReadOtherBudgets(env, results, plan, *shared);
  if (!budgets.ok()) return warn("data", budgets.status().message());
  for (const auto& data : plan.data) {
    const auto found = budgets->find(FindUnpackedDigest(plan.unpacked, data->digest));
    if (found == budgets->end()) continue;
    for (const OtherBudget& other : found->second)
      warn("data." + data->name,
           fmt::format("the budget of epsilon = {:g} at delta = {:g} that {} sets covers the examples of data.{} in "
                       "this sweep, too",
                       other.budget.epsilon, other.budget.delta, other.directory, data->name));
  }
}

}  // namespace retort::orchestrator::cli
