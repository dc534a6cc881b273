#include "orchestrator/doctor/environment_check.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cluster/launch_environment.h"
#include "experiments/base/diagnostic.h"
#include "experiments/base/number_text.h"
#include "monitoring/exporter.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/process/open_files.h"
#include "orchestrator/process/terminal.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator::doctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataVariable = "RETORT_DATA";
constexpr std::string_view kPrefix = "RETORT_";

// Descriptors that the smallest run takes: of its own, and one a worker. Gangs, archives and scrapes take
// more.
constexpr std::uint64_t kMinFiles = 9, kMinFilesOfWorker = 1;
constexpr std::uint64_t kManyFiles = 128, kManyFilesOfWorker = 4;
constexpr std::uint64_t kUsualFiles = 1024;
constexpr std::uint64_t kThreadsOfWorker = 16;

// Tries it: what the permissions say does not bind root, and binds a read-only mount no more.
bool CanWrite(const fs::path& folder) {
  std::string own = folder.string() + "/.retort-doctor-XXXXXX";
  return ::mkdtemp(own.data()) != nullptr && ::rmdir(own.c_str()) == 0;
}

// Itself, or the nearest folder above it.
bool CanBeMade(fs::path folder) {
  std::error_code error;
  while (!fs::exists(fs::symlink_status(folder, error)) && folder.has_relative_path()) folder = folder.parent_path();
  return CanWrite(folder);
}

std::optional<std::uint64_t> SoftLimit(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

bool IsFree(std::uint16_t port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return false;
  const int again = 1;  // as the server does: a port that merely lingers is free
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &again, sizeof(again));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free =
      ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 && ::listen(listener, 1) == 0;
  ::close(listener);
  return free;
}

std::string Limited(const char* name, const std::optional<std::uint64_t>& limit) {
  return fmt::format("{} {}", name, limit ? std::to_string(*limit) : "unlimited");
}

}  // namespace

Findings CheckVariables(const std::vector<std::string>& environment, const std::vector<std::string>& known) {
  std::vector<std::string> own;  // what follows the prefix, which would make any two names look alike
  for (const std::string& name : known) own.push_back(name.substr(kPrefix.size()));
  Findings findings;
  int set = 0;
  for (const std::string& entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    if (!name.starts_with(kPrefix)) continue;
    ++set;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::vector<std::string> near = FindNearest(name.substr(kPrefix.size()), own);
    findings.push_back({"variables", Level::warning, name + " is set, and nothing reads it",
                        near.empty()
                            ? fmt::format("unset {}; cluster/ENVIRONMENT.md lists what is read", name)
                            : fmt::format("is {}{} meant? cluster/ENVIRONMENT.md lists all", kPrefix, near.front())});
  }
  if (!findings.empty()) return findings;
  return {{"variables", Level::ok,
           set == 0 ? "no RETORT_ variable is set" : fmt::format("{} RETORT_ set, all known", set)}};
}

PlaceFacts ReadPlaceFacts(const std::vector<std::string>& environment) {
  PlaceFacts facts;
  facts.data = cluster::FindVariable(environment, kDataVariable).value_or("");
  const Result<bool> data = facts.data.empty() ? Result(false) : storage::IsFolder(storage::PosixEnv(), facts.data);
  facts.data_there = data.ok() && *data && ::access(facts.data.c_str(), R_OK | X_OK) == 0;
  if (!data.ok())
    facts.data_trouble = data.status().message();
  else if (*data && !facts.data_there)
    facts.data_trouble = "may not be entered by this user";
  facts.cache = FindCacheDirectory(environment);
  facts.cache_works = !facts.cache.empty() && CanBeMade(facts.cache);
  facts.temporary = cluster::FindVariable(environment, "TMPDIR").value_or("");
  facts.temporary_works = !facts.temporary.empty() && CanWrite(facts.temporary);
  return facts;
}

Finding CheckDataFolder(const PlaceFacts& facts) {
  if (facts.data.empty()) return {"data folder", Level::ok, "RETORT_DATA is not set; the papers' sweeps alone need it"};
  if (facts.data_there) return {"data folder", Level::ok, "RETORT_DATA=" + facts.data};
  if (!facts.data_trouble.empty())
    return {"data folder", Level::warning, "RETORT_DATA=" + facts.data + ": " + facts.data_trouble,
            "let this user enter it, or name another folder"};
  return {"data folder", Level::warning, "RETORT_DATA=" + facts.data + " is no folder",
          "experiments/configs/README.md says what goes there"};
}

std::optional<Finding> CheckCache(const PlaceFacts& facts) {
  if (facts.cache.empty())
    return Finding{"cache", Level::note, "neither HOME nor XDG_CACHE_HOME is set: measured costs are not remembered",
                   ""};
  if (!facts.cache_works)
    return Finding{"cache", Level::note, facts.cache + " cannot be written: measured costs are not remembered",
                   "export XDG_CACHE_HOME=DIR; runs work without"};
  return std::nullopt;
}

std::optional<Finding> CheckTemporary(const PlaceFacts& facts) {
  if (facts.temporary.empty() || facts.temporary_works) return std::nullopt;
  return Finding{"TMPDIR", Level::warning,
                 facts.temporary + " is no folder to write in: cluster/launch/mpirun.sh does not start",
                 "unset TMPDIR, or mkdir -p " + facts.temporary};
}

LimitFacts ReadLimitFacts(int slots) {
  LimitFacts facts;
  facts.slots = slots;
  facts.open_files = GetHardOpenFileLimit();
  facts.processes = SoftLimit(RLIMIT_NPROC);
  facts.address_space = SoftLimit(RLIMIT_AS);
  facts.file_size = SoftLimit(RLIMIT_FSIZE);
  facts.processor_seconds = SoftLimit(RLIMIT_CPU);
  facts.core = SoftLimit(RLIMIT_CORE);
  facts.root = ::geteuid() == 0;
  return facts;
}

Finding CheckLimits(const LimitFacts& facts) {
  const auto slots = static_cast<std::uint64_t>(facts.slots);
  const std::string for_slots = fmt::format("{} {}", slots, slots == 1 ? "slot" : "slots");
  const auto files = facts.open_files;
  if (files && *files < kManyFiles + slots * kManyFilesOfWorker) {
    const std::uint64_t least = kMinFiles + slots * kMinFilesOfWorker;
    const std::uint64_t ample = std::bit_ceil(std::max(kUsualFiles, kManyFiles + slots * kManyFilesOfWorker));
    const std::string remedy =
        fmt::format("ulimit -n {0} as root, or \"* hard nofile {0}\" in /etc/security/limits.conf", ample);
    if (*files < least)
      return {"limits", Level::problem,
              fmt::format("{} open files are allowed; a run with {} needs {}", *files, for_slots, least), remedy};
    return {"limits", Level::warning, fmt::format("{} open files are allowed: few for {}", *files, for_slots), remedy};
  }
  if (facts.processes && !facts.root && *facts.processes < slots * kThreadsOfWorker)
    return {
        "limits", Level::warning,
        fmt::format("{} processes and threads are allowed to this user: too few for {}", *facts.processes, for_slots),
        "ulimit -u 4096, or fewer --slots"};
  if (facts.address_space)
    return {"limits", Level::warning,
            fmt::format("address space is limited to {}; LibTorch maps more than it uses",
                        FormatBytes(*facts.address_space)),
            "ulimit -v unlimited"};
  if (facts.file_size)
    return {"limits", Level::warning, fmt::format("files may not grow beyond {}", FormatBytes(*facts.file_size)),
            "ulimit -f unlimited"};
  if (facts.processor_seconds)
    return {"limits", Level::warning,
            fmt::format("a process is killed after {} s of processor time", *facts.processor_seconds),
            "ulimit -t unlimited"};
  return {"limits", Level::ok,
          fmt::format("{}, {}, {}", Limited("open files", facts.open_files), Limited("processes", facts.processes),
                      Limited("core", facts.core))};
}

Finding CheckLocale(const std::vector<std::string>& environment) {
  std::string value;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (value = cluster::FindVariable(environment, name).value_or(""); !value.empty()) {
      if (IsUtf8Locale(environment)) return {"locale", Level::ok, fmt::format("{}={}", name, value)};
      return {"locale", Level::note, fmt::format("{}={} is not UTF-8, in which everything is printed", name, value),
              "export LC_ALL=C.UTF-8"};
    }
  return {"locale", Level::note, "none is set; everything is printed in UTF-8",
          "export LC_ALL=C.UTF-8 where ε and ∞ look wrong"};
}

PortFacts ReadPortFacts() {
  PortFacts facts;
  facts.first = monitoring::kFirstMetricsPort;
  for (; facts.tried < monitoring::kMetricsPortsTried && facts.free == 0; ++facts.tried)
    if (const auto port = static_cast<std::uint16_t>(facts.first + facts.tried); IsFree(port)) facts.free = port;
  return facts;
}

Finding CheckPorts(const PortFacts& facts) {
  if (facts.free == 0)
    return {"metrics port", Level::problem,
            fmt::format("none of {} ports from {} is free on 127.0.0.1", facts.tried, facts.first),
            "retort run --metrics-listen 127.0.0.1:PORT"};
  if (facts.free != facts.first)
    return {"metrics port", Level::note,
            fmt::format("{} is taken; a run would take {} and write it to targets.json", facts.first, facts.free), ""};
  return {"metrics port", Level::ok, fmt::format("{} is free", facts.free)};
}

}  // namespace retort::orchestrator::doctor
