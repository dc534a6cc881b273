set(RETORT_NOISE_SOURCES
  noise/chacha_stream.cc
  noise/lattice_normal.cc
  noise/lattice_gaussian.cc
  noise/lattice_laplace.cc
  noise/noise_kernels.cc
  noise/noise_key.cc)
