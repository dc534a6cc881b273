set(RETORT_SLEEP_SOURCES
  sleep/sleep_service.cc
  sleep/sleep_trial.cc
  sleep/socket_host.cc)
