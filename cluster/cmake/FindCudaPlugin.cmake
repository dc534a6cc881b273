# What libretort_cuda.so needs: a CUDA toolkit of torch's CUDA major version, torch's CUDA libraries, and
# the nccl.h of the NCCL that torch was built with (ProcessGroupNCCL holds NCCL structures by value).
#
# After FindLibTorch. Sets CudaPlugin_FOUND, CudaPlugin_REASON (why not), CudaPlugin_NVCC,
# CudaPlugin_INCLUDE_DIRS, CudaPlugin_LIBRARIES and CudaPlugin_RPATH.

set(CudaPlugin_FOUND FALSE)
set(CudaPlugin_REASON "")

function(retort_nccl_version header result)
  file(STRINGS "${header}" lines REGEX "#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*PATCH +([0-9]+).*" "\\1.\\2.\\3" version "${lines}")
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

if(NOT EXISTS "${LibTorch_DIR}/lib/libtorch_cuda.so")
  set(CudaPlugin_REASON "torch in ${LibTorch_DIR} has no libtorch_cuda.so")
  return()
endif()
set(torch_cuda "")
if(EXISTS "${LibTorch_DIR}/version.py")
  file(STRINGS "${LibTorch_DIR}/version.py" line REGEX "^cuda[ :=]")
  string(REGEX MATCH "[0-9]+" torch_cuda "${line}")
endif()

find_program(CudaPlugin_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin)
if(NOT CudaPlugin_NVCC)
  set(CudaPlugin_REASON "no CUDA toolkit: nvcc is not in PATH, CUDA_HOME/bin or /usr/local/cuda/bin")
  return()
endif()
execute_process(COMMAND "${CudaPlugin_NVCC}" --version OUTPUT_VARIABLE text ERROR_QUIET)
string(REGEX MATCH "release ([0-9]+)\\.[0-9]+" ignored "${text}")
if(NOT torch_cuda STREQUAL CMAKE_MATCH_1)
  set(CudaPlugin_REASON "the toolkit is CUDA ${CMAKE_MATCH_1}, torch was built for CUDA ${torch_cuda}")
  return()
endif()
get_filename_component(toolkit "${CudaPlugin_NVCC}" REALPATH)
get_filename_component(toolkit "${toolkit}/../.." ABSOLUTE)

get_filename_component(site_packages "${LibTorch_DIR}/.." ABSOLUTE)
set(nccl_wheel "${site_packages}/nvidia/nccl/include")
find_path(CudaPlugin_NCCL_INCLUDE nccl.h PATHS "${nccl_wheel}" "${toolkit}/include" /usr/include NO_DEFAULT_PATH)
if(NOT CudaPlugin_NCCL_INCLUDE)
  set(CudaPlugin_REASON "no nccl.h: run `bash cluster/setup.sh --cuda`, or install NCCL into the toolkit")
  return()
endif()
retort_nccl_version("${CudaPlugin_NCCL_INCLUDE}/nccl.h" nccl_found)
file(GLOB metadata "${site_packages}/torch-*.dist-info/METADATA")
set(nccl_wanted "")
if(metadata)
  file(STRINGS "${metadata}" line REGEX "^Requires-Dist: nvidia-nccl-cu[0-9]+==")
  string(REGEX MATCH "==([0-9.]+)" ignored "${line}")
  set(nccl_wanted "${CMAKE_MATCH_1}")
endif()
if(nccl_wanted AND NOT nccl_wanted STREQUAL nccl_found)
  set(CudaPlugin_REASON
    "nccl.h in ${CudaPlugin_NCCL_INCLUDE} is ${nccl_found}, torch was built with ${nccl_wanted}: run `bash cluster/setup.sh --cuda`")
  return()
endif()

set(CudaPlugin_INCLUDE_DIRS "${CudaPlugin_NCCL_INCLUDE}" "${toolkit}/include")
find_library(CudaPlugin_CUDART NAMES libcudart.so.${torch_cuda} cudart
  PATHS "${site_packages}/nvidia/cu${torch_cuda}/lib" "${toolkit}/lib64" "${toolkit}/targets/x86_64-linux/lib"
  NO_DEFAULT_PATH)
if(NOT CudaPlugin_CUDART)
  set(CudaPlugin_REASON "no libcudart.so.${torch_cuda} beside torch or in ${toolkit}")
  return()
endif()
set(CudaPlugin_LIBRARIES "${LibTorch_DIR}/lib/libtorch_cuda.so" "${LibTorch_DIR}/lib/libc10_cuda.so"
  "${CudaPlugin_CUDART}")
set(CudaPlugin_RPATH "${LibTorch_DIR}/lib")
# Libraries that torch's wheel expects in other wheels may come from the toolkit.
foreach(wheel IN ITEMS cu${torch_cuda} cudnn nccl nvshmem cusparselt)
  list(APPEND CudaPlugin_RPATH "${site_packages}/nvidia/${wheel}/lib")
endforeach()
list(APPEND CudaPlugin_RPATH "${toolkit}/lib64")
set(CudaPlugin_FOUND TRUE)
