# SPDX-License-Identifier: BSD-3-Clause
"""`python -m waitio` is the `waitio` command."""

import sys

from waitio.cli import main

if __name__ == "__main__":
    sys.exit(main())
