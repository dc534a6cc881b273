// The quick way through a trial's JSON, for opening sweeps of a hundred thousand trials.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "experiments/spec/trial_spec.h"

namespace retort {

// Reads what EncodeTrialSpec writes, in any order of keys. Nothing for whatever is unusual: blanks, escaped
// characters, an unknown or repeated key, a wrong type, or a data set whose text is not `data_text`, which stands for
// `data`. The caller then decodes thoroughly and finds what is wrong, if anything is.
[[nodiscard]] std::optional<TrialSpec> ScanTrialSpec(std::string_view json, std::string_view data_text,
                                                     const std::shared_ptr<const DataSpec>& data);
// The text of the data set in the JSON of a spec; empty if there is none, or none that the scan would find.
[[nodiscard]] std::string_view ScanDataText(std::string_view json);

}  // namespace retort
