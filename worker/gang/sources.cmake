# gloo_collective.cc includes gloo's headers (libgloo-dev); the library itself lies inside libtorch_cpu.
set(RETORT_GANG_SOURCES
  gang/c10d_store.cc
  gang/collective.cc
  gang/collective_decorators.cc
  gang/gang_batch_norm.cc
  gang/gang_store.cc
  gang/gloo_collective.cc
  gang/local_collective.cc
  gang/row_share.cc
  gang/store_protocol.cc
  gang/summed_gradient.cc)
