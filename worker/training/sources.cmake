set(RETORT_TRAINING_SOURCES
  training/evaluation.cc
  training/learner.cc
  training/per_sample_gradients.cc
  training/poisson_sample.cc
  training/ridge_regression.cc
  training/shards.cc
  training/supervised_training.cc)
