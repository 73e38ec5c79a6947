#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hold functions to 80 lines of code and a cyclomatic complexity of 15 (lizard does the counting).

scripts/size-allow.txt lists what is over the limits for a reason. It may only shrink: an entry that
is no longer needed, or that grew beyond what it states, is an error too.
Format: one per line, `path function lines complexity  # reason`.
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALLOW = os.path.join(ROOT, "scripts", "size-allow.txt")
MAX_LINES = 80
MAX_CCN = 15
SUFFIXES = (".c", ".h", ".hpp", ".py", ".cc", ".cpp", ".f90")
FOLDERS = ("src", "tools", "bench", "examples", "apps", "tests", "python", "scripts", "fortran")


def read_allowed():
    allowed = {}
    with open(ALLOW) as handle:
        for line in handle:
            fields = line.split("#")[0].split()
            if fields:
                allowed[(fields[0], fields[1])] = (int(fields[2]), int(fields[3]))
    return allowed


def measure():
    """Yield (path, function, lines, complexity) of every function."""
    import lizard

    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *FOLDERS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for path in sorted(set(files)):
        full = os.path.join(ROOT, path)
        if path.endswith(SUFFIXES) and os.path.isfile(full):
            for function in lizard.analyze_file(full).function_list:
                yield path, function.name, function.nloc, function.cyclomatic_complexity


def main():
    allowed = read_allowed()
    needed = set()
    findings = []
    sizes = []
    for path, name, lines, ccn in measure():
        if path.startswith("src/"):
            sizes.append(lines)
        if lines <= MAX_LINES and ccn <= MAX_CCN:
            continue
        limit = allowed.get((path, name))
        if limit and lines <= limit[0] and ccn <= limit[1]:
            needed.add((path, name))
        else:
            findings.append(
                f"{path}: {name}() has {lines} lines and complexity {ccn}; "
                f"limits are {MAX_LINES} and {MAX_CCN}: split it"
            )
    for path, name in sorted(set(allowed) - needed):
        findings.append(f"scripts/size-allow.txt: {path} {name} is not needed: remove the line")
    for finding in findings:
        print(finding)
    if sizes:
        sizes.sort()
        print(
            f"check_size: {len(sizes)} functions in src, median {sizes[len(sizes) // 2]}, "
            f"p90 {sizes[len(sizes) * 9 // 10]}, longest {sizes[-1]} lines"
        )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
