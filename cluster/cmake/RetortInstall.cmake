# What cmake --install and cpack put down, all of it found by its place beside the programs, so that the prefix may move:
#
#   libexec/retort        the programs together with the plug-ins that they load, and launch/, the scripts that start them
#   bin                   links to the programs
#   share/retort          sweep files, the digits, the tiny pictures of `--profile smoke`, dashboards and alerts, under the paths
#                         that they have here: sweep files name their data by them
#   share/man, …          manual pages and completion, which the program writes
#   lib/retort/torch      a link to the LibTorch of this build (component torch; not in an archive)
#   lib/retort/*.so, share/retort/fonts   libraries of other packages, a font (component libraries; in an archive alone)
#
# LibTorch is looked for in lib/retort/torch, then beside the prefix as in a wheel (site-packages/retort, site-packages/torch);
# programs that find neither are told by TORCH_DIR.
include(GNUInstallDirs)
set(RETORT_INSTALL_HOME "libexec/retort")
set(RETORT_INSTALL_LIBRARIES "lib/retort")
set(RETORT_INSTALL_SHARE "share/retort")
# In a Python wheel these are in the environment's own share, where `man` finds pages by PATH.
set(RETORT_INSTALL_DATA "share")
if(SKBUILD_DATA_DIR)
  set(RETORT_INSTALL_DATA "${SKBUILD_DATA_DIR}/share")
endif()

file(RELATIVE_PATH retort_up "/${RETORT_INSTALL_HOME}" "/")
string(REGEX REPLACE "/$" "" retort_up "${retort_up}")
set(retort_torch_link "${retort_up}/${RETORT_INSTALL_LIBRARIES}/torch")
set(retort_rpath "\$ORIGIN" "\$ORIGIN/${retort_up}/${RETORT_INSTALL_LIBRARIES}" "\$ORIGIN/${retort_torch_link}/lib"
    "\$ORIGIN/${retort_up}/../torch/lib")
# torch's wheel expects the libraries for GPUs in wheels beside it.
set(retort_rpath_cuda "")
foreach(packages "${retort_torch_link}/.." "${retort_up}/..")
  foreach(wheel cu13 cudnn nccl nvshmem cusparselt)
    list(APPEND retort_rpath_cuda "\$ORIGIN/${packages}/nvidia/${wheel}/lib")
  endforeach()
endforeach()

# What is installed, to be built by one name: no test is part of it.
add_custom_target(programs)
set(retort_programs "")
foreach(target retort retort-worker retort-sleeper retort_cluster_mpi retort_cuda)
  if(TARGET ${target})
    # A RUNPATH would not hold for the libraries that bundled libraries need.
    target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "${retort_rpath}")
    add_dependencies(programs ${target})
    set(optional "")
    if(target STREQUAL "retort_cuda")
      set(optional OPTIONAL)
    endif()
    install(TARGETS ${target} RUNTIME DESTINATION "${RETORT_INSTALL_HOME}" COMPONENT retort
            LIBRARY DESTINATION "${RETORT_INSTALL_HOME}" COMPONENT retort ${optional})
    list(APPEND retort_programs "$<TARGET_FILE:${target}>")
  endif()
endforeach()
if(TARGET retort_cuda)
  set_target_properties(retort_cuda PROPERTIES INSTALL_RPATH "${retort_rpath};${retort_rpath_cuda}")
endif()
file(GLOB scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cluster/launch/*.sh" "${PROJECT_SOURCE_DIR}/cluster/launch/*.sbatch")
install(PROGRAMS ${scripts} DESTINATION "${RETORT_INSTALL_HOME}/launch" COMPONENT retort)

# For a site whose MPI is another: compiled there by its mpicc.
file(GLOB mpi_plugin CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cluster/mpi/*")
install(FILES ${mpi_plugin} DESTINATION "${RETORT_INSTALL_SHARE}/mpi" COMPONENT retort)

install(FILES "${PROJECT_SOURCE_DIR}/cluster/install/modulefiles/retort" DESTINATION "${RETORT_INSTALL_SHARE}/modulefiles" COMPONENT retort)

# Under the paths that they have here.
foreach(folder experiments/configs experiments/data experiments/examples tests/fixtures/smoke tests/fixtures/data tests/fixtures/folders
        monitoring/dashboards monitoring/rules monitoring/provisioning)
  get_filename_component(parent "${folder}" DIRECTORY)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION "${RETORT_INSTALL_SHARE}/${parent}" COMPONENT retort
          PATTERN "*.py" EXCLUDE PATTERN "__pycache__" EXCLUDE PATTERN "tests" EXCLUDE)
endforeach()
install(PROGRAMS "${PROJECT_SOURCE_DIR}/experiments/examples/read_results.py"
        DESTINATION "${RETORT_INSTALL_SHARE}/experiments/examples" COMPONENT retort)
install(FILES "${PROJECT_SOURCE_DIR}/monitoring/prometheus.yml" "${PROJECT_SOURCE_DIR}/monitoring/compose.yaml"
        DESTINATION "${RETORT_INSTALL_SHARE}/monitoring" COMPONENT retort)
install(PROGRAMS "${PROJECT_SOURCE_DIR}/monitoring/watch.sh" DESTINATION "${RETORT_INSTALL_SHARE}/monitoring" COMPONENT retort)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CITATION.cff" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        DESTINATION "${RETORT_INSTALL_DATA}/doc/retort" COMPONENT retort)

# The programs of the build find the same files in the same way.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/${RETORT_INSTALL_SHARE}")
foreach(folder experiments tests monitoring)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/${RETORT_INSTALL_SHARE}/${folder}" SYMBOLIC)
endforeach()

# What the program writes about itself, once it is built.
install(CODE "
  set(retort \"$<TARGET_FILE:retort>\")
  set(data \"${RETORT_INSTALL_DATA}\")
  if(NOT IS_ABSOLUTE \"\${data}\")
    set(data \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${data}\")
  endif()
  foreach(place bash-completion/completions/retort:bash zsh/site-functions/_retort:zsh fish/vendor_completions.d/retort.fish:fish)
    string(REGEX MATCH \"^(.*):(.*)\$\" whole \"\${place}\")
    set(shell \"\${CMAKE_MATCH_2}\")
    set(file \"\${data}/\${CMAKE_MATCH_1}\")
    get_filename_component(folder \"\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"\${retort}\" completion \${shell} OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  file(MAKE_DIRECTORY \"\${data}/man/man1\")
  execute_process(COMMAND \"\${retort}\" man --all \"\${data}/man/man1\" --force --quiet COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \"\${retort}\" schema COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${RETORT_INSTALL_SHARE}/sweep.schema.json\")
" COMPONENT retort)

# A wheel holds no links: there Python's scripts start the programs.
set(retort_linked retort)
if(TARGET retort-worker)
  list(APPEND retort_linked retort-worker)
endif()
install(CODE "
  set(bin \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  file(MAKE_DIRECTORY \"\${bin}\")
  file(RELATIVE_PATH home \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\" \"\${CMAKE_INSTALL_PREFIX}/${RETORT_INSTALL_HOME}\")
  foreach(program ${retort_linked})
    file(CREATE_LINK \"\${home}/\${program}\" \"\${bin}/\${program}\" SYMBOLIC)
  endforeach()
" COMPONENT links)
if(TARGET retort-worker)
  find_package(LibTorch QUIET)
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${RETORT_INSTALL_LIBRARIES}\")
    file(MAKE_DIRECTORY \"\${folder}\")
    file(REMOVE \"\${folder}/torch\")
    file(CREATE_LINK \"${LibTorch_DIR}\" \"\${folder}/torch\" SYMBOLIC)
  " COMPONENT torch)
endif()

# Everything that the programs load and that is neither the C and C++ library, nor torch's, nor MPI's; with the licence of
# the Debian package that each is from.
install(CODE "
  foreach(program ${retort_programs})
    if(EXISTS \"\${program}\")
      list(APPEND programs \"\${program}\")
    endif()
  endforeach()
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \${programs}
    RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing CONFLICTING_DEPENDENCIES_PREFIX clash
    PRE_EXCLUDE_REGEXES \"^lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\\\\+\\\\+)\\\\.so\" \"^ld-linux\" \"^lib(torch|c10|cudart|nccl|cuda|mpi)\")
  foreach(name IN LISTS clash_FILENAMES)
    list(GET clash_\${name} 0 one)
    list(APPEND found \"\${one}\")
  endforeach()
  if(missing)
    message(FATAL_ERROR \"These libraries are not on this machine: \${missing}\")
  endif()
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${RETORT_INSTALL_LIBRARIES}\")
  file(MAKE_DIRECTORY \"\${folder}/licences\")
  foreach(library IN LISTS found)
    file(REAL_PATH \"\${library}\" real)
    get_filename_component(name \"\${library}\" NAME)
    file(COPY_FILE \"\${real}\" \"\${folder}/\${name}\" ONLY_IF_DIFFERENT)
    execute_process(COMMAND dpkg-query -S \"\${real}\" OUTPUT_VARIABLE owner ERROR_QUIET RESULT_VARIABLE unknown)
    if(unknown)
      execute_process(COMMAND dpkg-query -S \"/usr\${real}\" OUTPUT_VARIABLE owner ERROR_QUIET)
    endif()
    string(REGEX MATCH \"^[^:]+\" package \"\${owner}\")
    if(package AND EXISTS \"/usr/share/doc/\${package}/copyright\")
      file(COPY_FILE \"/usr/share/doc/\${package}/copyright\" \"\${folder}/licences/\${package}\")
    endif()
  endforeach()
" COMPONENT libraries EXCLUDE_FROM_ALL)

# What figures are written with where no font is installed.
find_path(RETORT_FONTS DejaVuSans.ttf PATHS /usr/share/fonts/truetype/dejavu /usr/share/fonts/dejavu /usr/share/fonts/dejavu-sans-fonts
          /usr/share/fonts/TTF NO_DEFAULT_PATH)
if(RETORT_FONTS)
  install(FILES "${RETORT_FONTS}/DejaVuSans.ttf" "${RETORT_FONTS}/DejaVuSans-Bold.ttf" "${PROJECT_SOURCE_DIR}/cluster/cmake/fonts.conf"
          DESTINATION "${RETORT_INSTALL_SHARE}/fonts" COMPONENT libraries EXCLUDE_FROM_ALL)
  install(FILES /usr/share/doc/fonts-dejavu-core/copyright DESTINATION "${RETORT_INSTALL_LIBRARIES}/licences"
          RENAME fonts-dejavu-core COMPONENT libraries OPTIONAL EXCLUDE_FROM_ALL)
endif()

# cpack: one archive of everything but the link to this machine's LibTorch.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME "retort-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL retort links libraries)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
include(CPack)
