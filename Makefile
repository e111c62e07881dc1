# A thin front end for the CMake presets: each target installs missing packages, builds, and runs.
# CMake alone works too: cmake --preset release && cmake --build --preset release.
PRESET ?= release
JOBS ?= $(shell nproc)
# One more than there are processors: tests of pages and of several processes wait for half of their time.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
BUILD := build/$(PRESET)
FACET := $(BUILD)/cli/facet
RUN ?= runs/demo
PORT ?= 8080

.DEFAULT_GOAL := help
.PHONY: help setup configure program python package demo explore test sanitize fuzz coverage soak bench bench-fit format check-format docs build-times clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup:  ## Install the Debian packages that are missing
	@scripts/setup $(PRESET)

configure: setup
	@mkdir -p $(BUILD)
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) > $(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }

program: configure  ## Build the program alone
	@cmake --build --preset $(PRESET) -j $(JOBS) --target facet_cli

python:  ## Build the Python module, in build/release/python
	@scripts/setup $(PRESET) python
	@$(MAKE) --no-print-directory configure
	@cmake --build --preset $(PRESET) -j $(JOBS) --target facet_python
	@echo "use it with: PYTHONPATH=$(CURDIR)/$(BUILD)/python python3"

package:  ## Write Debian packages to build/release
	@scripts/setup $(PRESET) python
	@$(MAKE) --no-print-directory configure
	@cmake --build --preset $(PRESET) -j $(JOBS) --target facet_cli --target facet_python
	@cd $(BUILD) && cpack && ls *.deb

demo: program  ## Train on the built-in portraits for a few minutes and write a report
	@if [ -e $(RUN)/eval.json ]; then mv $(RUN) $(RUN)-$$(date +%Y%m%d-%H%M%S); fi
	@if [ -e $(RUN)/state.safetensors ]; then $(FACET) train --out $(RUN) --resume; \
	  else $(FACET) train configs/demo.json --out $(RUN); fi
	@$(FACET) report $(RUN) --judge

explore: program  ## Serve the demo's model in the explorer; trains it first if needed
	@if [ ! -e $(RUN)/model.safetensors ]; then $(FACET) train configs/demo.json --out $(RUN); \
	  elif [ ! -e $(RUN)/eval.json ]; then $(FACET) train --out $(RUN) --resume; fi
	@$(FACET) serve $(RUN) --port $(PORT)

test:  ## Build everything and run the tests
	@scripts/setup $(PRESET) test
	@$(MAKE) --no-print-directory configure
	@for target in node web axe; do scripts/fetch-npm $$target || true; done
	@cmake --build --preset $(PRESET) -j $(JOBS)
	@ctest --preset $(PRESET) -j $(TEST_JOBS)
	@scripts/missing $(BUILD)

# What takes longer than a test may: all under sanitizers, and damaged input for as long as one likes.
SECONDS ?= 600
sanitize:  ## Run all tests under the address and undefined-behaviour sanitizers, then under the thread sanitizer
	@scripts/setup release test
	@for preset in asan tsan; do cmake --preset $$preset > /dev/null && cmake --build --preset $$preset -j $(JOBS) && \
	  ctest --preset $$preset -j $(JOBS) || exit 1; done

fuzz:  ## Try damaged input on every reader, SECONDS=600 each
	@scripts/setup release fuzz
	@cmake --preset fuzz > /dev/null && cmake --build --preset fuzz -j $(JOBS) --target facet_fuzz
	@scripts/fuzz build/fuzz/tests/facet_fuzz --seconds $(SECONDS) --jobs $(JOBS)

coverage:  ## Count the lines of the readers that the inputs of tests/fuzz reach
	@scripts/setup release
	@cmake --preset coverage > /dev/null && cmake --build --preset coverage -j $(JOBS) --target test_fuzz
	@scripts/coverage build/coverage

MINUTES ?= 30
soak: program  ## Serve a run to many clients while it is trained, for MINUTES=30, and look for anything that grows or fails
	@scripts/soak $(FACET) --minutes $(MINUTES)

bench: configure  ## Compare a training step with PyTorch and with the machine's limits; PRESET=cuda on a GPU
	@scripts/setup $(PRESET) bench
	@cmake --build --preset $(PRESET) -j $(JOBS) --target facet_cli --target bench_step --target bench_prior
	@if [ $(PRESET) = cuda ]; then bench/compare_gpu $(FACET); else bench/compare $(BUILD)/bench; fi
	@$(FACET) bench

bench-fit: configure  ## Compare `facet fit` with scikit-learn and Armadillo, and write the table of docs/fit.md
	@scripts/setup $(PRESET) bench
	@cmake --preset $(PRESET) >/dev/null && cmake --build --preset $(PRESET) -j $(JOBS) --target facet_cli
	@cmake --build --preset $(PRESET) --target bench_fit_armadillo || echo "*** NOTICE: no Armadillo: compared without it"
	@bench/compare_fit $(BUILD) && scripts/fit_table

format:  ## Format the sources
	@scripts/setup
	@git ls-files -co --exclude-standard '*.cpp' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

check-format:
	@git ls-files '*.cpp' '*.h' '*.cu' '*.cuh' | xargs clang-format --dry-run --Werror

docs: program  ## Regenerate docs/config.md and docs/refine-config.md from the option declarations
	@$(FACET) train --describe-options > docs/config.md
	@$(FACET) refine --describe-options > docs/refine-config.md

build-times: setup  ## Build everything from scratch and show where the time goes
	@scripts/setup $(PRESET) test
	@scripts/build-times --preset $(PRESET) --jobs $(JOBS)

clean:  ## Remove all build folders
	rm -rf build
