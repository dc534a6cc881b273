#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cluster/launch_environment.h"
#include "cluster/worker_process.h"
#include "cluster/worker_questions.h"
#include "experiments/base/json.h"
#include "experiments/base/number_text.h"
#include "experiments/methods/networks.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/agent/worker_query.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/commands/shipped_sweeps.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/process/environment.h"
#include "storage/files/file_modes.h"
#include "storage/weights/published_weights.h"

namespace retort::orchestrator::cli {

// retort model check
namespace {

using nlohmann::ordered_json;

constexpr const char* kScript = "torchscript";
constexpr std::size_t kNamesShown = 10;

std::optional<Diagnostic> UnknownNetwork(const CommandLine& line) {
  if (line.model.torchscript && line.model.network == kScript) return std::nullopt;
  std::vector<std::string> names;
  for (const NamedNetwork& network : kNamedNetworks) {
    if (network.name == line.model.network) return std::nullopt;
    names.emplace_back(network.name);
  }
  Diagnostic error;
  error.key = line.model.network;
  error.choices = FindNearest(line.model.network, names);
  error.message = "there is no network `" + line.model.network + "`";
  if (line.model.network == kScript) {
    error.message +=
        " of this project; --torchscript runs the module in --weights, and with it whatever code it holds.";
  } else if (error.choices.empty()) {
    error.message += "; there are";
    for (const std::string& name : names) error.message += (name == names.front() ? " " : ", ") + name;
    error.message += ".";
  } else {
    error.message += "; one that a sweep file describes needs --sweep SWEEP.";
  }
  return error;
}

// "3x224x224", or "224" for three square channels.
bool ReadImage(const std::string& text, cluster::ModelOrder& order) {
  std::vector<std::int64_t> extents;
  for (std::size_t at = 0; at <= text.size() && extents.size() < 4;) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end || value < 1 || value > 1 << 16) return false;
    extents.push_back(value);
    at = end + 1;
  }
  if (extents.size() == 1) extents = {3, extents[0], extents[0]};
  if (extents.size() != 3) return false;
  order.channels = extents[0];
  order.height = extents[1];
  order.width = extents[2];
  return true;
}

std::string Absolute(const std::string& path) {
  if (path.empty()) return "";
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal().string();
}

// Returns the layers of the network that the sweep file describes; nothing, after errors, where it does not.
std::optional<std::string> FindDescribed(const CommandLine& line, const std::string& shared,
                                         std::vector<Diagnostic>& errors) {
  const std::string path = FindSweepFile(line.model.sweep, shared);
  NetworksOutcome found = LoadNetworks(path);
  errors = std::move(found.errors);
  if (!errors.empty()) return std::nullopt;
  if (const auto network = found.layers.find(line.model.network); network != found.layers.end())
    return *network->second;
  Diagnostic error;
  error.key = line.model.network;
  std::vector<std::string> names;
  for (const auto& [name, layers] : found.layers) names.push_back(name);
  error.choices = SortByNearness(line.model.network, names);
  error.message =
      path + " has no [network." + line.model.network + "]" + (names.empty() ? ", nor any other" : "") + ".";
  errors.push_back(std::move(error));
  return std::nullopt;
}

// The absolute path of --weights, which may be torchvision's name of a file in the cache of torch.hub.
Result<std::string> FindWeights(storage::Env& env, const std::string& named) {
  if (!storage::IsPublishedName(named)) return Absolute(named);
  RETORT_ASSIGN_OR_RETURN(const storage::PublishedFile file, storage::FindPublishedFile(named));
  RETORT_RETURN_IF_ERROR(storage::DigestPublished(env, file).status());
  return file.path;
}

Result<cluster::ModelOrder> MakeOrder(storage::Env& env, const CommandLine& line) {
  cluster::ModelOrder order;
  order.network = line.model.network;
  RETORT_ASSIGN_OR_RETURN(order.weights, FindWeights(env, line.model.weights));
  order.input = Absolute(line.model.input);
  order.logits_out = Absolute(line.model.logits_out);
  order.classes = line.model.classes;
  order.torchscript = line.model.torchscript;
  order.non_finite = line.model.non_finite;
  if (!line.model.image.empty() && !ReadImage(line.model.image, order))
    return UsageError("--image " + line.model.image +
                      " is no image shape; write CxHxW as in 3x224x224, or a size as in 224.");
  if (!line.model.logits_out.empty() && line.model.input.empty())
    return UsageError("--logits-out needs --input FILE.npy: images to be asked about.");
  if (line.model.torchscript && (line.model.network != kScript || line.model.weights.empty()))
    return UsageError(
        "--torchscript runs a module of its own: `retort model check torchscript --torchscript --weights "
        "FILE`.");
  return order;
}

std::string NameList(const char* what, const ordered_json& names) {
  if (names.empty()) return "";
  std::string text = fmt::format("  {} {}:", names.size(), what);
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    const ordered_json& name = names[i];
    text += (i == 0 ? " " : ", ") +
            (name.is_string() ? name.get<std::string>() : name.value("file", "") + " for " + name.value("network", ""));
  }
  return text +
         (names.size() > kNamesShown ? fmt::format(" and {} more (--json lists all)", names.size() - kNamesShown)
                                     : "") +
         "\n";
}

std::string WeightsText(const ordered_json& weights) {
  if (weights.is_null()) return "weights: none given, the initial ones\n";
  std::string text = fmt::format("weights: {}, {}, SHA-256 {}\n", weights.value("path", ""),
                                 weights.value("container", ""), weights.value("sha256", ""));
  const ordered_json known = weights.value("known", ordered_json());
  if (!known.is_null())
    text += fmt::format("  {}: {} % top 1 after a resize to {} and a crop of {} ({})\n", known.value("name", ""),
                        known.value("accuracy", 0.0), known.value("resize", 0), known.value("crop", 0),
                        known.value("interpolation", ""));
  return text + NameList("other entries of the file, left out", weights.value("left_out", ordered_json::array()));
}

std::string KeysText(const ordered_json& keys) {
  std::string text = "names: " + keys.value("summary", "") + "\n";
  if (const std::string prefix = keys.value("prefix", ""); !prefix.empty())
    text += "  prefix of every name: " + prefix + "\n";
  for (const auto& [key, what] : {std::pair{"missing", "missing"}, std::pair{"unexpected", "unexpected"},
                                  std::pair{"misshaped", "of another shape"}, std::pair{"renamed", "renamed"},
                                  std::pair{"dropped", "dropped"}, std::pair{"zeroed", "set to 0"}})
    text += NameList(what, keys.value(key, ordered_json::array()));
  return text;
}

std::string ReportText(const ordered_json& report) {
  std::string text = fmt::format("{}: {} parameters", report.value("network", ""),
                                 CountText(report.value("parameters", std::int64_t{0})));
  if (report.contains("image"))
    text += fmt::format(", {} classes, images {}x{}x{}", report.value("classes", 0), DumpJson(report["image"][0]),
                        DumpJson(report["image"][1]), DumpJson(report["image"][2]));
  text += "\n" + WeightsText(report.value("weights", ordered_json()));
  if (report.contains("keys")) text += KeysText(report["keys"]);
  if (report.contains("logits"))
    text += fmt::format("logits: {}{}\n", DumpJson(report["logits"]["shape"]),
                        report["logits"].value("path", "").empty() ? "" : " in " + report["logits"].value("path", ""));
  return text;
}

}  // namespace

void AddModel(CLI::App& app, CommandLine& line) {
  CLI::App* model = AddCommand(app, "model", "Networks and saved weights");
  model->require_subcommand(1);
  CLI::App* check =
      AddCommand(*model, "check", "What of saved weights fits a network, its parameter count, and its logits");
  check->add_option("ARCH", line.model.network, "A network of the sweep file, as resnet34")->required();
  check->add_option("--sweep", line.model.sweep, "The sweep file whose [network.ARCH] describes the network")
      ->type_name("SWEEP");
  check
      ->add_option("--weights", line.model.weights,
                   ".pth (zip, legacy or tar) or safetensors, or torchvision's name of a file in torch.hub's cache, as "
                   "ResNet34_Weights.IMAGENET1K_V1; nothing in it is run")
      ->type_name("FILE");
  check->add_option("--input", line.model.input, "Images: a .npy of float32 [rows, channels, height, width]")
      ->type_name("FILE.npy");
  check
      ->add_option("--logits-out", line.model.logits_out,
                   "What the network says of them: a .npy of float32 [rows, classes]")
      ->type_name("FILE.npy");
  check->add_flag("--force", line.force, "Also over a file that is there");
  check->add_option("--classes", line.model.classes, "Classes (default as the weights have it)")
      ->check(CLI::Range(1, 1 << 20));
  check->add_option("--image", line.model.image, "CxHxW, or a size for 3 channels (default as the input has it)");
  check->add_flag("--torchscript", line.model.torchscript,
                  "ARCH is `torchscript`: FILE is a module, and the code in it is run. Only for files that you trust");
  check->add_flag("--allow-non-finite", line.model.non_finite, "Let NaN and infinity in the weights through");
}

int ExecuteModel(const Invocation& call) {
  const CommandLine& line = call.line;
  std::string layers;
  if (!line.model.sweep.empty()) {
    std::vector<Diagnostic> errors;
    const std::optional<std::string> found = FindDescribed(line, FindSharedFolder(), errors);
    if (!found) return call.console.Fail(errors);
    layers = *found;
  } else if (const auto unknown = UnknownNetwork(line)) {
    return call.console.Fail({*unknown});
  }
  Result<cluster::ModelOrder> order = MakeOrder(call.env, line);
  if (!order.ok()) return call.console.Fail(order.status());
  order->layers = std::move(layers);
  if (!line.model.logits_out.empty())
    if (const Status may = CheckOutput(call.env, line.model.logits_out, {.force = line.force}); !may.ok())
      return call.console.Fail(may);
  std::string program = cluster::FindVariable(call.environment, "RETORT_WORKER").value_or("");
  if (program.empty()) program = GetProgramDirectory() + "/retort-worker";
  const storage::UmaskScope users(call.umask);  // of what the worker writes
  const Result<std::string> answer =
      QueryWorker({program, cluster::MakeWorkerEnvironment(call.environment, {}), cluster::kModelArgument,
                   cluster::EncodeModelOrder(*order), "the check of the network " + line.model.network},
                  [](const cluster::Progress&) {});
  if (!answer.ok()) return call.console.Fail(answer.status());
  const ordered_json report = TryParseOrderedJson(*answer);
  if (!report.is_object()) return call.console.Fail(EnvironmentError("The worker program's report is no JSON object."));
  const bool fits = report.value("ok", false);
  if (line.global.json) {
    ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document.update(report);
    call.console.Data(FormatDocument(document));
  } else {
    call.console.Text(ReportText(report));
    if (!fits) call.console.Message(report.value("refusal", ""));
  }
  return fits ? 0 : GetExitCode(StatusCode::refused);
}

}  // namespace retort::orchestrator::cli
