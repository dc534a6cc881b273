# The command line: retort::cli and the program `retort`. Included by orchestrator/CMakeLists.txt after
# retort::orchestrator is defined; defines both targets itself.
set(RETORT_CLI_DIR "${CMAKE_CURRENT_LIST_DIR}")
set(RETORT_CLI_SOURCES
    absent_data.cc
    amend_command.cc
    audit_command.cc
    audit_text.cc
    bash_completion.cc
    build_commands.cc
    calculator_command.cc
    calculator_options.cc
    calculator_text.cc
    chaos_command.cc
    chaos_plan.cc
    chaos_process.cc
    chaos_run.cc
    chaos_verdict.cc
    claim_json.cc
    claim_text.cc
    command_examples.cc
    command_line.cc
    command_tree.cc
    completion.cc
    completion_words.cc
    confusion_html.cc
    console.cc
    curve_chart.cc
    data_check_command.cc
    data_clients_command.cc
    data_options.cc
    devices.cc
    dispatch.cc
    document_commands.cc
    document_options.cc
    doctor_command.cc
    doctor_options.cc
    environment_document.cc
    estimate_text.cc
    exit_codes.cc
    explain_command.cc
    explain_devices.cc
    explanation.cc
    export_command.cc
    failure_groups.cc
    figure_caption.cc
    figure_curves.cc
    figure_data.cc
    figure_images.cc
    figure_json.cc
    figure_map.cc
    figure_picture.cc
    figure_words.cc
    fish_completion.cc
    fitted_text.cc
    html_table.cc
    html_writer.cc
    known_values.cc
    known_costs.cc
    latex_text.cc
    list_command.cc
    load_sweep.cc
    man_text.cc
    metrics_command.cc
    model_command.cc
    named_data.cc
    output_file.cc
    number_text.cc
    open_results.cc
    plan_command.cc
    planned_claims.cc
    plan_json.cc
    plan_report.cc
    plan_text.cc
    plot_command.cc
    printed_command.cc
    process_tree.cc
    published.cc
    published_join.cc
    published_rules.cc
    quoted_cells.cc
    repair_command.cc
    report_attempts.cc
    report_command.cc
    report_failures.cc
    report_figures.cc
    report_options.cc
    report_page.cc
    report_privacy.cc
    report_provenance.cc
    report_style.cc
    report_tables.cc
    report_timings.cc
    report_trials.cc
    result_table.cc
    results_location.cc
    roff_text.cc
    run_command.cc
    run_ending.cc
    run_options.cc
    sample_html.cc
    shared_modes.cc
    shell_text.cc
    show_command.cc
    shown_results.cc
    spec_field.cc
    split_pictures.cc
    statistics.cc
    status_block.cc
    status_command.cc
    status_text.cc
    stored_plan.cc
    suggestions.cc
    sweep_status.cc
    sweep_summary.cc
    table_command.cc
    table_completion.cc
    table_csv.cc
    table_json.cc
    table_lines.cc
    table_statements.cc
    table_marks.cc
    table_markup.cc
    table_matrix.cc
    table_text.cc
    table_trials.cc
    table_words.cc
    text_table.cc
    trial_html.cc
    trial_json.cc
    trial_names.cc
    verify.cc
    verify_attempt.cc
    verify_command.cc
    worst_claims.cc
    version.cc
    watch_status.cc
    zsh_completion.cc)
list(TRANSFORM RETORT_CLI_SOURCES PREPEND "${RETORT_CLI_DIR}/")
include("${RETORT_CLI_DIR}/../doctor/sources.cmake")

# The papers' values go into the program, so that an installed one needs no data folder.
set(RETORT_PUBLISHED_FILE "${PROJECT_SOURCE_DIR}/experiments/reference/published.csv")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${RETORT_PUBLISHED_FILE}")
file(READ "${RETORT_PUBLISHED_FILE}" RETORT_PUBLISHED)
set(RETORT_PUBLISHED_SOURCE "${PROJECT_BINARY_DIR}/generated/published_data.cc")
configure_file("${RETORT_CLI_DIR}/published_data.cc.in" "${RETORT_PUBLISHED_SOURCE}" @ONLY)

# Likewise the list of environment variables, for the manual pages.
set(RETORT_ENVIRONMENT_FILE "${PROJECT_SOURCE_DIR}/cluster/ENVIRONMENT.md")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${RETORT_ENVIRONMENT_FILE}")
file(READ "${RETORT_ENVIRONMENT_FILE}" RETORT_ENVIRONMENT_DOCUMENT)
set(RETORT_ENVIRONMENT_SOURCE "${PROJECT_BINARY_DIR}/generated/environment_document.cc")
configure_file("${RETORT_CLI_DIR}/environment_document.cc.in" "${RETORT_ENVIRONMENT_SOURCE}" @ONLY)

# The commit that is built is asked for at every build: results name it.
set(RETORT_REVISION_SOURCE "${PROJECT_BINARY_DIR}/generated/revision.cc")
add_custom_target(retort_revision
  COMMAND "${CMAKE_COMMAND}" -D "SOURCE=${PROJECT_SOURCE_DIR}" -D "OUT=${RETORT_REVISION_SOURCE}"
          -P "${PROJECT_SOURCE_DIR}/cluster/cmake/WriteRevision.cmake"
  BYPRODUCTS "${RETORT_REVISION_SOURCE}" VERBATIM)

find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost REQUIRED)

retort_module(cli
  SOURCES ${RETORT_CLI_SOURCES} ${RETORT_DOCTOR_SOURCES} "${RETORT_PUBLISHED_SOURCE}"
          "${RETORT_ENVIRONMENT_SOURCE}" "${RETORT_REVISION_SOURCE}"
  PUBLIC retort::orchestrator retort::spec retort::privacy retort::storage retort::cluster
  PRIVATE retort::plot CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json Boost::headers)

add_dependencies(retort_cli retort_revision)
retort_precompile(cli <map> <memory> <optional> <string> <vector> <fmt/format.h> <nlohmann/json.hpp>)
set_source_files_properties("${RETORT_CLI_DIR}/version.cc" PROPERTIES COMPILE_DEFINITIONS
  "RETORT_VERSION=\"${PROJECT_VERSION}\";RETORT_BUILD_TYPE=\"${CMAKE_BUILD_TYPE}\";RETORT_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\";RETORT_WITH_WORKER=\"$<IF:$<BOOL:${RETORT_BUILD_WORKER}>,yes,no>\";RETORT_WITH_MPI=\"$<IF:$<BOOL:${RETORT_BUILD_MPI}>,yes,no>\"")

add_executable(retort "${RETORT_CLI_DIR}/retort_main.cc")
target_link_libraries(retort PRIVATE retort::cli retort::orchestrator retort::cluster retort_warnings)
# Beside `retort`, which loads it when an MPI launcher started it.
if(TARGET retort_cluster_mpi)
  add_dependencies(retort retort_cluster_mpi)
endif()
