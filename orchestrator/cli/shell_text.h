// Words as a shell reads them again.
#pragma once

#include <string>
#include <string_view>

namespace retort::orchestrator::cli {

// In single quotes where it holds anything but letters, digits and "/._-+=:,@%".
[[nodiscard]] std::string ShellText(std::string_view word);

}  // namespace retort::orchestrator::cli
