set(RETORT_TENSORS_SOURCES
  tensors/autograd.cc
  tensors/host_copy.cc
  tensors/loss_sum.cc
  tensors/rng_streams.cc
  tensors/step_graphs.cc
  tensors/tensor_codec.cc
  tensors/train_state.cc)
