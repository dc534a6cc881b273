#include "orchestrator/doctor/device_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include <system_error>

#include "cluster/host.h"
#include "cluster/launch_environment.h"
#include "cluster/worker_process.h"
#include "cluster/worker_questions.h"
#include "experiments/base/number_text.h"

namespace retort::orchestrator::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kProbeLimit{7};
constexpr const char* kMask = "CUDA_VISIBLE_DEVICES";

// The number behind `prefix`; nothing for other names.
std::optional<int> NumberAfter(const std::string& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = ParseWholeNumber(std::string_view(name).substr(prefix.size()), std::numeric_limits<int>::max());
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

bool HasInstance(const fs::path& gpu) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(gpu / "mig", error))
    if (entry.path().filename().string().starts_with("gi")) return true;
  return false;
}

std::string DriverVersion(const std::string& directory) {
  std::ifstream file(directory + "/version");
  std::string line;
  if (!std::getline(file, line)) return "";
  std::smatch found;
  return std::regex_search(line, found, std::regex(R"(\b(\d+\.\d+(\.\d+)?)\b)")) ? found[1].str() : "unknown";
}

std::vector<std::string> ListEntries(const std::string& mask) {
  std::vector<std::string> entries;
  std::istringstream words(mask);
  for (std::string entry; std::getline(words, entry, ',');) entries.push_back(entry);
  return entries;
}

std::string Count(int count) { return fmt::format("{} {}", count, count == 1 ? "GPU" : "GPUs"); }

// What is odd about one entry; empty when nothing is.
std::string OddEntry(const std::string& entry, int files) {
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) return "";
  if (entry.find_first_not_of("0123456789") != std::string::npos || entry.empty())
    return fmt::format("\"{}\" is neither a number nor a GPU-… or MIG-… name", entry);
  const std::optional<int> number = NumberAfter(entry, "");
  if (number && *number < files) return "";
  return fmt::format("there is no GPU {} here ({})", entry, files == 0 ? "none at all" : Count(files));
}

}  // namespace

DeviceFacts ReadDeviceFacts(const std::vector<std::string>& environment, const std::string& worker_program,
                            const std::string& device_directory, const std::string& driver_directory) {
  DeviceFacts facts;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(device_directory, error)) {
    const std::string name = entry.path().filename().string();
    const bool control = name == "nvidiactl";
    if (!control && !NumberAfter(name, "nvidia")) continue;
    facts.control = facts.control || control;
    facts.files += control ? 0 : 1;
    if (::access(entry.path().c_str(), R_OK | W_OK) != 0) facts.closed.push_back(entry.path().string());
  }
  std::sort(facts.closed.begin(), facts.closed.end());
  facts.driver = DriverVersion(driver_directory);
  for (const auto& entry : fs::directory_iterator(driver_directory + "/capabilities", error))
    if (const auto gpu = NumberAfter(entry.path().filename().string(), "gpu"); gpu && HasInstance(entry.path()))
      facts.split.push_back(*gpu);
  std::sort(facts.split.begin(), facts.split.end());
  facts.mask = cluster::FindVariable(environment, kMask);
  facts.visible = cluster::DiscoverHost(environment, device_directory).cuda_devices;
  facts.library = fs::exists(fs::path(worker_program).parent_path() / "libretort_cuda.so", error);
  if (facts.visible == 0 || !facts.library) return facts;
  const Result<int> usable =
      cluster::CountUsableCuda(worker_program, cluster::MakeWorkerEnvironment(environment, {}), kProbeLimit);
  if (usable.ok())
    facts.usable = *usable;
  else
    facts.trouble = usable.status().message();
  return facts;
}

Finding CheckVisibleDevices(const DeviceFacts& facts) {
  if (!facts.closed.empty())
    return {"GPUs", Level::warning,
            fmt::format("this user may not open {}: trials run on the CPU", fmt::join(facts.closed, ", ")),
            "sudo usermod -aG video,render $USER, then log in again; in a container, start it with --gpus all"};
  if (facts.files == 0 && !facts.driver.empty())
    return {
        "GPUs", Level::warning,
        fmt::format("the NVIDIA driver {} is loaded, but no GPU is shown in /dev: trials run on the CPU", facts.driver),
        "nvidia-smi makes the files; in a container, start it with --gpus all; in Slurm, ask for "
        "--gres=gpu:1"};
  if (facts.files == 0) return {"GPUs", Level::ok, "none; trials run on the CPU"};
  if (facts.visible == 0)  // the mask hides them, and has a finding of its own where that looks like a mistake
    return {"GPUs", Level::note, Count(facts.files) + " hidden by CUDA_VISIBLE_DEVICES; trials run on the CPU"};
  if (!facts.library)
    return {"GPUs", Level::warning,
            Count(facts.visible) + " cannot be used, this build has no libretort_cuda.so: trials run on the CPU",
            "install the CUDA toolkit; bash cluster/setup.sh --cuda; cmake --preset cuda && cmake --build "
            "--preset cuda"};
  if (facts.driver.empty() || !facts.control)
    return {"GPUs", Level::warning,
            Count(facts.visible) + " shown in /dev, but the NVIDIA driver is not loaded: trials run on the CPU",
            "sudo modprobe nvidia; in a container, start it with --gpus all"};
  if (facts.usable == 0)
    return {"GPUs", Level::warning, Count(facts.visible) + " cannot be used: " + facts.trouble,
            "compare nvidia-smi's CUDA version with LibTorch's; bash cluster/setup.sh --cuda brings NCCL and "
            "cuBLAS"};
  if (facts.usable < facts.visible)
    return {"GPUs", Level::warning,
            fmt::format("the host shows {}, the driver {}: the rest is left out", Count(facts.visible), facts.usable),
            "nvidia-smi says what ails the others"};
  return {"GPUs", Level::ok,
          fmt::format("{} usable, with CUDA kernels and NCCL (driver {})", Count(facts.usable), facts.driver)};
}

std::optional<Finding> CheckDeviceMask(const DeviceFacts& facts) {
  if (!facts.mask) return std::nullopt;
  const std::string set = fmt::format("{}={}", kMask, *facts.mask);
  const std::string remedy = facts.files == 0
                                 ? "unset CUDA_VISIBLE_DEVICES"
                                 : fmt::format("export CUDA_VISIBLE_DEVICES={}", facts.files == 1 ? "0" : "0,1");
  if (facts.mask->empty() || *facts.mask == "-1" || *facts.mask == "NoDevFiles")
    return Finding{"GPU mask", Level::note, set + " hides every GPU", ""};
  std::set<std::string> seen;
  for (const std::string& entry : ListEntries(*facts.mask)) {
    if (const std::string odd = OddEntry(entry, facts.files); !odd.empty())
      return Finding{"GPU mask", Level::warning,
                     fmt::format("{}: {}; CUDA takes {} of it", set, odd,
                                 facts.visible == 0 ? "none" : fmt::format("the first {}", facts.visible)),
                     remedy};
    if (!seen.insert(entry).second)
      return Finding{"GPU mask", Level::warning, fmt::format("{} names {} twice; CUDA then sees no GPU", set, entry),
                     remedy};
  }
  return Finding{"GPU mask", Level::ok, set};
}

std::optional<Finding> CheckMig(const DeviceFacts& facts) {
  if (facts.split.empty()) return std::nullopt;
  const std::string which = fmt::format("GPU {} split into MIG instances", fmt::join(facts.split, ", "));
  if (facts.mask && facts.mask->find("MIG-") != std::string::npos)
    return Finding{"MIG", Level::note, which + "; CUDA_VISIBLE_DEVICES chooses one, and a process sees one alone", ""};
  return Finding{"MIG", Level::warning, which + ", of which a process sees the first alone, and gangs none",
                 "name one per rank: CUDA_VISIBLE_DEVICES=MIG-… (nvidia-smi -L lists them)"};
}

}  // namespace retort::orchestrator::doctor
