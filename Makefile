# SPDX-License-Identifier: BSD-3-Clause
# Short commands; the build itself is CMake (presets in CMakePresets.json).
PREFIX ?= /usr/local
PRESET ?= release
BUILD := build/$(PRESET)
CMAKE ?= cmake
SUITE ?= all
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
TESTS ?=
DEMO ?=

.DEFAULT_GOAL := all
.PHONY: all help setup demo demo-heat test check-all classify-tests bench docs install lint format interop check-asan check-tsan fuzz-smoke coverage clean

all: ## build the library and programs into build/release
	@scripts/setup.sh build
	@scripts/build.sh $(PRESET) $(JOBS)

help: ## list these commands
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

setup: ## install everything the other commands need
	@scripts/setup.sh test docs lint

demo: ## tsunami forecast: simulation, gauges, assimilation and learning in three programs; a report
	@scripts/demo.sh $(DEMO)

demo-heat: ## three small C programs under Open MPI, MPICH and a plain shell exchange fields
	@scripts/demo_heat.sh

test: ## build, run the short suite (8 minutes); TESTS='-k NAME' or '-R NAME': all tests of that name
	@scripts/setup.sh test
	@scripts/build.sh $(PRESET) $(JOBS)
	@.venv/bin/python scripts/run_tests.py --build $(BUILD) $(if $(TESTS),$(TESTS),--suite short)

check-all: ## every test, the sanitizers, a short fuzz run; SUITE=long: without what make test has run
	@scripts/setup.sh test
	@scripts/build.sh release $(JOBS)
	@scripts/check_all.sh $(SUITE) $(JOBS)

classify-tests: ## choose the short suite anew, from the times of the last runs (tests/long.txt)
	@.venv/bin/python scripts/classify_tests.py

bench: ## measure against the raw floor and print the table
	@scripts/setup.sh build
	@scripts/build.sh $(PRESET) $(JOBS)
	@scripts/bench.sh $(BUILD)

docs: ## the site, into build/docs/html
	@scripts/setup.sh docs
	@scripts/docs.sh

install: ## install under PREFIX (default /usr/local)
	@scripts/setup.sh build
	@echo "building what is installed: the library, its programs and manual pages"
	@WAITIO_PROGRESS=1 scripts/build.sh $(PRESET) $(JOBS) installed
	@$(CMAKE) --install $(BUILD) --prefix "$(abspath $(PREFIX))" >/dev/null
	@echo "installed under $(abspath $(PREFIX))"

lint: ## formatting, size limits, layering, generated files
	@scripts/setup.sh lint
	@scripts/lint.sh

format: ## reformat the C sources
	@scripts/setup.sh lint
	@scripts/lint.sh --fix

interop: ## universes with emulated big-endian and ARM machines; cross builds
	@scripts/setup.sh test interop
	@scripts/build.sh $(PRESET) $(JOBS)
	@.venv/bin/python scripts/run_tests.py --build $(BUILD) --suite interop $(TESTS)

check-asan: ## C tests under the address and undefined-behaviour sanitizers
	@scripts/setup.sh test
	@scripts/build.sh asan $(JOBS)
	@.venv/bin/python scripts/run_tests.py --build build/asan --suite asan $(TESTS)

check-tsan: ## C tests under the thread sanitizer
	@scripts/setup.sh test
	@scripts/build.sh tsan $(JOBS)
	@.venv/bin/python scripts/run_tests.py --build build/tsan --suite tsan $(TESTS)

fuzz-smoke: ## each fuzz target for SECONDS (default 10); needs clang
	@scripts/fuzz_smoke.sh $(SECONDS)

coverage: ## line coverage of the tests, into build/coverage
	@scripts/setup.sh test
	@scripts/build.sh coverage $(JOBS)
	@.venv/bin/python scripts/run_tests.py --build build/coverage --suite coverage || true
	@scripts/coverage.sh build/coverage

clean: ## remove build/
	rm -rf build
