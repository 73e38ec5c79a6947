# SPDX-License-Identifier: BSD-3-Clause
"""Where the engine for ADIOS2 is, and the variable by which ADIOS2 finds it."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping

from waitio.hybridplace import prefixes

LIBRARY = "libwaitio_adios2.so"
VARIABLE = "ADIOS2_PLUGIN_PATH"


def folder() -> str:
    """Return the folder of the engine that belongs to this command, "" when there is none."""
    for prefix in prefixes():
        for pattern in ("lib*", "lib*/*"):
            for path in sorted(glob.glob(os.path.join(glob.escape(prefix), pattern, LIBRARY))):
                return os.path.dirname(path)
    return ""


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what `waitio run` adds to the environment of the blocks: nothing if that is set."""
    found = "" if VARIABLE in environ else folder()
    return {VARIABLE: found} if found else {}
