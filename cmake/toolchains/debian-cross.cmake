# SPDX-License-Identifier: BSD-3-Clause
# What the toolchain files here share: Debian's cross compiler and C library of an architecture.
# They set WAITIO_TRIPLET, WAITIO_QEMU and CMAKE_SYSTEM_PROCESSOR and include this file.
# WAITIO_FOREIGN_ROOT: folder in which OpenSSL's packages of that architecture are unpacked
# (tests/interop/build.sh makes one).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${WAITIO_TRIPLET}-gcc)
# Only if it is there: this machine's own would be found otherwise.
find_program(WAITIO_FOREIGN_FORTRAN ${WAITIO_TRIPLET}-gfortran)
if(WAITIO_FOREIGN_FORTRAN)
  set(CMAKE_Fortran_COMPILER ${WAITIO_FOREIGN_FORTRAN})
endif()
set(WAITIO_FOREIGN_ROOT "" CACHE PATH "root of foreign libraries")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WAITIO_FOREIGN_ROOT)

# Headers that differ between architectures lie in a folder of the architecture's name, which a
# compiler looks for in its own root only.
set(CMAKE_C_FLAGS_INIT "-idirafter ${WAITIO_FOREIGN_ROOT}/usr/include/${WAITIO_TRIPLET}")
set(CMAKE_FIND_ROOT_PATH ${WAITIO_FOREIGN_ROOT} /usr/${WAITIO_TRIPLET})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR ${WAITIO_QEMU} -L /usr/${WAITIO_TRIPLET})
