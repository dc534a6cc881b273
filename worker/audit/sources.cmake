set(RETORT_AUDIT_SOURCES
  audit/dpsgd_step_audit.cc
  audit/release_step.cc
  audit/step_pairs.cc)
