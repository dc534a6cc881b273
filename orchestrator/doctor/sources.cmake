# What `retort doctor` looks at. Included by cli/sources.cmake, whose library it becomes a part of.
set(RETORT_DOCTOR_SOURCES clock_check.cc control_group.cc device_check.cc environment_check.cc file_system.cc
    folder_check.cc folder_trial.cc mpi_check.cc processor_check.cc program_run.cc report.cc timed_checks.cc worker_check.cc)
list(TRANSFORM RETORT_DOCTOR_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")

# The names that the list of variables holds go into the program.
set(RETORT_VARIABLE_LIST "${PROJECT_SOURCE_DIR}/cluster/ENVIRONMENT.md")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${RETORT_VARIABLE_LIST}")
file(READ "${RETORT_VARIABLE_LIST}" RETORT_VARIABLE_TEXT)
string(REGEX MATCHALL "`RETORT_[A-Z0-9_]+`" RETORT_KNOWN_VARIABLES "${RETORT_VARIABLE_TEXT}")
list(REMOVE_DUPLICATES RETORT_KNOWN_VARIABLES)
list(TRANSFORM RETORT_KNOWN_VARIABLES REPLACE "`(.*)`" "\"\\1\"")
list(JOIN RETORT_KNOWN_VARIABLES ", " RETORT_KNOWN_VARIABLES)
configure_file("${CMAKE_CURRENT_LIST_DIR}/known_variables.cc.in" "${PROJECT_BINARY_DIR}/generated/known_variables.cc" @ONLY)
list(APPEND RETORT_DOCTOR_SOURCES "${PROJECT_BINARY_DIR}/generated/known_variables.cc")
