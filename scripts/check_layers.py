#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check the house rules that a compiler does not: layering, forbidden calls, licence lines.

* A layer includes only itself, lower layers and the public headers meant for it.
* System calls and the allocator are used in src/os only; functions without a bound nowhere.
* Every source file begins with its licence line.
* No file is longer than 1000 lines, but generated ones and LISTS.
* Nothing names a path of the machine it was written on.

Prints one line per finding and exits with 1 when there is any.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# What each layer may include besides itself. transport stands on boot for what it puts into the
# address table only; groups are pure functions of that table, and p2p sends within groups.
BELOW = {}
for _name, _under in (
    ("os", ()),
    ("base", ("os",)),
    ("wire", ("base",)),
    ("auth", ("wire",)),
    ("boot", ("auth",)),
    ("transport", ("boot",)),
    ("group", ("boot",)),
    ("p2p", ("transport", "group")),
    ("api", ("p2p",)),
    ("mpi", ("api",)),
    ("hybrid", ()),
    ("emulator", ()),
    ("coupler", ("os",)),  # os: the weights only
    ("stage", ()),
    ("adios", ()),  # a plugin for ADIOS2, on the public headers
    ("h3ou", ()),
    ("span", ("os", "hybrid")),  # a library of its own, on the public headers
):
    BELOW[_name] = set(_under).union(*(BELOW[u] for u in _under)) if _under else set()

# Libraries of their own beside libwaitio: public headers are all they see of it, and they go to the
# system themselves.
BESIDE = {"hybrid", "coupler", "stage", "adios", "h3ou"}

# Layers that work for users' handles and so may see the whole public header; the rest see errors.
PUBLIC_HEADER = {"p2p", "group", "api", "mpi", "span"} | BESIDE
# Who sees the interface for transports of outside libraries.
OUTSIDE = {"transport", "p2p", "api", "emulator"}

# No bound, no error report, or hidden state: not in what is installed.
UNSAFE = """strcpy strcat sprintf vsprintf gets atoi atol atoll atof strtok system rand srand random
    tmpnam mktemp alloca gethostbyname inet_ntoa asctime ctime localtime gmtime popen setjmp
    longjmp""".split()
# Of these not even in tests and benchmarks.
NO_BOUND = {"strcpy", "strcat", "sprintf", "vsprintf", "gets", "tmpnam", "mktemp"}
INSTALLED = ("src/", "tools/", "include/")
# src/os/os.h alone has these.
SYSTEM = """malloc calloc realloc free strdup strndup aligned_alloc posix_memalign open openat creat
    close read write readv writev pread pwrite fsync socket bind listen accept accept4 connect
    send sendto sendmsg recv recvfrom recvmsg setsockopt getsockopt getsockname getpeername shutdown
    epoll_create epoll_create1 epoll_ctl epoll_wait eventfd poll ppoll select mmap munmap
    memfd_create shm_open ftruncate stat fstat lstat mkdir rmdir unlink rename link symlink chmod
    fork vfork execv execve execvp kill waitpid pipe pipe2 dup dup2 fcntl ioctl getaddrinfo
    getifaddrs gethostname clock_gettime nanosleep usleep sleep sched_yield getpid getuid geteuid
    getenv secure_getenv setenv pthread_create pthread_atfork sysconf getrlimit setrlimit
    getrusage""".split()

CALL = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(sorted(set(UNSAFE) | set(SYSTEM))))
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
SPDX = "SPDX-License-Identifier: BSD-3-Clause"
CODE = (".c", ".h", ".py", ".sh", ".cmake", ".f90", ".F90", ".pyx", ".toml", ".cc", ".cpp", ".hpp")
# Nothing but prototypes and numbers, which users want in one place.
LISTS = {"include/waitio_mpi.h": 1300}
# Kept apart so that this file does not find itself.
MACHINE_PATHS = re.compile("|".join(("/wor" + "k/", "/roo" + "t/", "/tmp/" + "build")))


def tracked():
    """Files under version control or about to be."""
    out = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if out.returncode == 0:
        names = set(out.stdout.splitlines())
        return sorted(f for f in names if os.path.isfile(os.path.join(ROOT, f)))
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [d for d in folders if not d.startswith(".") and d != "build"]
        found += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files]
    return sorted(found)


def blank(match):
    """A comment or literal becomes blanks of the same shape, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group(0))


def strip_c(text, literals=True):
    """C text without comments (and without literals)."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    if literals:
        return re.sub(pattern, blank, text, flags=re.S)
    keep = re.compile(r"^[\"']")
    return re.sub(
        pattern, lambda m: m.group(0) if keep.match(m.group(0)) else blank(m), text, flags=re.S
    )


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_includes(path, layer, text):
    code = strip_c(text, literals=False)
    for match in INCLUDE.finditer(code):
        name = match.group(1)
        where = f"{path}:{line_of(code, match.start())}"
        head = name.split("/")[0]
        if "/" in name and head in BELOW and head != layer and head not in BELOW[layer]:
            yield f"{where}: layer {layer} must not include {name}, which is not below it"
        elif name == "waitio_transport.h" and layer in OUTSIDE:
            continue
        elif name.startswith("waitio") and name != "waitio_errors.h" and layer not in PUBLIC_HEADER:
            yield f"{where}: layer {layer} must not include the public header {name}"
        elif name.startswith("../"):
            yield f'{where}: include "{name}" as "layer/file.h"'


def check_calls(path, layer, text):
    code = strip_c(text)
    for match in CALL.finditer(code):
        name = match.group(1)
        start = code.rfind("\n", 0, match.start()) + 1
        before = code[start : match.start()]
        # Declarations (a slot or function of that name) are not calls: "int close(", "(*send)(".
        if re.search(r"\b(int|void|ssize_t|bool|size_t|char)\s*\**\s*$", before):
            continue
        where = f"{path}:{line_of(code, match.start())}"
        if name in UNSAFE:
            if layer or path.startswith(INSTALLED) or name in NO_BOUND:
                yield f"{where}: {name}() is not used in this project"
        elif layer and layer != "os" and layer not in BESIDE:
            yield f"{where}: {name}() outside src/os: go through os/os.h"


def check_file(path):
    with open(os.path.join(ROOT, path), errors="replace") as handle:
        text = handle.read()
    name = os.path.basename(path)
    is_code = path.endswith(CODE) or name in ("CMakeLists.txt", "Makefile")
    if is_code and SPDX not in text[:600]:
        yield f"{path}:1: no licence line ({SPDX})"
    limit = LISTS.get(path, 1000)
    if is_code and text.count("\n") > limit and "Generated by tools/gen" not in text[:300]:
        yield f"{path}: {text.count(chr(10))} lines; the limit is {limit}"
    for match in MACHINE_PATHS.finditer(text):
        where = f"{path}:{line_of(text, match.start())}"
        yield f"{where}: names a path of one machine: {match.group(0)}"
    if path.endswith((".c", ".h")):
        parts = path.split("/")
        layer = parts[1] if parts[0] == "src" and len(parts) > 2 and parts[1] in BELOW else ""
        if layer:
            yield from check_includes(path, layer, text)
        yield from check_calls(path, layer, text)


def main():
    findings = 0
    for path in tracked():
        if path.endswith((".png", ".svg", ".bin", ".gz")) or "/corpus/" in path:
            continue
        for finding in check_file(path):
            print(finding)
            findings += 1
    if findings:
        print(f"check_layers: {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
