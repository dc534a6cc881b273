# Finds the CPU part of a torch package folder and defines the imported target Torch::cpu.
#
# Looked at in this order: -DTORCH_DIR=, the wheel that cluster/setup.sh brought into build/deps, the
# torch that `python3` imports. torch's own CMake package is not used: with a CUDA wheel it insists on a
# toolkit. Sets LibTorch_FOUND, LibTorch_VERSION, LibTorch_DIR (the package folder) and
# LibTorch_LIBRARY_DIR.

set(retort_torch_candidates "")
if(TORCH_DIR)
  list(APPEND retort_torch_candidates "${TORCH_DIR}")
else()
  file(GLOB retort_torch_wheels LIST_DIRECTORIES true
    "${PROJECT_SOURCE_DIR}/build/deps/torch-venv/lib/python3*/site-packages/torch")
  list(APPEND retort_torch_candidates ${retort_torch_wheels})
  if(NOT retort_torch_candidates)
    find_program(RETORT_PYTHON3 python3)
    if(RETORT_PYTHON3)
      execute_process(
        COMMAND "${RETORT_PYTHON3}" -c "import torch; print(torch.__path__[0])"
        OUTPUT_VARIABLE retort_torch_installed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(retort_torch_installed)
        list(APPEND retort_torch_candidates "${retort_torch_installed}")
      endif()
    endif()
  endif()
endif()

set(LibTorch_DIR "")
foreach(candidate IN LISTS retort_torch_candidates)
  if(EXISTS "${candidate}/lib/libtorch_cpu.so" AND EXISTS "${candidate}/include/ATen/ATen.h")
    set(LibTorch_DIR "${candidate}")
    break()
  endif()
endforeach()

set(LibTorch_VERSION "")
if(LibTorch_DIR)
  foreach(header "torch/headeronly/version.h" "torch/csrc/api/include/torch/version.h" "torch/version.h")
    if(EXISTS "${LibTorch_DIR}/include/${header}")
      file(STRINGS "${LibTorch_DIR}/include/${header}" retort_torch_lines
        REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
      string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*PATCH +([0-9]+).*" "\\1.\\2.\\3"
        LibTorch_VERSION "${retort_torch_lines}")
      break()
    endif()
  endforeach()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE
    "no torch package folder (lib/libtorch_cpu.so, include/) was found: run `bash cluster/setup.sh`, or pass -DTORCH_DIR=<site-packages>/torch, or -DRETORT_BUILD_WORKER=OFF")

if(LibTorch_FOUND AND NOT TARGET Torch::cpu)
  set(LibTorch_LIBRARY_DIR "${LibTorch_DIR}/lib")
  find_package(Threads REQUIRED)
  add_library(Torch::c10 SHARED IMPORTED)
  set_target_properties(Torch::c10 PROPERTIES IMPORTED_LOCATION "${LibTorch_LIBRARY_DIR}/libc10.so")
  add_library(Torch::cpu SHARED IMPORTED)
  set_target_properties(Torch::cpu PROPERTIES
    IMPORTED_LOCATION "${LibTorch_LIBRARY_DIR}/libtorch_cpu.so"
    INTERFACE_INCLUDE_DIRECTORIES
      "${LibTorch_DIR}/include;${LibTorch_DIR}/include/torch/csrc/api/include"
    INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO"
    INTERFACE_LINK_OPTIONS "LINKER:--disable-new-dtags"
    INTERFACE_LINK_LIBRARIES "Torch::c10;Threads::Threads")
endif()
