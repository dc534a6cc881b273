// The one C entry point of libretort_mpi.so. Shared by the library and by whoever loads it.
#pragma once

#include "cluster/mpi_world.h"

namespace retort::cluster {

// Raised when MpiWorld, Channel or Envelope change their layout.
inline constexpr int kMpiLibraryRevision = 1;
inline constexpr const char* kMpiRevisionSymbol = "retort_mpi_revision";
inline constexpr const char* kMpiOpenSymbol = "retort_mpi_open";

// What retort_mpi_open returns: the world, owned by the caller, or the reason there is none.
struct OpenedMpiWorld {
  MpiWorld* world = nullptr;
  Status status;
};

using MpiRevisionFunction = int (*)();
// `result` is filled in; nothing is thrown.
using MpiOpenFunction = void (*)(const LaunchEnvironment* launch, OpenedMpiWorld* result);

}  // namespace retort::cluster
