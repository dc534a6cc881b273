// The only place of the worker that touches the process environment.
#pragma once

#include <string>
#include <vector>

namespace retort::worker {

// "NAME=value" of what chooses and orders CUDA devices, those that are set.
[[nodiscard]] std::vector<std::string> CudaVariables();

// Folder of the running program; "." when the system does not know.
[[nodiscard]] std::string ProgramDirectory();

// cuBLAS sums in one order only with a workspace of a fixed size, which it and LibTorch read from the environment
// before the first product. A size that is set already stays. Before any thread begins.
void FixCublasWorkspace();

// OpenMP threads that wait by spinning starve other workers as soon as workers share cores, and the runtime
// reads how long to spin before main begins. When the variable is not set, sets it and starts this program
// again in place: same process, same descriptors, same parent. Returns when nothing had to be done, or when
// starting again failed.
void LimitSpinning(char** arguments);

}  // namespace retort::worker
