// Channel over MPI: non-blocking sends and receives, one tag, never a busy wait.
#pragma once

#include <mpi.h>

#include <list>
#include <optional>
#include <string>
#include <utility>

#include "cluster/channel.h"
#include "cluster/mpi_session.h"

namespace retort::cluster {

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

}  // namespace retort::cluster
