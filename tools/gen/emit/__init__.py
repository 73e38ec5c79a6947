# SPDX-License-Identifier: BSD-3-Clause
"""Writers of the generated files, one module per language."""
