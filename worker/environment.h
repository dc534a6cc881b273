// The only place of the worker that touches the process environment.
#pragma once

#include <string>
#include <vector>

namespace retort::worker {

// "NAME=value" of what chooses and orders CUDA devices, those that are set.
[[nodiscard]] std::vector<std::string> ListCudaVariables();

// Folder of the running program; "." when the system does not know.
[[nodiscard]] std::string GetProgramDirectory();

// cuBLAS sums in one order only with a workspace of a fixed size, which it and LibTorch read from the environment
// before the first product. A size that is set already stays. Before any thread begins.
void FixCublasWorkspace();

}  // namespace retort::worker
