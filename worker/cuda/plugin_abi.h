// The C border between retort-worker and libretort_cuda.so. Functions that return int give 0 for
// success; otherwise `error` holds one line of text.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RETORT_CUDA_ABI_VERSION 4
#define RETORT_CUDA_ENTRY "retort_cuda_abi"

extern "C" {

struct RetortCudaError {
  char text[512];
};

struct RetortNormalStream {
  uint8_t key[32];
  uint8_t nonce[12];
};

// As noise::LatticeRows.
struct RetortLatticeRows {
  double step, target, longest, floor, scale;
};

struct RetortCudaAbi {
  uint32_t version;   // RETORT_CUDA_ABI_VERSION
  const char* torch;  // TORCH_VERSION of the headers that the library was built with
  int (*device_count)(int* count, RetortCudaError* error);
  // membership is a const retort::worker::GangMembership*; `collective` receives a new
  // retort::worker::Collective*, owned by the caller.
  int (*join_nccl)(const void* membership, int device, void** collective, RetortCudaError* error);
  // out[0, count) on `device`, on its current stream: draw i of the stream's lattice Gaussian.
  int (*fill_lattice_normal)(const RetortNormalStream* stream, double scale, double* out, int64_t count, int device,
                             RetortCudaError* error);
  // Gives memory that no tensor uses back to the devices.
  int (*release_memory)(RetortCudaError* error);
  // gradient, values: [rows, classes] on `device`, on its current stream.
  int (*normalise_and_noise)(const float* gradient, int64_t rows, int64_t classes, const RetortLatticeRows* lattice,
                             const RetortNormalStream* stream, float* values, int device, RetortCudaError* error);
  // `graph_device` receives a new retort::worker::GraphDevice* for `device`, owned by the caller.
  int (*open_graph_device)(int device, void** graph_device, RetortCudaError* error);
};

}  // extern "C"
