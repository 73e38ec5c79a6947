# SPDX-License-Identifier: BSD-3-Clause
# Big-endian, 64 bits: the one machine whose numbers are written the other way round.
# Debian: gcc-s390x-linux-gnu, qemu-user.
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(WAITIO_TRIPLET s390x-linux-gnu)
set(WAITIO_QEMU qemu-s390x)
include(${CMAKE_CURRENT_LIST_DIR}/debian-cross.cmake)
