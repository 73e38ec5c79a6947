#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes a machine able to build, test, document and lint WaitIO. Installs only what is missing, asks
# nothing, is silent and quick when all is there, and then touches no network.
#
#   scripts/setup.sh build|demo|demo-heat|demo-coupled|demo-staging|test|docs|lint|interop|fuzz ...
#
# As root (or with password-less sudo) on Debian and Ubuntu it installs packages. Elsewhere it names
# what is missing and the command that installs it, and exits with status 1; the same with the reason
# where a mirror cannot be reached. Python tools go into .venv inside the checkout; nothing is installed
# for the user or the system with pip.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

missing_packages= missing_names=
optional_packages= optional_names=

need() { # need DEBIAN_PACKAGE WHAT COMMAND...: the command tells whether it is there
    package=$1 what=$2
    shift 2
    case " $missing_packages " in *" $package "*) return 0 ;; esac
    if ! "$@" >/dev/null 2>&1; then
        missing_packages="$missing_packages $package"
        missing_names="$missing_names
    $what (Debian package $package)"
    fi
}

want() { # the same for what only some parts need: its absence stops nothing
    package=$1 what=$2
    shift 2
    case " $optional_packages " in *" $package "*) return 0 ;; esac
    if ! "$@" >/dev/null 2>&1; then
        optional_packages="$optional_packages $package"
        optional_names="$optional_names
    $what (Debian package $package; optional)"
    fi
}

have() { command -v "$1"; }

have_header() { # have_header HEADER; HEADERS: where to look (tests)
    for dir in ${HEADERS:-/usr/include /usr/include/"$(uname -m)"-linux-gnu /usr/local/include}; do
        if [ -e "$dir/$1" ]; then return 0; fi
    done
    echo "#include <$1>" | cc -E -o /dev/null - 2>/dev/null
}

have_venv_module() { "$(find_python)" -c 'import venv, ensurepip'; }

# The system's own Python before whatever stands first in PATH: it is the one that packages extend.
find_python() {
    for candidate in ${PYTHON:-} /usr/bin/python3 python3; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
            echo "$candidate"
            return 0
        fi
    done
    echo python3
}

have_python_headers() {
    "$(find_python)" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))'
}

have_cmake() { # a cmake that is new enough
    set -- $(cmake --version 2>/dev/null | head -n 1)
    [ "${3:-}" ] || return 1
    major=${3%%.*} rest=${3#*.} minor=${rest%%.*}
    [ "$major" -gt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -ge 20 ]; }
}

check_build() {
    need gcc "a C compiler" have cc
    need libc6-dev "the C library's headers" have_header stdlib.h
    need make make have make
    need cmake "CMake 3.20 or later" have_cmake
    need libssl-dev "OpenSSL's headers (libcrypto)" have_header openssl/evp.h
    want libyaml-dev "libyaml (the coupler's configurations in YAML)" have_header yaml.h
    need python3 "Python 3.9 or later" "$(find_python)" -c 'import sys; sys.exit(sys.version_info < (3, 9))'
}

check_demo_heat() {
    check_build
    need openmpi-bin "Open MPI's mpiexec" have mpiexec.openmpi
    need libopenmpi-dev "Open MPI's compiler wrapper" have mpicc.openmpi
    want libmetis-dev "METIS (heat3d's partitions)" have_header metis.h
    need mpich "MPICH's mpiexec" have mpiexec.mpich
    need libmpich-dev "MPICH's compiler wrapper" have mpicc.mpich
}

check_demo() {
    check_demo_heat
    need gfortran "gfortran" have gfortran
    need python3-venv "Python's venv module" have_venv_module
    need python3-dev "Python's headers (the package waitio)" have_python_headers
}

check_demo_coupled() {
    check_demo
    need libnetcdf-dev "netCDF-C (files of grids and weights)" have_header netcdf.h
}

have_library() { # have_library SONAME
    for dir in /lib /usr/lib /usr/lib64 /usr/local/lib /usr/lib/"$(uname -m)"-linux-gnu; do
        if [ -e "$dir/$1" ]; then return 0; fi
    done
    ldconfig -p 2>/dev/null | grep -q "$1 "
}

check_demo_staging() {
    check_build
    need openmpi-bin "Open MPI's mpiexec" have mpiexec.openmpi
    need libopenmpi-dev "Open MPI's compiler wrapper" have mpicc.openmpi
    need python3-venv "Python's venv module" have_venv_module
    need python3-dev "Python's headers (the package waitio)" have_python_headers
}

check_test() {
    check_demo
    need libcmocka-dev "cmocka (unit tests)" have_header cmocka.h
    need g++ "a C++ compiler (the headers are tested with it)" have c++
    need pkg-config "pkg-config" have pkg-config
    need iproute2 "ip (network namespaces)" have ip
    need patch "patch (tests apply the converter's diffs)" have patch
    need git "git (lists the files that rules are checked in)" have git
    need binutils "nm" have nm
    want libnetcdf-dev "netCDF-C (files of grids and weights)" have_header netcdf.h
    want libzstd1 "zstd (lossless operator of staging)" have_library libzstd.so.1
    want libzfp1 "zfp (error-bounded operator of staging)" have_library libzfp.so.1
    want cdo "CDO (its weights are compared with ours)" have cdo
    want libfuse3-dev "libfuse3 (file systems for tests)" have_header fuse3/fuse_lowlevel.h
    want fuse3 "fusermount3 (mounts and unmounts them)" have fusermount3
    want sshfs "sshfs (a network file system for tests)" have sshfs
    want openssh-sftp-server "sftp-server (what sshfs talks to)" test -x /usr/lib/openssh/sftp-server
}

check_interop() {
    need ninja-build Ninja have ninja
    for arch in s390x aarch64; do
        need "gcc-$arch-linux-gnu" "a cross compiler for $arch" have "$arch-linux-gnu-gcc"
        need qemu-user "qemu's user mode for $arch" have "qemu-$arch"
    done
    need gfortran-s390x-linux-gnu "a Fortran compiler for s390x" have s390x-linux-gnu-gfortran
    need libc6-dev-s390x-cross "a C library for s390x" test -e /usr/s390x-linux-gnu/include/stdlib.h
    need libc6-dev-arm64-cross "a C library for aarch64" test -e /usr/aarch64-linux-gnu/include/stdlib.h
}

check_docs() {
    need doxygen doxygen have doxygen
    need python3-venv "Python's venv module" have_venv_module
}

check_lint() {
    need clang-format-14 "clang-format 14" have clang-format-14
    need git git have git
    need python3-venv "Python's venv module" have_venv_module
}

have_fuzzer() {
    echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n){(void)d;(void)n;return 0;}' |
        clang -x c -fsanitize=fuzzer,address -o /dev/null -
}

check_fuzz() {
    need clang "clang" have clang
    need libclang-rt-14-dev "clang's libFuzzer and sanitizers" have_fuzzer
}

# What a log of apt-get or pip says went wrong, in words; the first that fits.
why() { # why FALLBACK
    while IFS='|' read -r words pattern; do
        if grep -qE "$pattern" "$log"; then
            echo "$words"
            return 0
        fi
    done <<'END'
the disk is full|No space left|have enough free space
another package manager is at work here; try again when it is done|Could not get lock|Unable to acquire the dpkg
the mirror cannot be reached: no network here, or one that needs a proxy (http_proxy, https_proxy) or another mirror|resolving|resolve|[Cc]ould not connect|[Cc]annot initiate the connection|Connection (timed out|refused|failed)|unreachable|NewConnectionError|Timeout|name resolution
the mirror's certificate is not trusted here (Debian package ca-certificates; PIP_CERT names another file)|CERTIFICATE_VERIFY_FAILED
this system's package sources do not have them|Unable to locate package|no installation candidate|No matching distribution
the mirror's files and its lists do not agree; try again later|404|Hash Sum mismatch|not signed|not valid yet
END
    echo "$1"
}

say_commands() { # say_commands PREFIX
    cat >&2 <<END
    ${1}apt-get update
    ${1}apt-get install --no-install-recommends$missing_packages$optional_packages
END
}

find_root() { # into as_root: what makes a command run as root; false: nothing does
    as_root=
    [ "$(id -u)" -eq 0 ] && return 0
    as_root="sudo -n env DEBIAN_FRONTEND=noninteractive"
    command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null
}

apt() { # apt SUBCOMMAND ...
    $as_root apt-get -y -q --no-install-recommends -o DPkg::Lock::Timeout=120 \
        -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 "$@" </dev/null >>"$log" 2>&1
}

install_packages() {
    if ! command -v apt-get >/dev/null 2>&1; then
        [ "$missing_packages" ] || return 0
        cat >&2 <<END
setup: missing on this machine:$missing_names$optional_names
Install them with your system's package manager (dnf, zypper, spack, modules ...) and try again.
END
        exit 1
    fi
    if ! find_root; then
        [ "$missing_packages" ] || return 0
        echo "setup: missing on this machine:$missing_names$optional_names" >&2
        if command -v sudo >/dev/null 2>&1; then
            echo "Run these and try again (or have them run by who administers this machine):" >&2
            say_commands "sudo "
        else
            echo "Neither root nor sudo here. Who administers this machine can install them:" >&2
            say_commands ""
        fi
        exit 1
    fi
    echo "setup: installing$missing_packages$optional_packages (a minute or two)"
    : >"$log"
    # shellcheck disable=SC2086 # words to be split
    if apt install $missing_packages $optional_packages; then return 0; fi
    # Package lists may be absent (containers) or stale: refresh once, try again.
    : >"$log"
    apt update || true
    # shellcheck disable=SC2086
    if apt install $missing_packages $optional_packages; then return 0; fi
    # shellcheck disable=SC2086
    if [ "$optional_packages" ] && { [ -z "$missing_packages" ] || apt install $missing_packages; }; then
        without=
        for package in $optional_packages; do
            apt install "$package" || without="$without $package"
        done
        [ -z "$without" ] || echo "setup: goes on without$without, which could not be installed"
        return 0
    fi
    grep -E '^(E|W):' "$log" | sort -ru | head -n 6 >&2 || true
    cat >&2 <<END
setup: apt-get could not install$missing_packages
setup: the reason: $(why "apt-get says it above")
END
    exit 1
}

# Where pip reaches no index the system's own pytest will do.
system_pytest() {
    python=$(find_python)
    if ! "$python" -c 'import pytest' 2>/dev/null; then
        missing_packages=" python3-pytest" optional_packages= optional_names= missing_names="
    pytest (Debian package python3-pytest)"
        (install_packages) || return 1
        "$python" -c 'import pytest' 2>/dev/null || return 1
    fi
    echo "setup: no package index within reach; using the system's pytest"
    "$python" -m venv --system-site-packages "$root/.venv"
    cp "$wanted" "$stamp"
}

venv() { # venv PART: the tools of scripts/requirements-PART.txt, in .venv
    wanted=$root/scripts/requirements-$1.txt
    stamp=$root/.venv/.have-$1
    if [ -x "$root/.venv/bin/python" ] && cmp -s "$wanted" "$stamp"; then return 0; fi
    if ! "$root/.venv/bin/python" -c pass 2>/dev/null; then
        rm -rf "$root/.venv"
        "$(find_python)" -m venv "$root/.venv"
    fi
    echo "setup: installing Python tools for $1 into .venv"
    if ! "$root/.venv/bin/python" -m pip install -q --no-input --retries 1 --timeout 20 -r "$wanted" \
        </dev/null >"$log" 2>&1; then
        [ "$1" = test ] && system_pytest && return 0
        tail -n 5 "$log" >&2
        cat >&2 <<END
setup: pip could not install scripts/requirements-$1.txt into .venv
setup: the reason: $(why "pip says it above")
END
        exit 1
    fi
    cp "$wanted" "$stamp"
}

[ $# -gt 0 ] || set -- build
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for part; do
    case $part in
    build | demo | test | docs | lint | interop | fuzz) check_"$part" ;;
    demo-heat) check_demo_heat ;;
    demo-coupled) check_demo_coupled ;;
    demo-staging) check_demo_staging ;;
    *)
        echo "setup: unknown part '$part'; parts are build, demo, demo-heat, demo-coupled, demo-staging, test, docs, lint, interop, fuzz" >&2
        exit 2
        ;;
    esac
done
[ -z "$missing_packages$optional_packages" ] || install_packages
for part; do
    case $part in
    demo | demo-coupled | demo-staging | test | docs | lint) venv "$part" ;;
    esac
done
