# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx settings: Markdown pages, and the reference from Doxygen's view of the headers."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
_version = re.search(
    r'WAITIO_VERSION_STRING "([^"]+)"', (ROOT / "include" / "waitio.h").read_text()
)

project = "WaitIO"
author = "the WaitIO authors"
project_copyright = "2026, the WaitIO authors"
release = version = _version.group(1)

sys.path.append(str(ROOT / "docs" / "_ext"))
extensions = ["myst_parser", "breathe", "api_pages"]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# Design pages link to files of the checkout, which are no pages of the site.
suppress_warnings = ["toc.empty_glob", "myst.xref_missing"]
breathe_projects = {"waitio": str(ROOT / "build" / "docs" / "doxygen" / "xml")}
breathe_default_project = "waitio"
breathe_domain_by_extension = {"h": "c"}
primary_domain = "c"
highlight_language = "none"  # fences say what they are

html_theme = "alabaster"
html_theme_options = {
    "description": "Messages between separately launched parallel programs",
    "fixed_sidebar": True,
    "page_width": "1100px",
}
html_show_sourcelink = False
exclude_patterns = ["_build", "_ext"]
