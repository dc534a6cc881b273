# cmake --install: the programs stand together with the plug-ins that they load, in libexec/retort, and the scripts
# that start them in libexec/retort/launch; bin/retort is a link. LibTorch, Open MPI and the NVIDIA libraries stay
# where the build found them.
include(GNUInstallDirs)
set(RETORT_INSTALL_HOME "${CMAKE_INSTALL_LIBEXECDIR}/retort")

foreach(target retort retort-worker retort-sleeper retort_cluster_mpi retort_cuda)
  if(TARGET ${target})
    get_target_property(rpath ${target} BUILD_RPATH)
    if(rpath)
      set_target_properties(${target} PROPERTIES INSTALL_RPATH "${rpath}")
    endif()
    set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${target} RUNTIME DESTINATION "${RETORT_INSTALL_HOME}" LIBRARY DESTINATION "${RETORT_INSTALL_HOME}")
  endif()
endforeach()
file(GLOB scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cluster/launch/*.sh" "${PROJECT_SOURCE_DIR}/cluster/launch/*.sbatch")
install(PROGRAMS ${scripts} DESTINATION "${RETORT_INSTALL_HOME}/launch")
install(CODE "
  set(bin \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  file(MAKE_DIRECTORY \"\${bin}\")
  file(RELATIVE_PATH home \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\" \"\${CMAKE_INSTALL_PREFIX}/${RETORT_INSTALL_HOME}\")
  file(CREATE_LINK \"\${home}/retort\" \"\${bin}/retort\" SYMBOLIC)
")
