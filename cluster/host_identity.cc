#include "cluster/host_identity.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace retort::cluster {

std::string HostIdentity(const std::string& proc) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::string boot;
  std::ifstream(proc + "/sys/kernel/random/boot_id") >> boot;
  std::error_code error;
  const std::filesystem::path network = std::filesystem::read_symlink(proc + "/self/ns/net", error);
  return std::string(name.data()) + "/" + boot + "/" + (error ? "" : network.string());
}

}  // namespace retort::cluster
