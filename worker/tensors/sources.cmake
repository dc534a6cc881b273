set(RETORT_TENSORS_SOURCES
  tensors/autograd.cc
  tensors/host_copy.cc
  tensors/rng_streams.cc
  tensors/tensor_codec.cc
  tensors/train_state.cc)
