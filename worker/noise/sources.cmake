set(RETORT_NOISE_SOURCES
  noise/lattice_normal.cc
  noise/lattice_samplers.cc
  noise/noise_kernels.cc
  noise/noise_key.cc)
