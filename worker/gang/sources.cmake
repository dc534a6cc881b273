# gloo_collective.cc and pair_sum.cc include gloo's headers (libgloo-dev); the library itself lies inside libtorch_cpu.
set(RETORT_GANG_SOURCES
  cuda_plugin.cc
  gang/c10d_store.cc
  gang/collective.cc
  gang/gang_batch_norm.cc
  gang/gang_store.cc
  gang/gloo_collective.cc
  gang/local_collective.cc
  gang/pair_sum.cc
  gang/row_share.cc
  gang/staged_collective.cc
  gang/store_dialogue.cc
  gang/store_wire.cc
  gang/summed_gradient.cc
  gang/watched_collective.cc)
