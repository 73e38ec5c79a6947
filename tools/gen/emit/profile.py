# SPDX-License-Identifier: BSD-3-Clause
"""PMPI's names in C: waitio_mpi_profile.h and the functions that it declares. The source is
waitio_mpi.h."""

import re

from emit.text import GENERATED, STAYS, wrapped

HEAD = f"""/* SPDX-License-Identifier: BSD-3-Clause */
/* {GENERATED} */
/**
 * @file waitio_mpi_profile.h
 * MPI's profiling interface (MPI 4.0, chapter 15): every call has a second name, WAITIO_PMPI_...
 * A program or a library that is loaded before libwaitio may define WAITIO_MPI_Send itself, to
 * count or to time, and call WAITIO_PMPI_Send from there. WaitIO's own calls among each other do
 * not come by there. Parameters, errors and threads: as in waitio_mpi.h, which includes this file.
 */
#ifndef WAITIO_MPI_PROFILE_H
#define WAITIO_MPI_PROFILE_H

#include "waitio_mpi.h"

#ifdef __cplusplus
extern "C" {{
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

"""

TAIL = """
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WAITIO_MPI_PROFILE_H */
"""

SOURCE_HEAD = f"""/* SPDX-License-Identifier: BSD-3-Clause */
/* {GENERATED} */
/* The second names of the conversion library's calls. The library is linked so that its calls of
 * its own functions never reach a program's (cmake/WaitioLibrary.cmake). */
#include "waitio_mpi.h"
"""


def functions(header):
    """(result, name without the prefix, parameters) of every function, in the header's order."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    pattern = r"^((?!typedef)\w+) WAITIO_MPI_(\w+)\(([^;{]*)\);"
    for result, name, rest in re.findall(pattern, text, re.M | re.S):
        yield result, name, [" ".join(word.split()) for word in rest.split(",")]


def argument_names(parameters):
    """What a call passes on. Nobody reads the rest of a variable list (MPI_Pcontrol)."""
    named = [p for p in parameters if p not in ("void", "...")]
    return [re.search(r"(\w+)(?:\[\d*\])*$", p)[1] for p in named]


def _prototype(result, name, parameters):
    texts = [p.replace(" ", STAYS) for p in parameters]
    return wrapped(f"{result} WAITIO_PMPI_{name}({', '.join(texts)})")


def _function(result, name, parameters):
    call = f"WAITIO_MPI_{name}({', '.join(argument_names(parameters))})"
    return f"\n{_prototype(result, name, parameters)}\n{{\n{wrapped(f'    return {call};')}\n}}\n"


def files(header):
    """{path: text} of everything here."""
    found = list(functions(header))
    return {
        "include/waitio_mpi_profile.h": HEAD
        + "".join(_prototype(*f) + ";\n" for f in found)
        + TAIL,
        "src/mpi/profile_gen.c": SOURCE_HEAD + "".join(_function(*f) for f in found),
    }
