#include "cluster/host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "cluster/launch_environment.h"
#include "experiments/base/number_text.h"

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

namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

int CountDeviceFiles(const std::string& directory) {
  constexpr std::string_view kPrefix = "nvidia";
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && IsNumber(std::string_view(name).substr(kPrefix.size()))) ++count;
  }
  return count;
}

// CUDA takes entries up to the first that names no device: an index out of range, or a negative one.
int CountVisible(std::string_view mask, int devices) {
  int visible = 0;
  while (!mask.empty() && visible < devices) {
    const std::size_t comma = mask.find(',');
    const std::string_view entry = mask.substr(0, comma);
    if (IsNumber(entry)) {
      int index = devices;
      std::from_chars(entry.data(), entry.data() + entry.size(), index);
      if (index >= devices) break;
    } else if (!entry.starts_with("GPU-") && !entry.starts_with("MIG-")) {
      break;
    }
    ++visible;
    mask = comma == std::string_view::npos ? std::string_view() : mask.substr(comma + 1);
  }
  return visible;
}

int CountCpus() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof(mine), &mine) == 0) return std::max(1, CPU_COUNT(&mine));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

struct Gpu {
  std::string model, uuid;
};

std::string Trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// Lines "Model: \t NVIDIA H200".
Gpu ReadGpu(const std::filesystem::path& path) {
  Gpu gpu;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(0, colon), value = Trim(line.substr(colon + 1));
    if (name == "Model") gpu.model = value;
    if (name == "GPU UUID") gpu.uuid = value;
  }
  return gpu;
}

// By bus address, which is the order of PCI_BUS_ID.
std::map<std::string, Gpu> ReadGpus(const std::string& directory) {
  std::map<std::string, Gpu> gpus;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    gpus.emplace(entry.path().filename().string(), ReadGpu(entry.path() / "information"));
  return gpus;
}

// An entry of CUDA_VISIBLE_DEVICES: an ordinal, or the beginning of a UUID. Empty: it names none.
std::string FindUuid(const std::string& entry, const std::vector<std::string>& all) {
  if (const auto ordinal = ParseWholeNumber(entry))
    return *ordinal < std::ssize(all) ? all[static_cast<std::size_t>(*ordinal)] : "";
  for (const std::string& uuid : all)
    if (entry.starts_with("GPU-") && uuid.starts_with(entry)) return uuid;
  return "";
}

}  // namespace

HostTopology DiscoverHost(const std::vector<std::string>& environment, const std::string& device_directory) {
  HostTopology host;
  host.host = HostName();
  host.cpus = CountCpus();
  host.cuda_devices = CountDeviceFiles(device_directory);
  if (const auto mask = FindVariable(environment, "CUDA_VISIBLE_DEVICES")) {
    host.cuda_devices = CountVisible(*mask, host.cuda_devices);
  }
  return host;
}

std::vector<std::string> AssignDevices(const HostTopology& host, int local_rank, int local_size, int slots,
                                       int per_gpu) {
  RETORT_CHECK(slots >= 1 && per_gpu >= 1 && local_size >= 1 && local_rank >= 0 && local_rank < local_size);
  if (host.cuda_devices == 0) return std::vector<std::string>(static_cast<std::size_t>(slots), "cpu");
  std::vector<std::string> devices;
  const int begin = local_rank * host.cuda_devices / local_size;
  const int end = (local_rank + 1) * host.cuda_devices / local_size;
  for (int device = begin; device < end; ++device)
    devices.insert(devices.end(), static_cast<std::size_t>(per_gpu), "cuda:" + std::to_string(device));
  return devices;
}

std::vector<std::string> FindGpuUuids(const std::vector<std::string>& environment,
                                      const std::string& driver_directory) {
  const bool by_bus = FindVariable(environment, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID";
  std::vector<std::string> all;
  std::string model;
  for (const auto& [bus, gpu] : ReadGpus(driver_directory)) {
    if (gpu.uuid.empty() || (!by_bus && !all.empty() && gpu.model != model)) return {};
    model = gpu.model;
    all.push_back(gpu.uuid);
  }
  const std::optional<std::string> mask = FindVariable(environment, "CUDA_VISIBLE_DEVICES");
  if (!mask) return all;
  std::vector<std::string> visible;
  std::stringstream entries(*mask);
  for (std::string entry; std::getline(entries, entry, ',');) {
    visible.push_back(FindUuid(Trim(entry), all));
    if (visible.back().empty()) return {};  // CUDA ends its list there; what the entry means is not known here
  }
  return visible;
}

namespace {

struct SocketQuery {
  nlmsghdr header;
  inet_diag_req_v2 about;
};

// Asks the kernel about the socket that `query` names; nothing if there is none. The kernel answers within the call.
// Sets `full` where no descriptor or memory was left for the query.
std::optional<inet_diag_msg> QuerySocket(const SocketQuery& query, bool& full) {
  const int kernel = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  full = kernel < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (kernel < 0) return std::nullopt;
  char reply[1024];
  ssize_t got = ::send(kernel, &query, sizeof(query), 0);
  if (got > 0) got = ::recv(kernel, reply, sizeof(reply), MSG_DONTWAIT);
  ::close(kernel);
  nlmsghdr header{};
  inet_diag_msg socket{};
  if (got < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof(socket))) return std::nullopt;
  std::memcpy(&header, reply, sizeof(header));
  std::memcpy(&socket, reply + NLMSG_HDRLEN, sizeof(socket));
  return header.nlmsg_type == SOCK_DIAG_BY_FAMILY ? std::optional(socket) : std::nullopt;
}

struct End {
  sa_family_t family = AF_UNSPEC;
  __be16 port = 0;
  __be32 address[4] = {};
};

using NameOfSocket = int(int, sockaddr*, socklen_t*);

std::optional<End> ReadEnd(int socket, NameOfSocket* name) {
  sockaddr_storage stored{};
  socklen_t size = sizeof(stored);
  if (name(socket, reinterpret_cast<sockaddr*>(&stored), &size) != 0) return std::nullopt;
  End end;
  end.family = stored.ss_family;
  if (stored.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(stored);
    end.port = in.sin_port;
    std::memcpy(end.address, &in.sin_addr, sizeof(in.sin_addr));
  } else if (stored.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(stored);
    end.port = in.sin6_port;
    std::memcpy(end.address, &in.sin6_addr, sizeof(in.sin6_addr));
  } else {
    return std::nullopt;
  }
  return end;
}

bool IsEstablished(int socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_ESTABLISHED;
}

// The other end of `socket`, if it is on this host.
std::optional<inet_diag_msg> FindFarEnd(int socket, bool& full) {
  full = false;
  const std::optional<End> far = ReadEnd(socket, ::getpeername), near = ReadEnd(socket, ::getsockname);
  if (!far || !near) return std::nullopt;
  SocketQuery query{};
  query.header.nlmsg_len = sizeof(query);
  query.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  query.header.nlmsg_flags = NLM_F_REQUEST;
  query.about.sdiag_family = static_cast<__u8>(far->family);
  query.about.sdiag_protocol = IPPROTO_TCP;
  query.about.idiag_states = ~0U;
  inet_diag_sockid& id = query.about.id;
  id.idiag_sport = far->port;
  id.idiag_dport = near->port;
  std::memcpy(id.idiag_src, far->address, sizeof(far->address));
  std::memcpy(id.idiag_dst, near->address, sizeof(near->address));
  id.idiag_cookie[0] = id.idiag_cookie[1] = static_cast<__u32>(INET_DIAG_NOCOOKIE);
  return QuerySocket(query, full);
}

}  // namespace

// A socket that its process has closed has no owner, and the kernel reports root.
std::optional<uid_t> FindPeerUser(int socket) {
  bool full = false;
  const std::optional<inet_diag_msg> found = FindFarEnd(socket, full);
  if (!found || found->idiag_state != TCP_ESTABLISHED) return std::nullopt;
  return found->idiag_uid;
}

// In this order: an end that is closed between the two looks is seen by the second. What this end holds established
// may be half closed at the other, where bytes still wait to be sent.
bool IsOwnPeer(int socket) {
  if (!ReadEnd(socket, ::getsockname)) return true;
  bool full = false;
  const std::optional<inet_diag_msg> found = FindFarEnd(socket, full);
  if (full) return false;
  if (found && (found->idiag_state != TCP_ESTABLISHED || found->idiag_uid != ::geteuid())) return false;
  return IsEstablished(socket);
}

}  // namespace retort::cluster
