# Build rules that every module shares.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# CMake's own choice, -O3, takes a tenth more of the compiler's time; what is worth its time is in LibTorch.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

find_program(RETORT_CCACHE ccache)
if(RETORT_CCACHE)
  # ccache takes precompiled headers with these, and -fpch-preprocess.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${RETORT_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${RETORT_CCACHE}")
endif()
find_program(RETORT_MOLD mold)
if(RETORT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

option(RETORT_WARNINGS_ARE_ERRORS "A warning on our own code ends the build (on in the developers' presets)" OFF)
add_library(retort_warnings INTERFACE)
target_compile_options(retort_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wnon-virtual-dtor;-Wold-style-cast>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${RETORT_WARNINGS_ARE_ERRORS}>>:-Werror>
  # GCC 12 sees an overlap in "literal" + std::string() at -O2 and above that is not there (GCC bug 105651).
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)
# Sums must not depend on what the compiler contracts or reorders.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

# torch's wheels are built by GCC, whose names of constrained templates clang 18 and newer no longer give by default.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 18)
  add_compile_options(-fclang-abi-compat=17)
endif()

option(RETORT_UNITY "Compile the files of a target in batches: less work from nothing, more after a change" OFF)
set(RETORT_UNITY_BATCH 20 CACHE STRING "Files in a batch; 20 together take 0.7 of the compiler's time of 8, 8 and 4")

# What an include of a precompiled header is compiled with. The bug above has other warnings, which come out of headers that
# are no longer the system's.
set(RETORT_PRECOMPILED_OPTIONS -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)

# retort_module(NAME [SHOWS] SOURCES a.cc … PUBLIC libs … PRIVATE libs …): one static library retort::NAME. SHOWS: what it does
# takes no time, so -O1 is enough for it, which takes 0.6 to 0.8 of the compiler's time; all of these share one precompiled
# header.
function(retort_module name)
  cmake_parse_arguments(ARG "SHOWS" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(retort_${name} STATIC ${ARG_SOURCES})
  add_library(retort::${name} ALIAS retort_${name})
  target_include_directories(retort_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(retort_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:retort_warnings>)
  set_target_properties(retort_${name} PROPERTIES UNITY_BUILD ${RETORT_UNITY} UNITY_BUILD_BATCH_SIZE ${RETORT_UNITY_BATCH})
  if(ARG_SHOWS)
    target_compile_options(retort_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    retort_share_shown_headers(${name})
  endif()
endfunction()

# retort_share_shown_headers(MODULE): the module uses the header that is precompiled for those that show, which defines what
# fmt asks for.
function(retort_share_shown_headers name)
  if(NOT TARGET retort_shown_headers)
    find_package(fmt REQUIRED)
    find_package(nlohmann_json REQUIRED)
    find_package(CLI11 REQUIRED)
    file(WRITE "${PROJECT_BINARY_DIR}/generated/shown_headers.cc" "")
    add_library(retort_shown_headers OBJECT "${PROJECT_BINARY_DIR}/generated/shown_headers.cc")
    target_compile_options(retort_shown_headers PRIVATE $<$<CONFIG:Release>:-O1>)
    target_link_libraries(retort_shown_headers PRIVATE fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 retort_warnings)
    retort_precompile(shown_headers <functional> <map> <memory> <optional> <string> <vector> <fmt/format.h> <nlohmann/json.hpp> <CLI/CLI.hpp>)
  endif()
  target_link_libraries(retort_${name} PRIVATE $<BUILD_INTERFACE:fmt::fmt>)
  retort_share_precompiled(shown_headers ${name})
endfunction()

# retort_precompile(MODULE <header> …): what most files of a module include is compiled once for all of them.
function(retort_precompile name)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(retort_${name} PRIVATE ${RETORT_PRECOMPILED_OPTIONS})
    target_precompile_headers(retort_${name} PRIVATE ${ARGN})
  endif()
endfunction()

# retort_share_precompiled(OWNER MODULE …): the modules use the headers that OWNER precompiles; all are optimised alike.
function(retort_share_precompiled owner)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    foreach(name IN LISTS ARGN)
      target_compile_options(retort_${name} PRIVATE ${RETORT_PRECOMPILED_OPTIONS})
      target_precompile_headers(retort_${name} REUSE_FROM retort_${owner})
    endforeach()
  endif()
endfunction()

# Most of what a test costs to compile is the headers of GoogleTest and LibTorch: they are compiled once for all tests.
# What a test measures or attacks is in the modules, which are optimised as ever.
function(retort_quick_to_compile name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(with "")
  get_target_property(libraries ${name} LINK_LIBRARIES)
  if("retort::worker" IN_LIST libraries)
    set(with "_torch")
  endif()
  set(owner retort_test_headers${with})
  if(NOT TARGET ${owner})
    file(WRITE "${PROJECT_BINARY_DIR}/tests/${owner}.cc" "int main() { return 0; }\n")
    add_executable(${owner} "${PROJECT_BINARY_DIR}/tests/${owner}.cc")
    set_target_properties(${owner} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    target_compile_options(${owner} PRIVATE $<$<CONFIG:Release>:-O1> -fpch-preprocess)
    target_link_libraries(${owner} PRIVATE ${libraries})
    target_precompile_headers(${owner} PRIVATE <gtest/gtest.h> <gmock/gmock.h> $<$<BOOL:${with}>:<ATen/ATen.h$<ANGLE-R>>)
  endif()
  target_compile_options(${name} PRIVATE ${RETORT_PRECOMPILED_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM ${owner})
endfunction()

# retort_add_test(NAME SOURCES … LIBS … LABELS … [TIMEOUT s] [AT_ONCE n]): a GoogleTest program, one ctest entry. AT_ONCE: its
# tests mostly wait, and run in n processes at the same time.
function(retort_add_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;AT_ONCE" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if("retort::worker" IN_LIST ARG_LIBS)
    list(APPEND ARG_LIBS retort_seeded_torch)
  endif()
  # Tests change more often than what they test.
  set(batch 8)
  if(RETORT_UNITY_BATCH LESS batch)
    set(batch ${RETORT_UNITY_BATCH})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests"
    UNITY_BUILD ${RETORT_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${name} PRIVATE RETORT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RETORT_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gmock GTest::gtest_main retort_warnings)
  retort_quick_to_compile(${name})
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(ARG_AT_ONCE AND Python3_FOUND)
    add_test(NAME ${name} COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/testing/shards.py" ${ARG_AT_ONCE} $<TARGET_FILE:${name}>)
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if("retort::worker" IN_LIST ARG_LIBS)
    # As for workers: tests that run beside each other share cores, which threads that wait by spinning take from them.
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT_MODIFICATION "GOMP_SPINCOUNT=set:1000")
  endif()
endfunction()
