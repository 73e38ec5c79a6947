#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The `waitio` command: finds the package relative to this file, so that the tree may be moved."""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib", "waitio", "python"))
if sys.version_info < (3, 9):
    sys.exit(
        "waitio: Python 3.9 or later is needed, this is %d.%d; load a newer one "
        "or start the blocks by hand with WAITIO_* variables" % sys.version_info[:2]
    )

from waitio.__main__ import main  # noqa: E402

sys.exit(main())
