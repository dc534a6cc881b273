// The parts of JSON documents that several commands print: claims, trials, ledger entries and devices.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/methods/stated_settings.h"
#include "experiments/privacy/claim.h"
#include "orchestrator/results/devices.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/search_standing.h"
#include "storage/log/privacy_ledger.h"

namespace retort::orchestrator::cli {

[[nodiscard]] nlohmann::ordered_json MakeClaimsJson(const std::vector<privacy::Claim>& claims);
// The same as text on one line.
[[nodiscard]] std::string FormatClaims(const std::vector<privacy::Claim>& claims);

// What every document ends as: two-space indent and a line end; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string FormatDocument(const nlohmann::ordered_json& document);

// The same with one more member, `key`: an array of `count` entries, one line each, made and written one by
// one, since there may be many.
void WriteWithArray(const std::function<void(std::string_view)>& out, const nlohmann::ordered_json& document,
                    const std::string& key, std::size_t count, const std::function<std::string(std::size_t)>& entry);

// {"key": "value", ...}; as many values as keys.
[[nodiscard]] nlohmann::ordered_json MakeKeysAndValues(const std::vector<std::string>& keys,
                                                       const std::vector<std::string>& values);

inline constexpr int kSchemaVersion = 1;

// {"trial","name","state","attempts","failure","metrics","row_digest","spec"}; `detail` when there is one.
[[nodiscard]] nlohmann::ordered_json MakeTrialJson(const TrialView& trial);
// [{key, here, text, place}] and [{key, here, reason}]: settings that are not the paper's, or not in it.
[[nodiscard]] nlohmann::ordered_json MakeDifferencesJson(const std::vector<Difference>& differences);
[[nodiscard]] nlohmann::ordered_json MakeChosenJson(const std::vector<Chosen>& chosen);
// The same as text on one line, with further members: the names and texts of JSON values.
[[nodiscard]] std::string FormatTrialJson(const TrialView& trial,
                                          const std::vector<std::pair<std::string, std::string>>& further = {});
[[nodiscard]] nlohmann::ordered_json MakeLedgerEntryJson(const storage::LedgerEntry& entry);

// {"method","score","goal","trials","keys":[…],"suggested","ended","best":{"suggestion","trial","name","score",
// "values":{…}}|null,"cost"}.
[[nodiscard]] nlohmann::ordered_json SearchJson(const SearchStanding& standing);

// A value of a metric: counts as whole numbers.
[[nodiscard]] nlohmann::ordered_json MakeMetricJson(double value, const std::string& metric);

// [{"host","device","rank","slot","state":"free|busy|drained|lost","trials":[ID…]}…]; a lost one has "since".
[[nodiscard]] nlohmann::ordered_json MakeDevicesJson(const std::vector<DeviceView>& devices);

}  // namespace retort::orchestrator::cli
