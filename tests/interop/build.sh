#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Cross builds the library and the programs that tests/interop runs under emulation.
#
#   tests/interop/build.sh BUILD ARCH...      ARCH: s390x aarch64
#
# Builds in BUILD/interop/ARCH. OpenSSL for ARCH comes from Debian's archive by apt-get with state
# of its own, and is unpacked below BUILD: the system's packages and lists stay as they are.
# Needs gcc-ARCH-linux-gnu and qemu-user (scripts/setup.sh interop).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
export LC_ALL=C
[ $# -ge 2 ] || { echo "usage: tests/interop/build.sh BUILD ARCH..." >&2; exit 2; }
mkdir -p "$1"
build=$(cd "$1" && pwd)
shift
all="sys_ring sys_sizes sys_traffic sys_actor sys_stage lang_coll_all lang_plain_mpi lang_more_calls lang_unlike lang_mpi_external waitio-relay"

fetch() ( # fetch FOLDER DEBIAN_ARCHITECTURE: unpack OpenSSL into FOLDER/tree
    if [ -e "$1/tree/usr/include/openssl/evp.h" ]; then return 0; fi
    rm -rf "$1/debs" "$1/tree" "$1/tree.part"
    mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial" "$1/debs"
    cd "$1/debs"
    folder=$1 debian=$2
    own() {
        apt-get -q -o "APT::Architectures::=$debian" -o "Dir::State=$folder/state" \
            -o "Dir::Cache=$folder/cache" -o Acquire::Languages=none -o APT::Sandbox::User= "$@"
    }
    own update && own download "libssl3:$2" "libssl-dev:$2" || return 1
    for package in *.deb; do
        dpkg-deb -x "$package" "$1/tree.part" || return 1
    done
    mv "$1/tree.part" "$1/tree"
    rm -rf "$1/debs" "$1/state" "$1/cache"
)

for arch; do
    case $arch in
        s390x) debian=s390x ;;
        aarch64) debian=arm64 ;;
        *) echo "build.sh: $arch is not one of s390x, aarch64" >&2; exit 2 ;;
    esac
    targets=$all fortran=OFF
    if command -v "$arch-linux-gnu-gfortran" >/dev/null 2>&1; then
        targets="$all lang_coll_types lang_faces_loose" fortran=ON
    fi
    folder=$build/interop/$arch
    mkdir -p "$folder"
    exec 9>"$folder/lock" # tests beside each other want the same
    flock 9
    fetch "$folder" "$debian" >"$folder/fetch.log" 2>&1 ||
        { cat "$folder/fetch.log" >&2; exit 1; }
    cmake -S "$root" -B "$folder/b" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_TOOLCHAIN_FILE="$root/cmake/toolchains/$arch.cmake" \
        -DWAITIO_FOREIGN_ROOT="$folder/tree" -DWAITIO_FORTRAN=$fortran -DWAITIO_BENCH=OFF -DWAITIO_LTO=OFF \
        -DWAITIO_WERROR=ON >"$folder/build.log" 2>&1 &&
        cmake --build "$folder/b" --target $targets >>"$folder/build.log" 2>&1 ||
        { tail -n 40 "$folder/build.log" >&2; exit 1; }
done
