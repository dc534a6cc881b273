#include "orchestrator/doctor/mpi_check.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <regex>
#include <utility>

#include "cluster/mpi_library.h"
#include "cluster/mpi_world.h"

namespace retort::orchestrator::doctor {
namespace {

constexpr std::chrono::milliseconds kVersionLimit{1500}, kStartLimit{3000};
constexpr const char* kInstall = "sudo apt-get install openmpi-bin libopenmpi-dev";
constexpr const char* kWrapper = "cluster/launch/mpirun.sh -np N retort run …";

// The MPI library itself says which it is; no MPI_Init is needed for that.
void LoadLibrary(MpiFacts& facts) {
  const std::string path = cluster::DefaultMpiLibrary();
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const text = ::dlerror();
    facts.library_trouble = text != nullptr ? text : path + " cannot be loaded";
    return;
  }
  const auto revision =
      reinterpret_cast<cluster::MpiRevisionFunction>(::dlsym(library, cluster::kMpiRevisionSymbol));
  if (revision == nullptr || revision() != cluster::kMpiLibraryRevision) {
    facts.library_trouble = path + " belongs to another build of Retort";
    return;
  }
  using VersionFunction = int (*)(char*, int*);
  const auto version = reinterpret_cast<VersionFunction>(::dlsym(library, "MPI_Get_library_version"));
  std::array<char, 8192> text{};  // MPICH's MPI_MAX_LIBRARY_VERSION_STRING, the largest
  int length = 0;
  if (version != nullptr && version(text.data(), &length) == 0)
    facts.library_version = FirstLine(text.data());
}

int NumberOf(const std::vector<std::string>& environment, const char* name) {
  const std::string text = cluster::FindVariable(environment, name).value_or("");
  int value = 1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool Says(const ProgramRun& run, const char* words) { return run.text.find(words) != std::string::npos; }

// The sentence in mpirun's box of dashes that says most.
std::string Complaint(const ProgramRun& run) {
  if (run.timed_out) return "no end within 3 s";
  const std::string line = FirstLine(run.text);
  return line.empty() ? fmt::format("exit code {}", run.code) : line;
}

void StartRanks(const std::vector<std::string>& environment, MpiFacts& facts) {
  std::vector<std::string> words = {facts.mpirun};
  if (facts.root) words.emplace_back("--allow-run-as-root");
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return RunProgram(all, environment, kStartLimit);
  };
  facts.asked = true;
  facts.plain = with({"-np", "2", "true"});
  if (!facts.plain.succeeded() && !facts.plain.timed_out)
    facts.helped = with({"--oversubscribe", "-np", "2", "true"});
}

}  // namespace

MpiFacts LookAtMpi(const std::vector<std::string>& environment, bool built) {
  MpiFacts facts;
  facts.built = built;
  facts.launch = cluster::ReadLaunchEnvironment(environment);
  facts.allotted = NumberOf(environment, "SLURM_NTASKS");
  facts.several_nodes = NumberOf(environment, "SLURM_JOB_NUM_NODES") > 1;
  facts.root = ::geteuid() == 0;
  if (!built) return facts;
  LoadLibrary(facts);
  facts.named = cluster::FindVariable(environment, "RETORT_MPIRUN").value_or("");
  facts.mpirun = FindProgram(facts.named.empty() ? "mpirun" : facts.named, environment);
  if (facts.mpirun.empty()) return facts;
  facts.version = RunProgram({facts.mpirun, "--version"}, environment, kVersionLimit);
  // mpirun does not start inside a rank of its own.
  if (!facts.version.timed_out && facts.launch.declared_by.empty()) StartRanks(environment, facts);
  return facts;
}

std::string SeriesOf(const std::string& version) {
  std::smatch found;
  return std::regex_search(version, found, std::regex(R"(\bv?(\d+\.\d+)(\.\d+)?)")) ? found[1].str() : "";
}

std::optional<Finding> JudgeMpiLibrary(const MpiFacts& facts) {
  if (!facts.built) return std::nullopt;
  if (!facts.library_trouble.empty())
    return Finding{"MPI library", facts.launch.under_mpi ? Level::problem : Level::warning,
                   facts.library_trouble + ": no run under mpirun",
                   std::string(kInstall) + "; then build again"};
  const std::string library = SeriesOf(facts.library_version), launcher = SeriesOf(facts.version.text);
  const bool open = facts.library_version.find("Open MPI") != std::string::npos;
  if (!open)
    return Finding{
        "MPI library", Level::warning,
        fmt::format("libretort_mpi.so is linked with \"{}\", which is not Open MPI", facts.library_version),
        std::string(kInstall) + "; then configure and build again"};
  if (facts.version.found && !facts.version.timed_out && library != launcher)
    return Finding{
        "MPI library", Level::warning,
        fmt::format(
            "libretort_mpi.so is linked with Open MPI {}, {} is \"{}\": ranks would not find each other",
            library, facts.mpirun, FirstLine(facts.version.text)),
        fmt::format("put the bin folder of Open MPI {} first in PATH, or name its mpirun in RETORT_MPIRUN",
                    library)};
  return Finding{"MPI library", Level::ok, facts.library_version.substr(0, facts.library_version.find(','))};
}

Finding JudgeMpirun(const MpiFacts& facts) {
  if (!facts.built)
    return {"mpirun", Level::note, "this build runs on one host, without MPI",
            "-DRETORT_BUILD_MPI=ON brings it"};
  if (facts.mpirun.empty()) {
    if (!facts.named.empty())
      return {"mpirun", Level::warning, "RETORT_MPIRUN=" + facts.named + " is no program",
              "unset RETORT_MPIRUN"};
    return {"mpirun", facts.several_nodes ? Level::warning : Level::note,
            "none in PATH: runs are of one process on one host", kInstall};
  }
  if (facts.version.timed_out)
    return {"mpirun", Level::warning, facts.mpirun + " --version does not end",
            "look at the disk that it is read from"};
  if (!facts.asked) return {"mpirun", Level::ok, FirstLine(facts.version.text)};
  const std::string root = facts.root ? " as root with --allow-run-as-root" : "";
  if (facts.plain.succeeded())
    return {"mpirun", Level::ok,
            fmt::format("{} starts two ranks{}", FirstLine(facts.version.text),
                        facts.root ? root + " (mpirun.sh gives it)" : "")};
  if (facts.helped && facts.helped->succeeded()) {
    const std::string why =
        Says(facts.plain, "slots") ? "it counts too few slots here" : Complaint(facts.plain);
    return {"mpirun", Level::note,
            fmt::format("starts two ranks{} with --oversubscribe alone: {}", root, why),
            fmt::format("start ranks with {}, which gives it", kWrapper)};
  }
  const ProgramRun& last = facts.helped ? *facts.helped : facts.plain;
  return {"mpirun", Level::warning,
          fmt::format("{} does not start two ranks{}: {}", facts.mpirun, root, Complaint(last)),
          last.timed_out
              ? "mpirun --mca plm_base_verbose 5 -np 2 true shows where it waits; a host name that does not "
                "resolve is the usual cause"
              : "mpirun -np 2 true says more"};
}

std::optional<Finding> JudgeRanks(const MpiFacts& facts) {
  const cluster::LaunchEnvironment& launch = facts.launch;
  if (launch.declared_ranks < 1)
    return Finding{"ranks", Level::problem, launch.declared_by + " is no number of processes", "unset " + launch.declared_by};
  if (!launch.under_mpi && launch.declared_ranks > 1)
    return Finding{
        "ranks", Level::problem,
        fmt::format(
            "{}={} started this process, but there is no MPI world: each would take itself for the only one",
            launch.declared_by, launch.declared_ranks),
        fmt::format("cluster/launch/mpirun.sh -np {} retort run … in place of srun", launch.declared_ranks)};
  if (launch.under_mpi)
    return Finding{"ranks", Level::ok, fmt::format("one of {} in an MPI world", launch.declared_ranks)};
  if (facts.allotted > 1)
    return Finding{
        "ranks", Level::note,
        fmt::format("the Slurm allocation is for {} tasks, and this is one process: started like this, "
                    "`retort run` uses its host alone",
                    facts.allotted),
        fmt::format("cluster/launch/mpirun.sh -np {} retort run …", facts.allotted)};
  return std::nullopt;
}

}  // namespace retort::orchestrator::doctor
