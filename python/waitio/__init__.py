# SPDX-License-Identifier: BSD-3-Clause
"""WaitIO's Python package: the `waitio` command that starts and describes coupled runs."""

__version__ = "0.1.0"
