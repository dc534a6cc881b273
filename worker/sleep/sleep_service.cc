#include "worker/sleep/sleep_service.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <variant>

#include "worker/sleep/sleep_trial.h"
#include "worker/sleep/socket_host.h"

namespace retort::worker {
namespace {

constexpr std::chrono::milliseconds kSleepSlice{60'000};
constexpr int kHandOverDescriptor = 4;

Status System(const std::string& what) {
  return EnvironmentError(what + ": " + std::generic_category().message(errno) + ".");
}

Status WriteFrame(const std::string& bytes) {
  const int fd = ::memfd_create("retort-start", 0);
  if (fd < 0) return System("A start cannot be handed over");
  if (fd != kHandOverDescriptor) {
    if (::dup2(fd, kHandOverDescriptor) < 0) return System("A start cannot be handed over");
    ::close(fd);
  }
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote =
        ::pwrite(kHandOverDescriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (wrote <= 0) return System("A start cannot be handed over");
    done += static_cast<std::size_t>(wrote);
  }
  return {};
}

}  // namespace

Result<std::optional<cluster::Envelope>> ServeSleep(cluster::SocketLink& link, storage::Env& env,
                                                    const std::string& build) {
  RETORT_RETURN_IF_ERROR(link.Send({{}, {}, 0, cluster::Hello{build, "cpu", {"cpu"}}}));
  for (;;) {
    Result<std::optional<cluster::Envelope>> received = link.Receive(kSleepSlice);
    if (!received.ok()) {
      if (received.status().code() == StatusCode::refused) continue;  // one frame that does not decode
      if (received.status().code() == StatusCode::cancelled) return std::optional<cluster::Envelope>();
      return received.status();
    }
    if (!received->has_value()) continue;
    const cluster::Envelope& envelope = **received;
    const auto* start = std::get_if<cluster::Start>(&envelope.message);
    if (start == nullptr) continue;  // crossed the end of its attempt
    if (!IsSleep(*start)) return received;
    SocketHost host(link, envelope.attempt, envelope.generation);
    RETORT_RETURN_IF_ERROR(
        host.Send(RunSleepTrial({envelope.attempt, envelope.generation.value, *start, build}, host, env)));
  }
}

Status HandOverProcess(const std::string& program, char** arguments, const cluster::Envelope& start) {
  RETORT_RETURN_IF_ERROR(WriteFrame(cluster::Encode(start)));
  std::string flag = kHandOverFlag;
  std::array<char*, 3> next = {arguments[0], flag.data(), nullptr};
  ::execv(program.c_str(), next.data());
  return System("'" + program + "' cannot be started");
}

Result<std::optional<cluster::Envelope>> ReadHandedOverStart(int argument_count, char** arguments) {
  if (argument_count < 2 || std::strcmp(arguments[1], kHandOverFlag) != 0) return std::optional<cluster::Envelope>();
  std::string bytes;
  std::array<char, 65536> chunk{};
  for (;;) {
    const ssize_t read = ::pread(kHandOverDescriptor, chunk.data(), chunk.size(), static_cast<off_t>(bytes.size()));
    if (read < 0) return System("The start that was handed over cannot be read");
    if (read == 0) break;
    bytes.append(chunk.data(), static_cast<std::size_t>(read));
  }
  ::close(kHandOverDescriptor);
  RETORT_ASSIGN_OR_RETURN(cluster::Envelope start, cluster::Decode(bytes));
  return std::optional<cluster::Envelope>(std::move(start));
}

}  // namespace retort::worker
