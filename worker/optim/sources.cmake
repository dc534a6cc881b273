set(RETORT_OPTIM_SOURCES
  optim/optimisers.cc
  optim/schedule.cc)
