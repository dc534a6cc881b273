// What `retort doctor` says about one thing.
#pragma once

#include <string>
#include <vector>

namespace retort::orchestrator::doctor {

enum class Level : unsigned char {
  ok,       // as it should be
  note,     // worth knowing; nothing to do
  warning,  // `retort run` works, but not as well, or not in every place
  problem,  // would stop `retort run`
};

struct Finding {
  std::string name;  // what was looked at: "worker", "results folder"
  Level level = Level::ok;
  std::string what;         // one line
  std::string remedy = {};  // what mends it, where anything needs to be
};

using Findings = std::vector<Finding>;

}  // namespace retort::orchestrator::doctor
