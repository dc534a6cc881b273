// Devices of a run as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "orchestrator/cli/devices.h"

namespace retort::orchestrator::cli {

// [{"host","device","rank","slot","state":"free|busy|drained|lost","trials":[ID…]}…]; a lost one has "since".
[[nodiscard]] inline nlohmann::ordered_json DevicesJson(const std::vector<DeviceView>& devices) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const DeviceView& device : devices) {
    nlohmann::ordered_json trials = nlohmann::ordered_json::array();
    for (const TrialView* trial : device.trials) trials.push_back(trial->spec.id.Hex());
    nlohmann::ordered_json entry = {{"host", device.host},
                                    {"device", device.device},
                                    {"rank", device.rank},
                                    {"slot", device.slot},
                                    {"state", DeviceStateName(device.state)},
                                    {"trials", std::move(trials)}};
    if (device.since > 0) entry["since"] = device.since;
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace retort::orchestrator::cli
