#include "cluster/mpi_library.h"

#include <thread>

#include "cluster/mpi_channel.h"
#include "cluster/mpi_session.h"

namespace retort::cluster {
namespace {

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
      if (entered)
        RETORT_RETURN_IF_ERROR(MpiStatus(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), "MPI_Ibarrier"));
      if (done != 0) break;
      if (std::chrono::steady_clock::now() >= until) {
        return Cancelled("Not every rank came to the end of the run within " + std::to_string(wait.count()) +
                         " ms.");
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

// MPI begins once in the life of a process: whoever asks again hears of a world that was too small once more.
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

}  // namespace
}  // namespace retort::cluster

extern "C" {

__attribute__((visibility("default"))) int retort_mpi_revision() {
  return retort::cluster::kMpiLibraryRevision;
}

__attribute__((visibility("default"))) void retort_mpi_open(const retort::cluster::LaunchEnvironment* launch,
                                                            retort::cluster::OpenedMpiWorld* result) {
  auto opened = retort::cluster::Open(*launch);
  result->status = opened.status();
  if (opened.ok()) result->world = opened->release();
}

}  // extern "C"
