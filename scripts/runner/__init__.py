# SPDX-License-Identifier: BSD-3-Clause
"""Parts of scripts/run_tests.py: runs of CTest and pytest, what they count, second tries."""
