# SPDX-License-Identifier: BSD-3-Clause
"""The runs of test programs: program x way x shape, under the promise that each shows (the words of
docs/design/promises.md, which says why other combinations show nothing new).

A new program that prints "ok" needs a row here and nothing else. What a test looks at besides
(counters, times, deaths) is in the files of tests/hybrid and tests/system.
"""

import typing

from surroundings import algorithms
from ways import LANG


class Run(typing.NamedTuple):
    """A row: a program in its blocks. All processes end with the status; those that end with 0 say
    "ok"."""

    way: str  # a method of Ways
    program: str  # its name, or one for each block, "a+b"
    shape: str  # "3o+2m+1": under Open MPI, under MPICH, without MPI
    note: str = ""  # of runs that differ in what follows only
    env: dict = {}
    words: tuple = ()
    flags: tuple = ()
    algorithm: int = 0  # each collective by its I-th algorithm; 0: the library's choice
    status: int = 0
    says: str = ""
    limit: int = 100

    @property
    def name(self):
        return "-".join(filter(None, (self.way, self.program, self.shape, self.note)))

    def under(self, sanitizer):
        """Can it run in the build for a sanitizer ("": in that without)? There all goes by
        messages. The thread sanitizer watches programs in C, with the library's own choice: another
        algorithm orders the same steps otherwise."""
        if not sanitizer or self.way != "messages":
            return not sanitizer
        in_c = all((LANG / f"{name}.c").exists() for name in self.program.split("+"))
        return "thread" not in sanitizer or (in_c and not self.algorithm)


def messages(program, *shapes, **more):
    return [Run("messages", program, shape, **more) for shape in shapes]


def each_algorithm(program, shape):
    """So often that every collective has had each of its algorithms."""
    most = max(len(values) for values in algorithms().values())
    return [Run("messages", program, shape, f"algorithm{i}", algorithm=i) for i in range(1, most)]


def hybrid(program, *shapes, **more):
    """The providers do the parts inside, also where messages would be quicker."""
    env = {"WAITIO_HYBRID_INSIDE": "mpi", **more.pop("env", {})}
    return [Run("hybrid", program, shape, env=env, **more) for shape in shapes]


def span(program, *shapes, **more):
    return [Run("span", program, shape, **more) for shape in shapes]


def in_turn(way, shapes, *programs):
    """Programs, of which each takes the next shape."""
    return [Run(way, p, shapes[i % len(shapes)]) for i, p in enumerate(programs)]


THREADS = "One process may use the library from many threads"
RETURN = {"WAITIO_ERRORS": "return"}
BLOCKING = {"WAITIO_HYBRID_BLOCKING": "1"}
SCRIPT = ["api_c", "api_upper", "api_fixed", "api_existing", "api_shipped", "api_modern"]
JOBS = ("2o+2m", "1o+3m")  # of span
CONTEXTS = ("3o+2o", "3m+2m")  # of the emulator

TABLE = {
    "Every collective gives the reference by every algorithm, for all sizes and shapes": [
        *messages("coll_all", "1", "5", "2+1+2", "6+1+6"),
        *each_algorithm("coll_all", "3+2"),
        *messages("coll_random", "1", "1+1", "3+1+2", "2+3"),
        # Long messages over several trees, by shared memory and by TCP.
        *messages("coll_long", "1+1", "3+2"),
        *messages("coll_long", "2+4", note="tcp", env={"WAITIO_COMM_TYPE": "socket"}),
        # The same calls again and again: what is kept of them gives the same results.
        *messages("coll_again", "1+1", "4+3"),
        *messages("coll_persistent", "2+2"),
        *messages("mismatch", "2+1", env=RETURN),
        *hybrid("coll_all", "3o+2m", "4o", "1o+2+2m+2o"),
        *hybrid("coll_random", "2m+2o+1", "3m"),
        *hybrid("coll_long", "3o+2m", "2m+2o+1"),
        *hybrid("coll_all", "3o+2m", note="return", env=RETURN),
        *hybrid("coll_random", "3o+2m", note="blocking", env=BLOCKING),
        # The order of calls on two communicators differs between members.
        *hybrid("mixed_order", "4o", "3o+2m"),
        # Communicators are made while a collective is under way.
        *hybrid("pending", "4o", "2m+2o+1"),
        # What a provider must not decide.
        *hybrid("order", "3o+2m", "2m+2o+1"),
        *hybrid("order", "3m", "3o+2m", note="blocking", env=BLOCKING, flags=("-DNO_STARTED",)),
        *span("coll_all", "2o+1m+2o"),
        *span("coll_again", "2o+1m+2o"),
        *in_turn("emulator", CONTEXTS, "coll_random", "coll_all"),
    ],
    "Messages match as MPI says: order, tags, wildcards, truncation": [
        *messages("spaces", "2+1"),
        *messages("requests", "1", "2+1"),
        *messages("details", "1", "2+1"),
        *messages("events", "1", "2+1"),
        *span("completions", "2o+2m"),
        *in_turn("emulator", CONTEXTS, "requests"),
    ],
    "Datatypes describe the bytes that MPI says": [
        # Types with holes: to oneself, over both transports, from memory to memory.
        *messages("typed", "1", "1+1", env=RETURN),
        *messages("typed", "1+1", note="tcp", env={**RETURN, "WAITIO_COMM_TYPE": "socket"}),
        *messages("typed", "1+1", note="fetched", env={**RETURN, "WAITIO_SHM_FETCH": "on"}),
        # tests/interop runs the same program between unlike machines.
        *messages("unlike", "2+1"),
        *messages("mpi_types", "1+1"),
        *messages("mpi_types_f", "1+1"),
        *messages("mpi_external", "1"),
        *in_turn("mpi", ("4m", "4o"), "mpi_types", "mpi_external"),
        *in_turn("emulator", CONTEXTS, "mpi_types", "mpi_types_f"),
        *span("mpi_types", "2o+2m"),
        # They lie where the program's MPI says; large counts are in MPICH 4 alone.
        *span("layouts", "1o+1m", "1m+1m", "1o+1o"),
        *span("large", "1m+2m"),
        *span("from_groups", "1m+2m"),
        *span("sessions", "1m+2m"),
    ],
    "Counts and displacements have 64 bits in the `_c` calls, which do what those with ints do": [
        *messages("mpi_large", "1", "2+1"),
        # Messages of more than 2^31 bytes.
        *messages("mpi_large", "1+1", note="long", env={"LONG_MESSAGES": "1"}),
        *messages("faces_large", "1", "2+1"),
        *in_turn("mpi", ("4m",), "mpi_large"),  # MPICH alone has them
        *span("mpi_large", "1m+2m"),
    ],
    THREADS: [
        *messages("threads", "2+1"),
        # Started collectives, alone and moved by others; one of them is to fail.
        *messages("threads_started", "1", "1+1", "2+2", env=RETURN),
        *in_turn("emulator", CONTEXTS[1:], "threads"),
        *span("threads", "2o+2m"),
        # communicators of the providers have handles, too
        *span("threads", "2m+2m", note="inside", env={"WAITIO_HYBRID_INSIDE": "mpi"}),
    ],
    "C, Fortran and Python have the same interface and the same numbers": [
        # A script (tests/lang/script.md) in several languages and styles: in one block, and every
        # pair of them at once.
        *messages("api_c", "1"),
        *(row for name in SCRIPT for row in messages(name, "2")),
        *messages("+".join(SCRIPT), "+".join("1" for _ in SCRIPT), note="every_pair"),
        # Every call in both modules.
        *messages("faces_modern", "1", "2+1"),
        *messages("faces_loose", "1", "2+1"),
        # Linked with the shared and with the static library, which find common blocks otherwise.
        *messages("mpi_style+mpi_style_static", "2+3"),
        *messages("mpi_style_static+mpi_style", "1+1"),
        *messages("mpi_mixed", "1+1"),
        *messages("mpi_groups", "1", "2+2"),
        *messages("mpi_grequest_f", "1+1"),
        *messages("mpi_statuses", "1+1"),
        # All types of Fortran: each where that is quick, in turns elsewhere.
        *messages("coll_types", "1", "2+1", env={"COLL_TYPES_EACH": "1"}),
        *messages("coll_types", "1+1+3", env={"COLL_TYPES_EACH": "3"}),
        *in_turn("emulator", ("2m+1m", "2o+1o"), "mpi_style", "mpi_groups", "mpi_mixed"),
    ],
    "MPI programs run when they are renamed, or unmodified": [
        *messages("plain_mpi", "3+2"),
        *messages("more_calls", "1", "3+1"),
        *messages("comms", "1", "3+2"),
        *messages("mpi_objects", "2+1"),
        *messages("mpi_topology", "1+1", "1+2", "1+4"),
        *messages("mpi_inter", "2+1", "2+3"),
        *messages("mpi_grequest", "1", "1+1"),
        *messages("mpi_profile", "1", "2+1"),
        *messages("mpi_handles", "1", "1+1"),
        # What is checked about the conversion library holds for an MPI.
        *in_turn("mpi", ("4m", "4o"), "mpi_objects", "mpi_topology"),
        *in_turn("mpi", ("4o", "4m"), "mpi_inter", "mpi_handles", "mpi_profile"),
        *in_turn("mpi", ("4o",), "mpi_grequest"),
        *in_turn("emulator", CONTEXTS, "comms", "mpi_inter"),
        *in_turn("span", JOBS, "mpi_inter", "mpi_topology"),
        *span("more_calls", "1o+3m"),
        *span("mpi_handles", "2o+1m+2o"),
        # An intercommunicator between blocks that use two MPIs, and WaitIO between them.
        *in_turn("beside", ("3o+2m",), "two_mpis"),
    ],
    "While a program waits in one library, the other one goes on": [
        *span("progress", "2o+2m"),
        # Over TCP a long message inside the job needs its sender's help.
        *span("progress", "2o+2m", note="tcp", env={"OMPI_MCA_btl": "self,tcp"}),
        # Collectives use the vendor's MPI, also on one host.
        *span("progress", "2o+2m", note="inside", env={"WAITIO_HYBRID_INSIDE": "mpi"}),
        *span(
            "progress",
            "2o+2m",
            note="threads",
            env={"WAITIO_HYBRID_INSIDE": "mpi", "MULTIPLE": "1"},
        ),
    ],
    "An error of a call is returned, or ends the program with the call's name": [
        *messages("errors_return", "2+1", env=RETURN),
        *messages("errors_abort", "1", status=1, says="waitio_mpi_send failed (-4)"),
        *messages("errors_fortran", "1", status=1, says="is not a communicator"),
        *span("errors", *JOBS),
        *span("many", "1o+3m", env={"WAITIO_HYBRID_INSIDE": "mpi"}),
    ],
}


def once_each(runs):
    """Each program once, between two blocks if it has such a row: a program without threads of its
    own shows the thread sanitizer those of the library, which are the same in every row."""
    chosen = {}
    for run in runs:
        known = chosen.get(run.program)
        if known is None or ("+" in run.shape and "+" not in known.shape):
            chosen[run.program] = run
    return list(chosen.values())


def rows(sanitizer=""):
    """[Run] that a build for a sanitizer runs."""
    found = []
    for promise, runs in TABLE.items():
        mine = [run for run in runs if run.under(sanitizer)]
        once = "thread" in sanitizer and promise != THREADS
        found += once_each(mine) if once else mine
    return found
