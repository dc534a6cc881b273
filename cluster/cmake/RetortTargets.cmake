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

find_program(RETORT_CCACHE ccache)
if(RETORT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${RETORT_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${RETORT_CCACHE}")
endif()
find_program(RETORT_MOLD mold)
if(RETORT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Warnings are errors on our own code.
add_library(retort_warnings INTERFACE)
target_compile_options(retort_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wnon-virtual-dtor;-Wold-style-cast;-Werror>
  # GCC 12 sees an overlap in "literal" + std::string() at -O2 and above that is not there (GCC bug 105651).
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)
# Sums must not depend on what the compiler contracts or reorders.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

# retort_module(NAME SOURCES a.cc … PUBLIC libs … PRIVATE libs …): one static library retort::NAME.
function(retort_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(retort_${name} STATIC ${ARG_SOURCES})
  add_library(retort::${name} ALIAS retort_${name})
  target_include_directories(retort_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(retort_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:retort_warnings>)
endfunction()

# retort_add_test(NAME SOURCES … LIBS … LABELS … [TIMEOUT s]): a GoogleTest program, one ctest entry for each suite file.
function(retort_add_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${name} PRIVATE RETORT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RETORT_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gmock GTest::gtest_main retort_warnings)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()
