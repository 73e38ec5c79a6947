# SPDX-License-Identifier: BSD-3-Clause
# What `make install` puts where. Nothing installed may name the build or source folder, and the
# whole tree may be moved afterwards: every path below the prefix is relative to the file using it.
include(CMakePackageConfigHelpers)

file(GLOB WAITIO_HEADERS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/*.h)
install(FILES ${WAITIO_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

if(TARGET waitio)
  install(TARGETS waitio EXPORT waitioTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS waitio_static EXPORT waitioStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  foreach(suffix so a)
    # Old makefiles say -lwaitio_a64fx.
    install(CODE "file(CREATE_LINK libwaitio.${suffix}
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libwaitio_a64fx.${suffix}\" SYMBOLIC)")
  endforeach()

  set(WAITIO_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/waitio)
  install(EXPORT waitioTargets NAMESPACE waitio:: DESTINATION ${WAITIO_CMAKE_DIR})
  install(EXPORT waitioStaticTargets NAMESPACE waitio:: DESTINATION ${WAITIO_CMAKE_DIR})
  configure_package_config_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/waitioConfig.cmake.in
    ${CMAKE_BINARY_DIR}/package/waitioConfig.cmake INSTALL_DESTINATION ${WAITIO_CMAKE_DIR}
    NO_SET_AND_CHECK_MACRO)
  # 0.x makes no promise between minor versions.
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/waitioConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/package/waitioConfig.cmake
                ${CMAKE_BINARY_DIR}/package/waitioConfigVersion.cmake DESTINATION ${WAITIO_CMAKE_DIR})

  file(RELATIVE_PATH WAITIO_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" WAITIO_PC_TO_PREFIX "${WAITIO_PC_TO_PREFIX}")
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/waitio.pc.in ${CMAKE_BINARY_DIR}/package/waitio.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/waitio.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  foreach(part cpl stage)
    if(TARGET waitio_${part})
      configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/waitio_${part}.pc.in
        ${CMAKE_BINARY_DIR}/package/waitio_${part}.pc @ONLY)
      install(FILES ${CMAKE_BINARY_DIR}/package/waitio_${part}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    endif()
  endforeach()
endif()

# The `waitio` command: Python source beside the libraries, found relative to the script. The build
# folder has the same shape, with a link in place of the copy.
file(GLOB WAITIO_PACKAGE LIST_DIRECTORIES true ${CMAKE_CURRENT_SOURCE_DIR}/python/waitio
     ${CMAKE_CURRENT_SOURCE_DIR}/python/src/waitio)
if(WAITIO_PACKAGE)
  list(GET WAITIO_PACKAGE 0 WAITIO_PACKAGE)
  get_filename_component(WAITIO_PYTHON_ROOT ${WAITIO_PACKAGE} DIRECTORY)
  install(DIRECTORY ${WAITIO_PACKAGE} DESTINATION lib/waitio/python
    FILES_MATCHING PATTERN "*.py" PATTERN "*.toml" PATTERN "py.typed" PATTERN "*.in" PATTERN "*.sh"
    PATTERN "__pycache__" EXCLUDE)
  install(PROGRAMS ${CMAKE_CURRENT_SOURCE_DIR}/cmake/waitio-command.py DESTINATION ${CMAKE_INSTALL_BINDIR}
    RENAME waitio)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin ${CMAKE_BINARY_DIR}/lib/waitio)
  file(CREATE_LINK ${WAITIO_PYTHON_ROOT} ${CMAKE_BINARY_DIR}/lib/waitio/python SYMBOLIC)
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/waitio-command.py ${CMAKE_BINARY_DIR}/bin/waitio COPYONLY)
  file(CHMOD ${CMAKE_BINARY_DIR}/bin/waitio PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()

# Manual pages are written in Markdown; a small script without dependencies makes roff of them.
file(GLOB WAITIO_MAN CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/docs/man/*.md)
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
if(WAITIO_MAN AND Python3_Interpreter_FOUND)
  set(pages)
  foreach(source IN LISTS WAITIO_MAN)
    get_filename_component(name ${source} NAME_WLE)
    if(NOT name MATCHES "\\.([1-9])$")
      continue()
    endif()
    set(section ${CMAKE_MATCH_1})
    set(page ${CMAKE_BINARY_DIR}/man/${name})
    add_custom_command(OUTPUT ${page} DEPENDS ${source} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/md2man.py
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/md2man.py
              --version ${PROJECT_VERSION} ${source} ${page})
    list(APPEND pages ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endforeach()
  add_custom_target(man ALL DEPENDS ${pages})
elseif(WAITIO_MAN)
  message(STATUS "no Python 3.9 or later: manual pages are not built")
endif()

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
