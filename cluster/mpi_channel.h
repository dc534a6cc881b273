// The channel over MPI: non-blocking sends and receives, never a busy wait.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <utility>

#include "cluster/channel.h"
#include "cluster/mpi/retort_mpi.h"

namespace retort::cluster {

// Ok for 0; environment with `doing` ("MPI_Isend") and MPI's own words otherwise.
[[nodiscard]] Status MakeMpiStatus(const RetortMpi& mpi, int code, const char* doing);

// Only the thread that opened MPI may use it. MPI moves bytes only inside calls: call Receive often, also when nothing
// is expected.
class MpiChannel final : public Channel {
 public:
  // `mpi`, which is open, outlives the channel.
  MpiChannel(const RetortMpi& mpi, int rank, int size) : mpi_(mpi), rank_(rank), size_(size) {}

  [[nodiscard]] WorldRank rank() const override { return {rank_}; }
  [[nodiscard]] int size() const override { return size_; }
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
    void* request = nullptr;
  };
  using Frame = std::pair<int, std::string>;
  // Begins to take in every message that has been announced. A large one arrives only while its sender is inside MPI
  // too, so this does not wait for it.
  [[nodiscard]] Status StartReceives();
  // Returns the oldest complete frame whose sender has no older one still on the way.
  [[nodiscard]] Result<std::optional<Frame>> NextFrame();

  const RetortMpi& mpi_;
  int rank_, size_;
  std::list<Transfer> sends_;
  std::list<Transfer> receives_;  // in order of arrival
};

}  // namespace retort::cluster
