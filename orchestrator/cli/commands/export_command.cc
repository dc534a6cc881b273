#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cluster/worker_questions.h"
#include "experiments/base/digests.h"
#include "experiments/base/json.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/network_layers.h"
#include "experiments/methods/networks.h"
#include "experiments/privacy/image_claims.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/export_folder.h"
#include "orchestrator/cli/commands/network_description.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/commands/torchscript_export.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/results/trial_names.h"
#include "storage/files/file_modes.h"
#include "storage/formats/npy_file.h"
#include "storage/formats/onnx_file.h"
#include "storage/images/png_grid.h"
#include "storage/results/attempt_file.h"
#include "storage/weights/write_weights.h"

namespace retort::orchestrator::cli {

// retort export
namespace {

using nlohmann::ordered_json;

// What is exported: the trial, and what its finished attempt left (nothing for the ledger). `description`: of its
// network, for the formats that have a place for one; else empty.
struct Exported {
  const ResultsView& view;
  const TrialView& trial;
  storage::AttemptFile file;
  std::string description;
};

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string CsvLine(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ",") + CsvField(field);
  return line + "\n";
}

// The network under the names of its own state: parameters and running statistics.
Result<std::vector<storage::TensorBlob>> ReadNetwork(const Exported& what) {
  const TrialSpec& spec = what.trial.spec;
  if (IsEnsemble(FindKind(spec)))
    return UsageError(
        FormatTrialName(spec) +
        " is an ensemble, whose members are no one network and are never released; export a student of it.");
  const std::string prefix = spec.role == Role::teacher ? "teacher/" : "student/";
  std::vector<storage::TensorBlob> state = SelectState(what.file.parameters, prefix);
  if (state.empty()) return UsageError(FormatTrialName(spec) + " trains no network.");
  return state;
}

Result<std::string> EncodeState(const std::vector<storage::TensorBlob>& state, const std::string& format,
                                const std::string& description = "") {
  if (format == "torch") return storage::EncodeTorch(state, description);
  return format == "npz" ? storage::EncodeNpz(state) : storage::EncodeSafetensors(state, description);
}

Result<std::string> Student(const Exported& what, const std::string& format) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<storage::TensorBlob> state, ReadNetwork(what));
  return EncodeState(state, format, what.description);
}

Result<std::vector<storage::TensorBlob>> ReadGenerator(const Exported& what) {
  std::vector<storage::TensorBlob> state = SelectState(what.file.parameters, "generator/");
  if (state.empty())
    return UsageError(FormatTrialName(what.trial.spec) +
                      " left no generator: only students whose queries a generator makes do.");
  return state;
}

Result<std::string> EncodeGenerator(const Exported& what, const std::string& format) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<storage::TensorBlob> state, ReadGenerator(what));
  return EncodeState(state, format);
}

Result<std::string> Samples(const Exported& what, const std::string& format) {
  const storage::AttemptFile& file = what.file;
  if (!file.samples)
    return UsageError(FormatTrialName(what.trial.spec) + " kept no samples: only methods with a generator do.");
  if (format == "png") return storage::EncodePngGrid(file.samples->images);
  storage::TensorBlob step{"step", storage::DType::u64, {static_cast<std::int64_t>(file.samples->step.size())}, {}};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(file.samples->step.data());
  step.bytes.assign(bytes, bytes + file.samples->step.size() * sizeof(std::uint64_t));
  storage::TensorBlob images = file.samples->images, released = file.samples->released;
  images.name = "images";
  released.name = "released";
  return storage::EncodeNpz({images, released, step});
}

Result<std::string> Curves(const Exported& what, const std::string&) {
  const storage::AttemptFile& file = what.file;
  std::map<std::int64_t, std::map<std::string, double>> rows;
  std::vector<std::string> head = {"step"};
  for (const auto& [name, points] : file.curves) {
    head.push_back(name);
    for (const auto& [step, value] : points) rows[step][name] = value;
  }
  std::string text = CsvLine(head);
  for (const auto& [step, values] : rows) {
    std::vector<std::string> fields = {std::to_string(step)};
    for (std::size_t i = 1; i < head.size(); ++i) {
      const auto value = values.find(head[i]);
      fields.push_back(value == values.end() ? "" : fmt::format("{}", value->second));
    }
    text += CsvLine(fields);
  }
  return text;
}

// The columns are the fields of `retort show --json`; a field that an entry lacks is empty.
Result<std::string> Ledger(const Exported& what, const std::string&) {
  std::vector<ordered_json> entries;
  std::vector<std::string> head;
  for (const storage::LedgerEntry& entry : what.view.ledger) {
    if (entry.attempt.trial != what.trial.spec.id) continue;
    entries.push_back(MakeLedgerEntryJson(entry));
    for (const auto& [key, value] : entries.back().items())
      if (std::find(head.begin(), head.end(), key) == head.end()) head.push_back(key);
  }
  std::string text = CsvLine(head);
  for (const ordered_json& entry : entries) {
    std::vector<std::string> fields;
    for (const std::string& key : head) {
      const auto value = entry.find(key);
      const bool empty = value == entry.end() || value->is_null();
      fields.push_back(empty ? "" : value->is_string() ? value->get<std::string>() : value->dump());
    }
    text += CsvLine(fields);
  }
  return text;
}

struct ExportedPart {
  const char* name;
  std::vector<std::string> formats;
  Result<std::string> (*encode)(const Exported& what, const std::string& format);
};

const std::vector<ExportedPart>& Parts() {
  static const std::vector<ExportedPart> parts = {
      {"student", {"safetensors", "torch", "npz", "onnx", "torchscript"}, Student},
      {"generator", {"safetensors", "torch", "npz", "onnx", "torchscript"}, EncodeGenerator},
      {"samples", {"png", "npz"}, Samples},
      {"curves", {"csv", "tensorboard", "mlflow"}, Curves},
      {"ledger", {"csv"}, Ledger}};
  return parts;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

// The part that the line names, in a format that fits it; else a diagnostic.
const ExportedPart* FindPart(const CommandLine& line, std::vector<Diagnostic>& errors) {
  std::vector<std::string> names;
  Diagnostic error;
  for (const ExportedPart& part : Parts()) {
    names.emplace_back(part.name);
    if (part.name != line.exported.what) continue;
    if (std::find(part.formats.begin(), part.formats.end(), line.exported.format) != part.formats.end()) return &part;
    error.key = "--format";
    error.choices = part.formats;
    error.message = fmt::format("{} cannot be written as {}; valid are {}.", line.exported.what, line.exported.format,
                                Joined(part.formats));
    errors.push_back(error);
    return nullptr;
  }
  error.key = line.exported.what;
  error.choices = SortByNearness(line.exported.what, names);
  error.message = fmt::format("there is no `{}` to export; valid are {}.", line.exported.what, Joined(names));
  errors.push_back(error);
  return nullptr;
}

// Empty for what has no place for one, and, after a warning, where the worker does not answer.
std::string DescribeExported(const Invocation& call, const ExportedPart& part, const TrialView& trial) {
  if (part.encode != Student || call.line.exported.format == "npz") return "";
  Result<std::string> description = DescribeNetwork(call, trial);
  if (description.ok()) return *std::move(description);
  call.console.Message(
      "warning: " + call.line.out +
      " does not say what its layers are, so that load_student of the Python package cannot open it: " +
      description.status().message());
  return "";
}

// The graph that the worker answers with, and the tensors of the state that it takes.
Result<std::string> CompleteGraph(const Invocation& call, const TrialView& trial, const char* argument,
                                  const std::vector<storage::TensorBlob>& state) {
  RETORT_ASSIGN_OR_RETURN(const std::string text, AskAboutNetwork(call, trial.spec, argument));
  RETORT_ASSIGN_OR_RETURN(cluster::GraphAnswer answer, cluster::DecodeGraphAnswer(text));
  std::vector<const storage::TensorBlob*> taken;
  std::size_t size = answer.graph.size();
  for (const std::string& name : answer.state) {
    const auto found = std::find_if(state.begin(), state.end(), [&](const auto& blob) { return blob.name == name; });
    if (found == state.end())
      return DamageError(FormatTrialName(trial.spec) + ": what the trial left lacks the tensor '" + name + "'.");
    taken.push_back(&*found);
    size += found->bytes.size();
  }
  RETORT_RETURN_IF_ERROR(storage::CheckOnnxSize(size));
  constexpr std::size_t kHead = 256, kDescription = 1 << 17;  // about what stands before a tensor, and around the graph
  answer.graph.reserve(size + kDescription + state.size() * kHead);
  for (const storage::TensorBlob* tensor : taken) storage::AppendOnnxConstant(answer.graph, *tensor);
  return std::move(answer.graph);
}

// Every member of the description by itself, for viewers of models, and the whole of it as in the other formats.
Result<std::string> EncodeModel(std::string graph, const std::string& what, const std::string& description,
                                const std::string& pixels) {
  storage::OnnxFacts facts;
  facts.producer_version = FormatVersion();
  const ordered_json json = TryParseOrderedJson(description);
  facts.description = what + " of trial " + json.value("name", "");
  for (const auto& [key, value] : json.items())
    if (key != "version" && key != "layers")
      facts.metadata.emplace_back(key == "retort" ? "program" : key,
                                  value.is_string() ? value.get<std::string>() : DumpJson(value));
  facts.metadata.emplace_back("pixels", pixels);
  facts.metadata.emplace_back("retort", description);
  return storage::EncodeOnnxModel(std::move(graph), facts);
}

// How a generator's output becomes pixels.
std::string DescribePixels(const TrialSpec& spec) {
  const std::string shape = "pictures: f32 [rows, channels, height, width]";
  if (ReleasesEmbedding(FindKind(spec))) return shape + ", pixels of 0 to 1";
  bool ranged = spec.generator.network != kNamedGenerators.front();  // DAFL's ends in a batch norm
  if (spec.generator.layers) {
    const Result<std::vector<NetworkLayer>> layers = ParseNetworkLayers(*spec.generator.layers);
    ranged = layers.ok() && !EndsInBatchNorm(*layers);
  }
  const std::string normalised = shape + "; times std, plus mean, one a channel, they are ";
  return normalised + (ranged ? "pixels of 0 to 1" : "about pixels: clamp to 0 to 1");
}

// Return the whole file of ONNX: of the network that a trial trained, or of its generator. `state`: its tensors,
// without the group's prefix. Errors: that of the worker, which alone knows what layers compute; damage, naming a
// tensor that the state lacks; refused above 2 GiB, with what to use instead.
Result<std::string> EncodeOnnxNetwork(const Invocation& call, const TrialView& trial,
                                      const std::vector<storage::TensorBlob>& state) {
  RETORT_ASSIGN_OR_RETURN(const std::string description, DescribeNetwork(call, trial));
  RETORT_ASSIGN_OR_RETURN(std::string graph, CompleteGraph(call, trial, cluster::kGraphArgument, state));
  return EncodeModel(
      std::move(graph), "the network", description,
      "image: f32 [rows, channels, height, width], each pixel of 0 to 1 less mean, over std, one a channel");
}

Result<std::string> EncodeOnnxGenerator(const Invocation& call, const TrialView& trial,
                                        const std::vector<storage::TensorBlob>& state) {
  RETORT_ASSIGN_OR_RETURN(std::string graph, CompleteGraph(call, trial, cluster::kGeneratorGraphArgument, state));
  return EncodeModel(std::move(graph), "the generator", DumpJson(DescribeGenerator(trial)),
                     DescribePixels(trial.spec) + "; each depends on the others of its batch");
}

Result<std::string> EncodeOnnx(const Invocation& call, const ExportedPart& part, const Exported& what) {
  if (part.encode == Student) {
    RETORT_ASSIGN_OR_RETURN(const std::vector<storage::TensorBlob> state, ReadNetwork(what));
    return EncodeOnnxNetwork(call, what.trial, state);
  }
  RETORT_ASSIGN_OR_RETURN(const std::vector<storage::TensorBlob> state, ReadGenerator(what));
  return EncodeOnnxGenerator(call, what.trial, state);
}

Result<std::string> EncodeTorchScript(const Invocation& call, const ExportedPart& part, const Exported& what) {
  if (part.encode == Student) {
    RETORT_RETURN_IF_ERROR(ReadNetwork(what).status());
    return EncodeTorchScriptNetwork(call, what.view, what.trial);
  }
  RETORT_RETURN_IF_ERROR(ReadGenerator(what).status());
  return EncodeTorchScriptGenerator(call, what.view, what.trial);
}

Result<std::string> EncodePart(const Invocation& call, const ExportedPart& part, const ResultsView& view,
                               const TrialView& trial) {
  const std::string& format = call.line.exported.format;
  if (part.encode == Ledger) return Ledger({view, trial, {}, ""}, format);
  if (!trial.row || trial.row->attempt_file.empty())
    return UsageError(fmt::format("{} is {}: only a trial that has ended leaves {} (`{}` says more).",
                                  FormatTrialName(trial.spec), GetStateName(trial.state), part.name,
                                  AddResultsOption(FormatTrialCommand("explain", trial.spec), view.directory)));
  RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file, ReadFileOfRow(view, trial));
  Exported what{view, trial, std::move(file), ""};
  if (format == "onnx") return EncodeOnnx(call, part, what);
  if (format == "torchscript") return EncodeTorchScript(call, part, what);
  if (part.encode == Student) RETORT_RETURN_IF_ERROR(ReadNetwork(what).status());
  what.description = DescribeExported(call, part, trial);
  return part.encode(what, format);
}

// A generator gives away what its images do. Empty for every other part.
std::string WarnOfGenerator(const ExportedPart& part, const TrialSpec& spec,
                            const std::optional<storage::ResultRow>& row) {
  if (part.encode != EncodeGenerator || !row) return "";
  return privacy::WarnOfImages(privacy::ComputeImageClaims(spec, row->claims));
}

}  // namespace

void AddExport(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* command =
      AddCommand(app, "export", "Write a trial's network, generator, samples, curves or ledger for other tools");
  command
      ->add_option("TRIAL", words.trial,
                   "Id, unique prefix of an id, or shown name; `all`: every trial that succeeded, for tensorboard and "
                   "mlflow")
      ->required();
  command
      ->add_option("WHAT", line.exported.what,
                   "student (also a teacher's network), generator: safetensors, torch, npz, onnx, torchscript; "
                   "samples: png, npz; "
                   "curves: csv, or with metrics, settings and claims tensorboard, mlflow; ledger: csv")
      ->required();
  command
      ->add_option(
          "--format", line.exported.format,
          "safetensors, torch, npz, onnx, torchscript, png, csv, tensorboard (event files) or mlflow (a file store)")
      ->required();
  command->add_option("--out", line.out, "The file to write; of tensorboard and mlflow the folder")
      ->required()
      ->type_name("PATH");
  command->add_flag("--force", line.force, "Also over a file, or a folder of such an export, that is there");
}

std::vector<std::string> ListExportedParts() {
  std::vector<std::string> names;
  for (const ExportedPart& part : Parts()) names.emplace_back(part.name);
  return names;
}

std::vector<std::string> ExportFormats() {
  std::vector<std::string> formats;
  for (const ExportedPart& part : Parts())
    for (const std::string& format : part.formats)
      if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.push_back(format);
  return formats;
}

int ExecuteExport(const Invocation& call) {
  const CommandLine& line = call.line;
  std::vector<Diagnostic> errors;
  const ExportedPart* part = FindPart(line, errors);
  if (part == nullptr) return call.console.Fail(errors);
  if (IsFolderFormat(line.exported.format)) return ExportFolderCommand(call);
  const OutputRule rule{.force = line.force};
  if (const Status may = CheckOutput(call.env, line.out, rule); !may.ok()) return call.console.Fail(may);
  const Result<ResultsView> view = OpenShownResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  const Result<const TrialView*> trial = FindTrial(*view, line.trial);
  if (!trial.ok() && line.trial == kEveryTrial)
    return call.console.Fail(UsageError("`all` goes with curves as tensorboard or mlflow; name one trial."));
  if (!trial.ok()) return call.console.Fail(trial.status());
  const Result<std::string> bytes = EncodePart(call, *part, *view, **trial);
  if (!bytes.ok()) return call.console.Fail(bytes.status());
  const storage::UmaskScope users(call.umask);
  if (const Status written = WriteOutput(call.env, line.out, *bytes, rule); !written.ok())
    return call.console.Fail(written);
  const std::string name = FormatTrialName((*trial)->spec);
  if ((*trial)->spec.role == Role::teacher && part->encode == Student)
    call.console.Message("a teacher knows its private examples: `" +
                         AddResultsOption(FormatTrialCommand("show", (*trial)->spec), view->directory) +
                         "` says what it may claim");
  if (const std::string warning = WarnOfGenerator(*part, (*trial)->spec, (*trial)->row); !warning.empty())
    call.console.Message("warning: " + warning);
  if (!line.global.json) {
    call.console.Message(fmt::format("{}: {} of {}, {} bytes", line.out, part->name, name, bytes->size()));
    return 0;
  }
  Sha256 hash;
  hash.Update(*bytes);
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document.update({{"trial", (*trial)->spec.id.Hex()},
                   {"name", name},
                   {"exported", part->name},
                   {"format", line.exported.format},
                   {"out", line.out},
                   {"bytes", bytes->size()},
                   {"sha256", hash.FinishHex()}});
  call.console.Data(FormatDocument(document));
  return 0;
}

}  // namespace retort::orchestrator::cli
