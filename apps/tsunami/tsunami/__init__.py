# SPDX-License-Identifier: BSD-3-Clause
"""Tsunami early forecast by simulation, data assimilation and learning, in three programs that are
launched apart and exchange messages over WaitIO. See docs/guide/tsunami.md."""
