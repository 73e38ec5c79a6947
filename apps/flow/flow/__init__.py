# SPDX-License-Identifier: BSD-3-Clause
"""The staging demonstration: programs that read the stream of apps/flow/solver."""
