#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Look whether the links of the documentation lead somewhere. Other sites are not tried.

check_links.py               Markdown pages: relative links, their anchors, {doc} roles, pictures
check_links.py --site DIR    the pages that Sphinx made: every link within the site, every anchor
"""

import argparse
import functools
import html.parser
import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[(?:[^][]|\[[^]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)\)")
ROLE = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`<>]+)>?`")
OUTSIDE = re.compile(r"^[a-z][a-z0-9+.-]*:")


def slug(heading):
    """The anchor of a heading, as GitHub and MyST make it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text.replace("`", "")).replace(" ", "-")


def without_code(text):
    """The same lines, those of fenced blocks empty and `code` left out."""
    lines, fence = [], None
    for line in text.splitlines():
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = None
        lines.append("" if fence or mark else line)
    return lines


@functools.cache
def anchors(path):
    found = {}
    for line in without_code(path.read_text(encoding="utf-8")):
        heading = re.match(r"#+\s+(.*?)\s*#*$", line)
        if heading:
            name = slug(heading[1])
            count = found.get(name, 0)
            found[name] = count + 1
            if count:
                found[f"{name}-{count}"] = 1
    return set(found)


def wrong_link(page, link):
    """What is wrong with a link of a Markdown page; empty = nothing."""
    if OUTSIDE.match(link):
        return ""
    name, _, anchor = link.partition("#")
    target = (page.parent / urllib.parse.unquote(name)).resolve() if name else page
    if not target.exists():
        return f"there is no {name}"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return f"{target.name} has no heading #{anchor}"
    return ""


def wrong_role(page, target):
    base = ROOT / "docs" if target.startswith("/") else page.parent
    path = (base / target.lstrip("/")).resolve()
    found = any(path.with_name(path.name + ending).exists() for ending in (".md", ".rst"))
    return "" if found else f"there is no page {target}"


def markdown_pages():
    words = ["git", "ls-files", "-co", "--exclude-standard", "--", "*.md"]
    names = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.splitlines() if (ROOT / name).exists()]


def check_markdown(pages):
    for page in pages:
        for number, line in enumerate(without_code(page.read_text(encoding="utf-8")), 1):
            plain = re.sub(r"(?<!\})`[^`]*`", "", line)
            problems = [wrong_link(page, link) for link in LINK.findall(plain)]
            problems += [wrong_role(page, target) for target in ROLE.findall(line)]
            for problem in filter(None, problems):
                yield f"{page.relative_to(ROOT)}:{number}: {problem}"


class Page(html.parser.HTMLParser):
    """Links and anchors of one page of the site."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def check_site(folder):
    pages = {p: Page(p.read_text(encoding="utf-8")) for p in folder.rglob("*.html")}
    if not pages:
        yield f"{folder} holds no pages"
    for path, page in pages.items():
        for link in page.links:
            if OUTSIDE.match(link) or link.startswith("//"):
                continue
            name, _, anchor = link.partition("#")
            name = urllib.parse.unquote(name.partition("?")[0])
            target = (path.parent / name).resolve() if name else path
            where = path.relative_to(folder)
            if not target.exists():
                yield f"{where}: {link} leads nowhere"
                continue
            if (
                anchor
                and target in pages
                and urllib.parse.unquote(anchor) not in pages[target].anchors
            ):
                yield f"{where}: {link}: the page has no such place"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=pathlib.Path, metavar="DIR")
    args = parser.parse_args()
    problems = list(
        check_site(args.site.resolve()) if args.site else check_markdown(markdown_pages())
    )
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
