# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of every test are in tests/support/jobs.py."""

import os

# The installed tree is looked at for files that do not belong there; its command is run before.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
