#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Python package against a build into a folder of its own, if what is there is older,
# and prints the folder for PYTHONPATH: scripts/python_site.sh BUILD FOLDER [PYTHON]
# Uses no network: the interpreter needs Cython and scikit-build-core.
set -eu
cd "$(dirname "$0")/.."
build=$1 folder=$2 python=${3:-.venv/bin/python}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
exec 9>"$folder/lock"
flock 9 2>/dev/null || true # two tests may ask at once
# Files only: to build an sdist, or to run the package, changes the times of its folders.
if [ ! -e "$folder/stamp" ] || [ -n "$(find python include "$build/lib" "$build/bin" ! -type d -newer "$folder/stamp" \
    ! -name '*.pyc' ! -path 'python/library/*' | head -n 1)" ]; then
    rm -rf "$folder/site" "$folder/prefix"
    log=$folder/install.log
    if ! {
        cmake --install "$build" --prefix "$folder/prefix" &&
            "$python" -m pip install --disable-pip-version-check --no-input --no-deps \
                --no-build-isolation --target "$folder/site" \
                --config-settings "cmake.define.WAITIO_INSTALLED=$folder/prefix" \
                --config-settings "build-dir=$folder/work" ./python
    } </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "python_site: could not install the Python package; the whole log is $log" >&2
        exit 1
    fi
    touch "$folder/stamp"
fi
echo "$folder/site"
