set(RETORT_SAMPLES_SOURCES
  samples/picture_labels.cc
  samples/sample_evaluation.cc
  samples/sample_run.cc
  samples/stored_generator.cc)
