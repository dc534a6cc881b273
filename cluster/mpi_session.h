// Between MPI_Init and MPI_Finalize: one session a process, one duplicated communicator.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "experiments/spec/status.h"

namespace retort::cluster {

// Ok for MPI_SUCCESS; environment with `doing` ("MPI_Isend") and MPI's own words otherwise.
[[nodiscard]] Status MpiStatus(int code, const char* doing);

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

}  // namespace retort::cluster
