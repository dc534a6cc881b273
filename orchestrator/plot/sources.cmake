# retort::plot: pictures of results, drawn by cairo. Knows nothing of trials. Included by orchestrator/CMakeLists.txt.
find_package(PkgConfig REQUIRED)
pkg_check_modules(CAIRO REQUIRED IMPORTED_TARGET GLOBAL cairo cairo-svg)
set(RETORT_PLOT_SOURCES canvas.cc layout.cc neighbour_embedding.cc painters.cc panel_painter.cc render.cc
    scales.cc text_measure.cc ticks.cc)
list(TRANSFORM RETORT_PLOT_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")

retort_module(plot
  SOURCES ${RETORT_PLOT_SOURCES}
  PUBLIC retort::spec
  PRIVATE fmt::fmt PkgConfig::CAIRO)
