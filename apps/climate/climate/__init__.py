# SPDX-License-Identifier: BSD-3-Clause
"""The coupled demonstration: an atmosphere, an ocean, a block that learns and one that writes."""
