#include "worker/run/provenance.h"

#include <ATen/Version.h>
#include <torch/headeronly/version.h>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>

#include "experiments/base/json.h"

namespace retort::worker {

namespace {

// What the networks' arithmetic was on the device.
const char* FindPrecision(const TrialSpec& spec, const std::string& device) {
  if (spec.precision == Precision::tf32) return device.starts_with("cuda") ? "tf32" : "float32";
  return spec.precision == Precision::bfloat16 ? "bfloat16" : "float32";
}

}  // namespace

std::string FormatProvenanceJson(const std::string& build, const TrialSpec& spec, const std::string& device,
                                 const std::string& trained_on, const Series& timings,
                                 const std::vector<RegionUse>& regions) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  nlohmann::json json = {{"build", build},
                         {"torch", TORCH_VERSION},
                         {"cpu_capability", at::get_cpu_capability()},
                         {"host", host.data()},
                         {"device", device},
                         {"trained_on", trained_on},
                         {"threads", spec.threads},
                         {"precision", FindPrecision(spec, device)}};
  for (const auto& [name, value] : timings) json["timings"][name] = value;
  for (const RegionUse& use : regions) {
    nlohmann::json& region = json["graphs"][use.name];
    region = {{"eager", use.eager}, {"recorded", use.recorded}, {"replayed", use.replayed}};
    if (!use.declined.empty()) region["declined"] = use.declined;
  }
  return DumpJson(json);
}

}  // namespace retort::worker
