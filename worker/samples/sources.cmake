set(RETORT_SAMPLES_SOURCES
  samples/image_labeller.cc
  samples/sample_evaluation.cc
  samples/sample_run.cc
  samples/stored_generator.cc)
