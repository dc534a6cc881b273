#include "cluster/mpi_session.h"

#include <array>
#include <cstdlib>

namespace retort::cluster {

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
  RETORT_RETURN_IF_ERROR(
      MpiStatus(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init"));
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

}  // namespace retort::cluster
