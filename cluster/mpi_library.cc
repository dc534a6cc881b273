// libretort_mpi.so: the channel over MPI (non-blocking sends and receives, one tag, never a busy wait).
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "cluster/channel.h"
#include "cluster/mpi_world.h"
#include "experiments/base/status.h"

namespace retort::cluster {
namespace {

// MPI is called from one thread (FUNNELED). Errors come back as codes on our communicator.
class MpiSession {
 public:
  // Error: environment; MPI is initialised at most once in a process.
  [[nodiscard]] static Result<std::unique_ptr<MpiSession>> Init();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession() = default;  // does not finalise

  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  // Collective, and a busy wait until every rank is here: make sure that they are.
  [[nodiscard]] Status Finalize();
  [[noreturn]] void Abort(int exit_code) const;

 private:
  MpiSession() = default;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

// Ok for MPI_SUCCESS; environment with `doing` ("MPI_Isend") and MPI's own words otherwise.
Status MpiStatus(int code, const char* doing) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return EnvironmentError(std::string(doing) +
                          " failed: " + std::string(text.data(), static_cast<std::size_t>(length)) + ".");
}

Result<std::unique_ptr<MpiSession>> MpiSession::Init() {
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (initialised != 0) return Refused("MPI was already initialised in this process.");
  int provided = MPI_THREAD_SINGLE;
  RETORT_RETURN_IF_ERROR(MpiStatus(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init"));
  if (provided < MPI_THREAD_FUNNELED)
    return EnvironmentError("This MPI allows no second thread beside the one that uses it.");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::unique_ptr<MpiSession> session(new MpiSession());
  RETORT_RETURN_IF_ERROR(MpiStatus(MPI_Comm_dup(MPI_COMM_WORLD, &session->communicator_), "MPI_Comm_dup"));
  MPI_Comm_set_errhandler(session->communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(session->communicator_, &session->rank_);
  MPI_Comm_size(session->communicator_, &session->size_);
  return session;
}

Status MpiSession::Finalize() {
  RETORT_RETURN_IF_ERROR(MpiStatus(MPI_Comm_free(&communicator_), "MPI_Comm_free"));
  return MpiStatus(MPI_Finalize(), "MPI_Finalize");
}

void MpiSession::Abort(int exit_code) const {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

// Only the thread that initialised MPI may use it. MPI moves bytes only inside calls: call Receive
// often, also when nothing is expected.
class MpiChannel final : public Channel {
 public:
  explicit MpiChannel(const MpiSession& session) : session_(session) {}  // `session` outlives the channel

  [[nodiscard]] WorldRank rank() const override { return {session_.rank()}; }
  [[nodiscard]] int size() const override { return session_.size(); }
  [[nodiscard]] Status Send(WorldRank to, const Envelope& envelope) override;
  [[nodiscard]] Result<std::optional<std::pair<WorldRank, Envelope>>> Receive() override;

  // Frees what has left. Error: environment, once for each send that failed.
  [[nodiscard]] Status CompleteSends();
  [[nodiscard]] bool has_pending_sends() const { return !sends_.empty(); }
  // Takes in and drops everything that has arrived.
  [[nodiscard]] Status Discard();

 private:
  // A buffer that MPI reads or writes until `request` completes: it must not move.
  struct Transfer {
    int peer = 0;
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  using Frame = std::pair<int, std::string>;
  [[nodiscard]] Status StartReceives();
  [[nodiscard]] Result<std::optional<Frame>> NextFrame();

  const MpiSession& session_;
  std::list<Transfer> sends_;
  std::list<Transfer> receives_;  // in order of arrival
};

constexpr int kTag = 1;

class OpenMpi final : public MpiWorld {
 public:
  explicit OpenMpi(std::unique_ptr<MpiSession> session) : session_(std::move(session)), channel_(*session_) {}

  [[nodiscard]] Channel& channel() override { return channel_; }

  // MPI_Finalize waits for the other ranks at full speed, so everybody meets in a barrier that is polled
  // first. A rank enters it once its own sends have left: after it no message is on the way.
  [[nodiscard]] Status Finalize(std::chrono::milliseconds wait) override {
    const auto until = std::chrono::steady_clock::now() + wait;
    MPI_Request barrier = MPI_REQUEST_NULL;
    bool entered = false;
    for (;;) {
      RETORT_RETURN_IF_ERROR(channel_.CompleteSends());
      RETORT_RETURN_IF_ERROR(channel_.Discard());
      if (!entered && !channel_.has_pending_sends()) {
        RETORT_RETURN_IF_ERROR(MpiStatus(MPI_Ibarrier(session_->communicator(), &barrier), "MPI_Ibarrier"));
        entered = true;
      }
      int done = 0;
      if (entered) RETORT_RETURN_IF_ERROR(MpiStatus(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), "MPI_Ibarrier"));
      if (done != 0) break;
      if (std::chrono::steady_clock::now() >= until) {
        return Cancelled("Not every rank came to the end of the run within " + std::to_string(wait.count()) + " ms.");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    RETORT_RETURN_IF_ERROR(channel_.Discard());
    return session_->Finalize();
  }

  [[noreturn]] void Abort(int exit_code) override { session_->Abort(exit_code); }

 private:
  std::unique_ptr<MpiSession> session_;
  MpiChannel channel_;
};

// MPI can be initialised only once in a process: a second call returns the error of a world that was too small again.
Result<std::unique_ptr<MpiWorld>> Open(const LaunchEnvironment& launch) {
  static Status too_small;
  if (!too_small.ok()) return too_small;
  RETORT_ASSIGN_OR_RETURN(auto session, MpiSession::Init());
  if (const Status size = CheckWorldSize(launch, session->size()); !size.ok()) {
    static_cast<void>(session->Finalize().ok());
    too_small = size;
    return size;
  }
  return std::unique_ptr<MpiWorld>(std::make_unique<OpenMpi>(std::move(session)));
}

Status MpiChannel::Send(WorldRank to, const Envelope& envelope) {
  RETORT_RETURN_IF_ERROR(CheckReceiver(*this, to));
  RETORT_ASSIGN_OR_RETURN(std::string bytes, EncodeChecked(envelope));
  RETORT_RETURN_IF_ERROR(CompleteSends());
  Transfer& send = sends_.emplace_back(Transfer{to.value, std::move(bytes), MPI_REQUEST_NULL});
  const int code = MPI_Isend(send.bytes.data(), static_cast<int>(send.bytes.size()), MPI_BYTE, to.value, kTag,
                             session_.communicator(), &send.request);
  if (code != MPI_SUCCESS) sends_.pop_back();
  return MpiStatus(code, "MPI_Isend");
}

Result<std::optional<std::pair<WorldRank, Envelope>>> MpiChannel::Receive() {
  RETORT_RETURN_IF_ERROR(CompleteSends());
  RETORT_ASSIGN_OR_RETURN(const std::optional<Frame> frame, NextFrame());
  if (!frame) return std::optional<std::pair<WorldRank, Envelope>>();
  const WorldRank from{frame->first};
  RETORT_ASSIGN_OR_RETURN(Envelope envelope, DecodeFrom(from, frame->second));
  return std::optional(std::pair(from, std::move(envelope)));
}

Status MpiChannel::CompleteSends() {
  for (auto send = sends_.begin(); send != sends_.end();) {
    int done = 0;
    const int code = MPI_Test(&send->request, &done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && done == 0) {
      ++send;
      continue;
    }
    send = sends_.erase(send);
    if (code != MPI_SUCCESS) return MpiStatus(code, "Sending a message");
  }
  return {};
}

// Begins to take in every message that has been announced. A large one arrives only while its sender
// is inside MPI too, so this does not wait for it.
Status MpiChannel::StartReceives() {
  for (;;) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    RETORT_RETURN_IF_ERROR(MpiStatus(
        MPI_Improbe(MPI_ANY_SOURCE, kTag, session_.communicator(), &found, &message, &status), "MPI_Improbe"));
    if (found == 0) return {};
    int count = 0;
    RETORT_RETURN_IF_ERROR(MpiStatus(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count"));
    // Send refuses more than this; MPI reports a longer message as truncated.
    const auto room = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(count, 0)), 0, kMaxEnvelopeBytes);
    Transfer& receive = receives_.emplace_back(Transfer{status.MPI_SOURCE, std::string(room, '\0'), MPI_REQUEST_NULL});
    const int code = MPI_Imrecv(receive.bytes.data(), static_cast<int>(room), MPI_BYTE, &message, &receive.request);
    if (code != MPI_SUCCESS) {
      receives_.pop_back();
      return MpiStatus(code, "MPI_Imrecv");
    }
  }
}

// The oldest complete frame whose sender has no older one still on the way.
Result<std::optional<MpiChannel::Frame>> MpiChannel::NextFrame() {
  RETORT_RETURN_IF_ERROR(StartReceives());
  std::set<int> waiting;
  for (auto receive = receives_.begin(); receive != receives_.end(); ++receive) {
    if (waiting.contains(receive->peer)) continue;
    int done = 0;
    const int code = MPI_Test(&receive->request, &done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && done == 0) {
      waiting.insert(receive->peer);
      continue;
    }
    Frame frame(receive->peer, std::move(receive->bytes));
    receives_.erase(receive);
    RETORT_RETURN_IF_ERROR(MpiStatus(code, "Receiving a message"));
    return std::optional(std::move(frame));
  }
  return std::optional<Frame>();
}

Status MpiChannel::Discard() {
  for (;;) {
    RETORT_ASSIGN_OR_RETURN(const std::optional<Frame> frame, NextFrame());
    if (!frame) return {};
  }
}

}  // namespace
}  // namespace retort::cluster

extern "C" {

__attribute__((visibility("default"))) int retort_mpi_revision() { return retort::cluster::kMpiLibraryRevision; }

__attribute__((visibility("default"))) void retort_mpi_open(const retort::cluster::LaunchEnvironment* launch,
                                                            retort::cluster::OpenedMpiWorld* result) {
  auto opened = retort::cluster::Open(*launch);
  result->status = opened.status();
  if (opened.ok()) result->world = opened->release();
}

}  // extern "C"
