# SPDX-License-Identifier: BSD-3-Clause
# Little-endian ARM, 64 bits, weakly ordered memory.
# Debian: gcc-aarch64-linux-gnu, qemu-user.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(WAITIO_TRIPLET aarch64-linux-gnu)
set(WAITIO_QEMU qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/debian-cross.cmake)
