# SPDX-License-Identifier: BSD-3-Clause
"""MPI's names in C: waitio_mpi_rename.h, and the functions behind those of its calls that have
requests, which are integers there. The source is waitio_mpi.h."""

import re

from emit.profile import argument_names, functions
from emit.text import GENERATED, STAYS, wrapped

# Not MPI's, or members of MPI's own structure.
NOT_RENAMED = {"", "H", "DEFTAG", "SOURCE", "TAG", "ERROR", "COMM_TYPE_PB"}
SECOND = "pmpi_"  # in the second name of a call, as profile.py has it
# What stands for a name that is not simply ours with MPI's in front.
OTHERS = {
    "INTEGER": "waitio_mpi_integer_type",
    "DOUBLE_PRECISION": "waitio_mpi_double_precision_type",
    "COMM_WORLD": "((WAITIO_MPI_Comm)&waitio_world_group_)",
    "COMM_SELF": "((WAITIO_MPI_Comm)&waitio_self_group_)",
    "GROUP_EMPTY": "((WAITIO_MPI_Group)&waitio_empty_group_)",
    "Request": "waitio_rename_request",
    "REQUEST_NULL": "((waitio_rename_request)0)",
    "Request_c2f": "waitio_rename_request_c2f",
    "Request_f2c": "waitio_rename_request_f2c",
}

HEAD = f"""/* SPDX-License-Identifier: BSD-3-Clause */
/* {GENERATED} */
/**
 * @file waitio_mpi_rename.h
 * MPI's names for the conversion library: a program that includes this instead of mpi.h is built
 * for WaitIO without a change to its calls. MPI_COMM_WORLD is then all processes of all blocks.
 *
 * Names that the conversion library does not have stay as they are, so that the compiler names
 * them. A request is an integer: it may be compared with MPI_REQUEST_NULL, which is 0.
 * MPI_REQUEST_NULL, MPI_COMM_WORLD, MPI_COMM_SELF and MPI_GROUP_EMPTY are constants: initial values
 * of static objects, too.
 *
 * Names that the program's macros paste together, such as MPI_Send and _init, mean the same. So
 * our names with requests, such as WAITIO_MPI_Send_init, take requests that are integers, too. A
 * file that uses both interfaces defines WAITIO_MPI_RENAME_APART before it includes this:
 * WAITIO_MPI_Request is that of waitio_mpi.h then, and such names must not be pasted.
 */
#ifndef WAITIO_MPI_RENAME_H
#define WAITIO_MPI_RENAME_H

#ifdef MPI_VERSION
#error "waitio_mpi_rename.h takes the place of mpi.h: include only one of them"
#endif

#include "waitio_mpi.h"

#ifdef __cplusplus
extern "C" {{
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/** MPI_COMM_WORLD, MPI_COMM_SELF and MPI_GROUP_EMPTY: the same as WAITIO_MPI_COMM_WORLD ... */
extern struct waitio_constant waitio_world_group_, waitio_self_group_, waitio_empty_group_;

/** A request: the number of one of the library's, or 0. The same number is its Fortran handle. */
typedef int waitio_rename_request;

/* The calls of waitio_mpi.h with such requests. */
"""

MIDDLE = """int waitio_rename_request_c2f(waitio_rename_request req);
waitio_rename_request waitio_rename_request_f2c(int handle);
int waitio_rename_pmpi_request_c2f(waitio_rename_request req);
waitio_rename_request waitio_rename_pmpi_request_f2c(int handle);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
} /* extern "C" */
#endif
"""

SOURCE_HEAD = f"""/* SPDX-License-Identifier: BSD-3-Clause */
/* {GENERATED} */
/* C's calls with requests for programs that are built by renaming: see renamed.h. */
#define WAITIO_MPI_RENAME_APART
#include "mpi/renamed.h"
#include "waitio_mpi_rename.h"

/* It gives out a request. */
#define STARTS(NAME, ARGUMENTS) \\
    waitio_req_t *r; \\
    int32_t number; \\
    int rc = wio_renamed_new("WAITIO_MPI_" #NAME, req, &number, &r); \\
    if (rc != 0) \\
        return rc; \\
    rc = WAITIO_MPI_##NAME ARGUMENTS; \\
    *req = wio_renamed_keep(number, r); \\
    return rc
/* It changes one. */
#define USES(NAME, ARGUMENTS) \\
    waitio_req_t none, *r = wio_renamed_find(req, &none); \\
    int rc = WAITIO_MPI_##NAME ARGUMENTS; \\
    wio_renamed_settle(req, r); \\
    return rc
/* It reads one. */
#define READS(NAME, ARGUMENTS) \\
    waitio_req_t r = wio_renamed_read(req); \\
    int rc = WAITIO_MPI_##NAME ARGUMENTS; \\
    wio_renamed_ended(req); \\
    return rc
/* It has an array of them. */
#define MANY(NAME, ARGUMENTS) \\
    struct wio_renamed_many m; \\
    int rc = wio_renamed_take("WAITIO_MPI_" #NAME, count, reqs, &m); \\
    if (rc != 0) \\
        return rc; \\
    rc = WAITIO_MPI_##NAME ARGUMENTS; \\
    wio_renamed_give(count, reqs, &m); \\
    return rc
"""


def _prototypes(header):
    """(name without the prefix, parameters) of every call with requests."""
    for _, name, parameters in functions(header):
        if any("WAITIO_MPI_Request " in p for p in parameters):
            yield name, parameters


def _prototype(name, parameters, second=""):
    texts = [p.replace("WAITIO_MPI_Request", "waitio_rename_request") for p in parameters]
    texts = [p.replace(" ", STAYS) for p in texts]
    return f"int waitio_rename_{second}{name.lower()}({', '.join(texts)})"


def _defined(head, line):
    return f"{wrapped(head)}\n{{\n{wrapped('    ' + line)}\n}}\n"


def _function(name, parameters):
    names = argument_names(parameters)
    call = f"return waitio_rename_{name.lower()}({', '.join(names)});"
    second = _defined(_prototype(name, parameters, SECOND), call)
    at = next(i for i, p in enumerate(parameters) if "WAITIO_MPI_Request " in p)
    if parameters[at].endswith("[]"):
        how, names[at] = "MANY", "m.r"
    elif "*" not in parameters[at]:
        how, names[at] = "READS", "r"
    else:
        how, names[at] = ("STARTS" if 0 < at == len(parameters) - 1 else "USES"), "r"
    first = _defined(_prototype(name, parameters), f"{how}({name}, ({', '.join(names)}));")
    return f"{first}\n{second}"


def source(header):
    """src/mpi/renamed_gen.c"""
    return SOURCE_HEAD + "".join("\n" + _function(*found) for found in _prototypes(header))


def _kind(name, header):
    if re.search(rf"(\btypedef [^;]*\b|}} )WAITIO_MPI_{name}(\([^;]*)?;", header):
        return "types"
    return "calls" if re.search(rf"^\w[\w ]*\bWAITIO_MPI_{name}\(", header, re.M) else "constants"


def _second(name):
    """The second name of a call."""
    prefix = "waitio_rename_"
    return (
        prefix + SECOND + name[len(prefix) :] if name.startswith(prefix) else f"WAITIO_PMPI_{name}"
    )


def _pasted(targets):
    """Macros for what comes out where the program pastes two parts of a name: the first one has
    been replaced before. {name of MPI: its target} -> {pasted: the whole name's target}"""
    found = {}
    for whole, target in targets.items():
        parts = [whole[:i] for i in range(1, len(whole)) if whole[:i] in targets]
        for part in parts:
            pasted = targets[part] + whole[len(part) :]
            if pasted != target and re.fullmatch(r"\w+", pasted):
                found[pasted] = target
    return found


def _apart(targets, own, header):
    """The lines that make pasted names, and the types and constants of requests, mean the same."""
    same = {f"WAITIO_{name}": targets[name] for name in own} | _pasted(targets)
    same |= {f"WAITIO_MPI_{name}": OTHERS[name] for name in ("Request", "REQUEST_NULL")}
    lines = []
    for name, target in sorted(same.items()):
        lines += [f"#undef {name}"] if f"#define {name} " in header else []
        lines.append(f"#define {name} {target}")
    return ["#ifndef WAITIO_MPI_RENAME_APART", *lines, "#endif"]


def rename_header(header):
    """include/waitio_mpi_rename.h"""
    plain = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    mine = {name: f"waitio_rename_{name.lower()}" for name, _ in _prototypes(header)} | OTHERS
    names = set(re.findall(r"\bWAITIO_MPI_(\w*)", plain)) - NOT_RENAMED
    parts = {"types": [], "constants": [], "calls": []}
    for name in sorted(names):
        line = f"#define MPI_{name} {mine.get(name, 'WAITIO_MPI_' + name)}"
        parts[_kind(name, plain)].append(line)
    handles = ["Request_c2f", "Request_f2c"]
    parts["calls"] += [f"#define MPI_{name} {mine[name]}" for name in handles]
    second = [name for _, name, _ in functions(header)] + handles
    parts["calls of the profiling interface"] = [
        f"#define PMPI_{name} {_second(mine.get(name, name))}" for name in second
    ]
    calls = list(_prototypes(header))
    beyond = re.findall(r"\bWAITIO_MPIX_\w+", plain)  # not MPI's: no second names
    parts["calls beyond the standard"] = [
        f"#define {name.removeprefix('WAITIO_')} {name}" for name in beyond
    ]
    declared = [_prototype(*c) for c in calls] + [_prototype(*c, SECOND) for c in calls]
    out = HEAD + "".join(f"{wrapped(text)};\n" for text in declared) + MIDDLE
    for part, lines in parts.items():
        out += f"\n/* {part} */\n" + "\n".join(sorted(lines)) + "\n"
    defined = re.findall(r"^#define (P?MPI_\w+) (.*)$", out, flags=re.M)
    own = [n for c, _ in calls for n in (f"MPI_{c}", f"PMPI_{c}")]
    out += "\n/* names that are pasted */\n" + "\n".join(_apart(dict(defined), own, header)) + "\n"
    return out + "\n#endif /* WAITIO_MPI_RENAME_H */\n"


def files(header):
    """{path: text} of everything here."""
    return {
        "include/waitio_mpi_rename.h": rename_header(header),
        "src/mpi/renamed_gen.c": source(header),
    }
