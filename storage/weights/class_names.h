// The names of the classes that a file of weights says its outputs have.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/weights/torch_pickle.h"

namespace retort::storage {

// Keys under which training scripts keep the names: a list in the order of the outputs, or names by number, or numbers
// by name. In any case: "CLASSES".
[[nodiscard]] bool IsClassNamesKey(std::string_view key);
// Returns the names in a value under such a key, in the order of the classes; empty unless each class has one name.
// Numbers between others that have no name get an empty one.
[[nodiscard]] std::vector<std::string> ParseClassNames(const Pickle& pickle, const PickleValue& value);
// Of the text under such a key in a safetensors file's metadata: the same shapes as JSON or as Python prints them, or
// names between commas.
[[nodiscard]] std::vector<std::string> ParseClassNames(const std::string& text);
// Of a JSON object under any other key there, as "config", that has such a key.
[[nodiscard]] std::vector<std::string> FindClassNames(const std::string& text);

// Returns the class names in a file that ReadWeights reads; empty where it has none. No tensor is read. Errors: of
// ReadWeights.
[[nodiscard]] Result<std::vector<std::string>> ReadClassNames(Env& env, const std::string& path);

// Describes, as a clause, how the class names in the weights contradict those of a data set: a class has different
// numbers. Case and what is neither letter nor digit do not count. Empty where they agree, and where either has no
// names.
[[nodiscard]] std::string FindClassContradiction(const std::vector<std::string>& weights,
                                                 const std::vector<std::string>& data);

}  // namespace retort::storage
