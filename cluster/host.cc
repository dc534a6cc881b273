#include "cluster/host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>

#include "cluster/launch_environment.h"

namespace retort::cluster {

std::string ReadHostIdentity(const std::string& proc) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::string boot;
  std::ifstream(proc + "/sys/kernel/random/boot_id") >> boot;
  std::error_code error;
  const std::filesystem::path network = std::filesystem::read_symlink(proc + "/self/ns/net", error);
  return std::string(name.data()) + "/" + boot + "/" + (error ? "" : network.string());
}

namespace {

struct Interface {
  std::string name;
  std::string address;
  bool v4 = false;
};

std::string NumericAddress(const sockaddr* address) {
  const socklen_t length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> text{};
  const int failed = getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed != 0 ? "" : text.data();
}

// Those that are up and lead elsewhere; IPv4 first.
std::vector<Interface> UsableInterfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0 || (i->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = i->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::string address = NumericAddress(i->ifa_addr);
    // Link-local addresses mean something on one link only.
    if (address.empty() || address.starts_with("fe80:") || address.starts_with("169.254.")) continue;
    found.push_back({i->ifa_name, std::move(address), family == AF_INET});
  }
  std::stable_partition(found.begin(), found.end(), [](const Interface& i) { return i.v4; });
  return found;
}

// Name of the interface with the IPv4 default route, or empty.
std::string DefaultRouteInterface() {
  std::ifstream routes("/proc/net/route");
  std::string line;
  while (std::getline(routes, line)) {
    std::istringstream fields(line);
    std::string name, destination;
    if (fields >> name >> destination && destination == "00000000") return name;
  }
  return "";
}

// Of the line "<name>: <number> kB", in bytes.
std::int64_t ReadKilobytes(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    std::int64_t kilobytes = 0;
    if (words >> word >> kilobytes && word == name + ":") return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

Result<std::string> FindHostAddress(const std::vector<std::string>& environment) {
  const std::vector<Interface> usable = UsableInterfaces();
  const auto named = [&usable](const std::string& name) {
    return std::find_if(usable.begin(), usable.end(), [&](const Interface& i) { return i.name == name; });
  };
  if (const auto wanted = FindVariable(environment, "RETORT_GANG_INTERFACE"); wanted && !wanted->empty()) {
    if (const auto found = named(*wanted); found != usable.end()) return found->address;
    std::string names;
    for (const Interface& i : usable) names += (names.empty() ? "" : ", ") + i.name;
    return UsageError("RETORT_GANG_INTERFACE=" + *wanted + ": no such interface is up with an address; there are: " +
                      (names.empty() ? "none but loopback" : names));
  }
  if (const auto found = named(DefaultRouteInterface()); found != usable.end()) return found->address;
  return usable.empty() ? std::string("127.0.0.1") : usable.front().address;
}

std::int64_t ReadAvailableMemory(const std::string& meminfo) { return ReadKilobytes(meminfo, "MemAvailable"); }

std::int64_t ReadPeakResident(pid_t process, const std::string& proc) {
  return ReadKilobytes(proc + "/" + std::to_string(process) + "/status", "VmHWM");
}

std::uint64_t CountOomKills(const std::string& vmstat) {
  std::ifstream file(vmstat);
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;)
    if (name == "oom_kill") return value;
  return 0;
}

}  // namespace retort::cluster
