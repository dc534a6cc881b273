set(RETORT_TENSORS_SOURCES
  tensors/autograd.cc
  tensors/loss_sum.cc
  tensors/rng_streams.cc
  tensors/step_graphs.cc
  tensors/tensor_codec.cc
  tensors/train_state.cc)
