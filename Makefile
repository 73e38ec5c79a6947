# SPDX-License-Identifier: BSD-3-Clause
# Short commands; the build itself is CMake (presets in CMakePresets.json).
PREFIX ?= /usr/local
PRESET ?= release
BUILD := build/$(PRESET)
CMAKE ?= cmake
PART ?=
MINUTES ?= 10
SEED ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
KIND ?= kill
TRIALS ?= 500
TESTS ?=
DEMO ?=
STATUS ?=
ROUTE ?=

.DEFAULT_GOAL := all
.PHONY: all help setup demo demo-coupled demo-heat demo-staging test check-all classify-tests bench docs install lint format interop check-asan check-tsan fuzz-smoke soak campaign random coverage clean

all: ## build the library and programs into build/release
	@scripts/setup.sh build
	@scripts/build.sh $(PRESET) $(JOBS)

help: ## list these commands
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

setup: ## install everything the other commands need
	@scripts/setup.sh test docs lint

demo: ## tsunami forecast: simulation, gauges, assimilation, learning; three programs, a report; ROUTE=file: by files
	@scripts/demo.sh $(if $(ROUTE),--route '$(ROUTE)') $(DEMO)

demo-coupled: ## a climate in four coupled programs under two MPIs: atmosphere, ocean, learning, netCDF
	@scripts/demo_coupled.sh $(DEMO)

demo-staging: ## a flow solver stages its fields: pictures, statistics that come late, a reader that is killed
	@scripts/demo_staging.sh $(DEMO)

demo-heat: ## three small C programs under Open MPI, MPICH and a plain shell exchange fields
	@scripts/demo_heat.sh

test: ## build, run the short suite (11 minutes); TESTS='-k NAME' or '-R NAME': all tests of that name
	@scripts/setup.sh test
	@scripts/build.sh $(PRESET) $(JOBS)
	@.venv/bin/python scripts/run_tests.py --build $(BUILD) $(if $(TESTS),$(TESTS),--suite short)

check-all: ## every test that make test leaves out, in parts; PART=long|asan|tsan|fuzz|interop|K/N; STATUS=1
	@scripts/setup.sh test
	@STATUS='$(STATUS)' scripts/check_all.sh '$(PART)' $(JOBS)

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

fuzz-smoke: ## each fuzz target (or TARGETS) for SECONDS (default 10); needs clang
	@scripts/fuzz_smoke.sh $(or $(SECONDS),10) $(TARGETS)

soak: ## random traffic under random faults for MINUTES (default 10); SEED=n repeats one
	@scripts/setup.sh build
	@scripts/build.sh $(PRESET) $(JOBS) sys_traffic
	@python3 tests/faults/soak.py --build $(BUILD) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

campaign: ## TRIALS (default 500) faults of a KIND (kill, stop, system) over all states; SEED=n repeats them
	@scripts/setup.sh test
	@scripts/build.sh $(PRESET) $(JOBS) sys_actor sys_faulty
	@.venv/bin/python tests/faults/campaign.py $(KIND) --build $(BUILD) --trials $(TRIALS) $(if $(SEED),--seed $(SEED))

random: ## random legal MPI programs: SEEDS (default 1:1001) of a WAY (default: all); tests/random/many_seeds.py
	@scripts/setup.sh test
	@scripts/build.sh $(PRESET) $(JOBS)
	@.venv/bin/python tests/random/many_seeds.py --build $(BUILD) --seeds $(or $(SEEDS),1:1001) $(if $(WAY),--way $(WAY))

coverage: ## line coverage of the tests, into build/coverage
	@scripts/setup.sh test
	@scripts/build.sh coverage $(JOBS)
	@.venv/bin/python scripts/run_tests.py --build build/coverage --suite coverage || true
	@scripts/coverage.sh build/coverage

clean: ## remove build/
	rm -rf build
