// The names of the classes that a file of weights says its outputs have.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/env.h"
#include "storage/weights/pickle.h"

namespace retort::storage {

// Keys under which training scripts keep the names: a list in the order of the outputs, or names by number, or numbers
// by name. In any case: "CLASSES".
[[nodiscard]] bool IsClassNamesKey(std::string_view key);
// Of a value under such a key; empty for anything else than one name for a number. Numbers between that have no name
// get an empty one.
[[nodiscard]] std::vector<std::string> ClassNamesOf(const Pickle& pickle, const PickleValue& value);
// Of the text under such a key in a safetensors file's metadata: the same shapes as JSON or as Python prints them, or
// names between commas.
[[nodiscard]] std::vector<std::string> ClassNamesOf(const std::string& text);
// Of a JSON object under any other key there, as "config", that has such a key.
[[nodiscard]] std::vector<std::string> ClassNamesBelow(const std::string& text);

// Of a file that ReadWeights reads; empty where it names none. No tensor is read. Errors: of ReadWeights.
[[nodiscard]] Result<std::vector<std::string>> ReadClassNames(Env& env, const std::string& path);

// How the names in the weights contradict those of a data set, as a clause: a class stands at different numbers. Case
// and what is neither letter nor digit do not count. Empty where they agree, and where either has no names.
[[nodiscard]] std::string ClassContradiction(const std::vector<std::string>& weights,
                                             const std::vector<std::string>& data);

}  // namespace retort::storage
