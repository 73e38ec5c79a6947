# SPDX-License-Identifier: BSD-3-Clause
# The MPIs of this machine, and libraries of ours that are built once for each of them.
#
#   include(WaitioMpi)
#   waitio_mpi_library(emulator ${mpi} PLUGIN SOURCES a.c b.c)   # for each ${mpi} in WAITIO_MPIS
#
# makes the target waitio_emulator_<mpi> and the file lib/libwaitio_emulator_<mpi>.so.
#
# WAITIO_MPI, a list of compiler wrappers (names or paths), says which MPIs. Left empty, those of
# the usual names are taken: a packager gets all that are installed side by side. A wrapper of an
# MPI that was found already under another name is left out. For each one there is afterwards
#   WAITIO_MPIS                    its short name in this list: openmpi, mpich, intelmpi ...; two of
#                                  one kind get their version added
#   WAITIO_MPI_<name>_WRAPPER      the wrapper's path
#   WAITIO_MPI_<name>_KIND         Open MPI, MPICH, ...: as MPI_Get_library_version begins
#   WAITIO_MPI_<name>_VERSION      4.1.4
#   WAITIO_MPI_<name>_SONAME       libmpi.so.40: tells whether a process has this MPI loaded
#   WAITIO_MPI_<name>_LAUNCHER     environment variables that its launcher sets for a process
#   waitio_mpi::<name>             include folders, options and libraries
# The compiler is ours in all cases; of the wrapper only what it adds is used.
include_guard(GLOBAL)

set(WAITIO_MPI "" CACHE STRING "compiler wrappers of the MPIs to build for; empty: those found")
option(WAITIO_MPI_LIBRARIES "build the libraries that use an MPI" ON)

# What the wrapper adds to a compiler's command line. All wrappers know one of these words.
function(_waitio_mpi_show wrapper out)
  set(${out} "" PARENT_SCOPE)
  foreach(word -show --showme -compile_info)
    execute_process(COMMAND ${wrapper} ${word} OUTPUT_VARIABLE line ERROR_QUIET RESULT_VARIABLE rc
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(rc EQUAL 0 AND NOT line STREQUAL "")
      string(REGEX REPLACE "\n.*" "" line "${line}")
      separate_arguments(words UNIX_COMMAND "${line}")
      list(REMOVE_AT words 0) # the compiler
      set(${out} "${words}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Words of the command line, by what a target needs them for.
function(_waitio_mpi_sort words includes definitions options links)
  set(inc) # not ${includes}: that is the caller's name
  set(def)
  set(opt)
  set(lnk)
  set(take "")
  foreach(word IN LISTS words)
    if(take STREQUAL "inc")
      list(APPEND inc ${word})
      set(take "")
    elseif(take STREQUAL "lnk")
      list(APPEND lnk ${word})
      set(take "")
    elseif(word MATCHES "^(-I|-isystem)$")
      set(take "inc")
    elseif(word MATCHES "^-I(.+)")
      list(APPEND inc ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-D(.+)")
      list(APPEND def ${CMAKE_MATCH_1})
    elseif(word STREQUAL "-Xlinker")
      list(APPEND lnk ${word})
      set(take "lnk")
    elseif(word MATCHES "^(-L|-l|-Wl,)" OR word MATCHES "\\.(a|so)(\\.[0-9.]+)?$")
      list(APPEND lnk ${word})
    elseif(word STREQUAL "-pthread")
      list(APPEND opt ${word})
      list(APPEND lnk ${word})
    endif() # optimisation, hardening: ours to choose
  endforeach()
  foreach(pair "${includes}=inc" "${definitions}=def" "${options}=opt" "${links}=lnk")
    string(REGEX MATCH "(.*)=(.*)" _ "${pair}")
    set(${CMAKE_MATCH_1} "${${CMAKE_MATCH_2}}" PARENT_SCOPE)
  endforeach()
endfunction()

# Kind and version from the macros of its mpi.h: nothing has to run, so cross compiling works.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/waitio_mpi_kinds.txt _WAITIO_MPI_KINDS REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_LIST_DIR}/waitio_mpi_kinds.txt)

function(_waitio_mpi_kind includes definitions kind short version launcher)
  set(${kind} "" PARENT_SCOPE)
  set(source "#include <mpi.h>\n")
  set(n 0)
  foreach(row IN LISTS _WAITIO_MPI_KINDS)
    string(REPLACE "|" ";" row "${row}")
    list(GET row 2 macros)
    string(REPLACE "." ";" macros "${macros}")
    list(GET macros 0 first)
    string(JOIN " " text ${macros})
    string(APPEND source "#ifdef ${first}\nwaitio_mpi ${n} ${text}\n#endif\n")
    math(EXPR n "${n} + 1")
  endforeach()
  set(file ${CMAKE_BINARY_DIR}/CMakeFiles/waitio_mpi_kind.c)
  file(WRITE ${file} "${source}")
  set(flags)
  foreach(folder IN LISTS includes)
    list(APPEND flags -I${folder})
  endforeach()
  foreach(definition IN LISTS definitions)
    list(APPEND flags -D${definition})
  endforeach()
  execute_process(COMMAND ${CMAKE_C_COMPILER} ${flags} -E ${file} OUTPUT_VARIABLE text ERROR_QUIET
    RESULT_VARIABLE rc)
  if(rc EQUAL 0 AND text MATCHES "\nwaitio_mpi ([0-9]+) ([^\n]+)")
    list(GET _WAITIO_MPI_KINDS ${CMAKE_MATCH_1} row)
    set(found "${CMAKE_MATCH_2}")
    string(REPLACE "\"" "" found "${found}")
    string(STRIP "${found}" found)
    string(REGEX REPLACE " +" "." found "${found}")
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 a)
    list(GET row 1 b)
    list(GET row 3 c)
    set(${kind} "${a}" PARENT_SCOPE)
    set(${short} "${b}" PARENT_SCOPE)
    set(${version} "${found}" PARENT_SCOPE)
    set(${launcher} "${c}" PARENT_SCOPE)
  endif()
endfunction()

# The library that holds the calls: what a program linked so needs first of the names lib*mpi*.
function(_waitio_mpi_soname includes links soname)
  set(${soname} "" PARENT_SCOPE)
  set(dir ${CMAKE_BINARY_DIR}/CMakeFiles/waitio_mpi_soname)
  file(MAKE_DIRECTORY ${dir})
  file(WRITE ${dir}/probe.c "#include <mpi.h>\nint main(void)\n{\n    return MPI_Init(0, 0);\n}\n")
  set(flags)
  foreach(folder IN LISTS includes)
    list(APPEND flags -I${folder})
  endforeach()
  execute_process(COMMAND ${CMAKE_C_COMPILER} ${flags} -o ${dir}/probe ${dir}/probe.c ${links}
    OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE rc)
  if(NOT rc EQUAL 0)
    return()
  endif()
  find_program(WAITIO_READELF NAMES readelf llvm-readelf)
  mark_as_advanced(WAITIO_READELF)
  if(WAITIO_READELF)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${WAITIO_READELF} -d ${dir}/probe
      OUTPUT_VARIABLE text ERROR_QUIET)
    if(text MATCHES "\\(NEEDED\\)[^\n]*\\[(lib[^]\n]*mpi[^]\n]*)\\]")
      set(${soname} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# One MPI: its target and variables. Appends to WAITIO_MPIS of the caller.
macro(_waitio_mpi_take wrapper asked)
  _waitio_mpi_show(${wrapper} _words)
  _waitio_mpi_sort("${_words}" _includes _definitions _options _links)
  _waitio_mpi_kind("${_includes}" "${_definitions}" _kind _name _version _launcher)
  if(_kind STREQUAL "")
    if(${asked})
      message(FATAL_ERROR "WAITIO_MPI: ${wrapper} is no C compiler wrapper of an MPI known here: "
                          "it answers neither -show nor --showme, or its mpi.h has no version")
    endif()
  else()
    _waitio_mpi_soname("${_includes}" "${_links}" _soname)
    set(_known FALSE)
    foreach(_other IN LISTS WAITIO_MPIS)
      if("${_includes}" STREQUAL "${WAITIO_MPI_${_other}_INCLUDES}")
        set(_known TRUE)
      endif()
    endforeach()
    if(_soname STREQUAL "")
      message(STATUS "MPI: ${wrapper} (${_kind} ${_version}) links no program: left out")
    elseif(NOT _known)
      if(${_name} IN_LIST WAITIO_MPIS)
        string(MAKE_C_IDENTIFIER "${_name}${_version}" _name)
      endif()
      list(APPEND WAITIO_MPIS ${_name})
      set(WAITIO_MPI_${_name}_WRAPPER ${wrapper})
      set(WAITIO_MPI_${_name}_KIND "${_kind}")
      set(WAITIO_MPI_${_name}_VERSION "${_version}")
      set(WAITIO_MPI_${_name}_SONAME "${_soname}")
      set(WAITIO_MPI_${_name}_LAUNCHER "${_launcher}")
      set(WAITIO_MPI_${_name}_INCLUDES "${_includes}")
      add_library(waitio_mpi_${_name} INTERFACE)
      add_library(waitio_mpi::${_name} ALIAS waitio_mpi_${_name})
      target_include_directories(waitio_mpi_${_name} SYSTEM INTERFACE ${_includes})
      target_compile_definitions(waitio_mpi_${_name} INTERFACE ${_definitions})
      target_compile_options(waitio_mpi_${_name} INTERFACE ${_options})
      target_link_libraries(waitio_mpi_${_name} INTERFACE ${_links})
      message(STATUS "MPI: ${_name}: ${_kind} ${_version} (${wrapper}, ${_soname})")
    endif()
  endif()
endmacro()

set(WAITIO_MPIS)
if(WAITIO_MPI_LIBRARIES)
  set(_asked FALSE)
  set(_wrappers mpicc.openmpi mpicc.mpich mpicc mpiicc mpiicx mpifcc)
  if(NOT WAITIO_MPI STREQUAL "")
    set(_asked TRUE)
    set(_wrappers ${WAITIO_MPI})
  endif()
  foreach(_word IN LISTS _wrappers)
    unset(_path)
    unset(_path CACHE)
    find_program(_path NAMES ${_word} NO_CACHE)
    if(NOT _path AND _asked)
      message(FATAL_ERROR "WAITIO_MPI: there is no ${_word}: name the C compiler wrapper of an MPI, "
                          "as in -DWAITIO_MPI=/opt/mpi/bin/mpicc")
    elseif(_path)
      _waitio_mpi_take(${_path} ${_asked})
    endif()
  endforeach()
  if(NOT WAITIO_MPIS)
    message(STATUS "no MPI found: no libraries that use one (-DWAITIO_MPI=/path/of/mpicc)")
  endif()
endif()

# A shared library of ours for one MPI. What it was built for is compiled into it:
#   WAITIO_MPI_NAME "openmpi", WAITIO_MPI_KIND "Open MPI", WAITIO_MPI_RELEASE "4.1.4",
#   WAITIO_MPI_SONAME "libmpi.so.40", WAITIO_MPI_LAUNCHER "OMPI_COMM_WORLD_SIZE",
#   WAITIO_MPI_RIVALS: sonames of other MPIs
# It sees public headers and its own folder only. LINK: further libraries. PLUGIN: libwaitio loads it
# by its plain name (others are linked by programs, and have a version in their names).
function(waitio_mpi_library kind mpi)
  cmake_parse_arguments(PARSE_ARGV 2 arg "PLUGIN" "" "SOURCES;LINK")
  set(target waitio_${kind}_${mpi})
  # MPIs that a program may have instead.
  set(rivals libmpi.so.40 libmpi.so.20 libmpi.so.12 libmpich.so.12 libmpi_cray.so.12 libmpi.so.0)
  list(REMOVE_ITEM rivals "${WAITIO_MPI_${mpi}_SONAME}")
  string(REPLACE ";" "," rivals "${rivals}")
  add_library(${target} SHARED ${arg_SOURCES})
  # Ours in the checkout; in the copy that `waitio build-hybrid` builds, the project's own.
  set(root ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..)
  if(NOT EXISTS ${root}/src/hybrid)
    set(root ${PROJECT_SOURCE_DIR})
  endif()
  target_include_directories(${target} PRIVATE ${root}/include ${root}/src)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE WAITIO_MPI_NAME="${mpi}"
    WAITIO_MPI_KIND="${WAITIO_MPI_${mpi}_KIND}" WAITIO_MPI_RELEASE="${WAITIO_MPI_${mpi}_VERSION}"
    WAITIO_MPI_SONAME="${WAITIO_MPI_${mpi}_SONAME}"
    WAITIO_MPI_LAUNCHER="${WAITIO_MPI_${mpi}_LAUNCHER}" WAITIO_MPI_RIVALS="${rivals}")
  target_compile_options(${target} PRIVATE ${WAITIO_WARNINGS})
  target_link_libraries(${target} PRIVATE waitio_mpi::${mpi} ${arg_LINK} Threads::Threads)
  if(NOT arg_PLUGIN)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
  endif()
  set_property(GLOBAL APPEND PROPERTY WAITIO_MPI_TARGETS ${target})
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
