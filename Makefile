# Front door of the tree; every target installs what it lacks (tools/deps) and can be run on a clean clone.
PYTHON := /usr/bin/python3
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
HOSTILE_SECONDS ?= 600
SEEDS ?= 100000
SANITIZED ?= 10000
FIRST ?= 1

.DEFAULT_GOAL := help
.PHONY: help build run test promises bench lab fuzz hostile conformance rig sim walk format tidy lint clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

build: ## the release binary: build/ebbgate
	@tools/deps build
	@cmake --preset release >/dev/null
	@ninja -C build -j $(JOBS)

run: build ## three demo services behind the router, until Ctrl-C
	@$(PYTHON) demo/run.py

test: ## everything: unit, simulation, end to end, fuzz, tidy
	@tools/deps test
	@$(PYTHON) tools/test

promises: build ## holds the release binary to its times, on a machine that does nothing else (6 minutes)
	@tools/deps test
	@EBB_PROMISES=1 $(PYTHON) -m pytest tests/e2e -q -rs -p no:cacheprovider -n 4 --dist load -m "prompt and leisurely"
	@EBB_PROMISES=1 $(PYTHON) -m pytest tests/e2e -q -rs -p no:cacheprovider -m "prompt and not leisurely"

bench: build ## us beside HAProxy and nginx; BENCH="--quick" for a short run
	@tools/deps bench
	@$(PYTHON) bench/run.py $(BENCH)

lab: build ## endpoints leave and die under load, us beside HAProxy and nginx; LAB="--list" names the scenes
	@tools/deps lab
	@$(PYTHON) lab/run.py $(LAB)

fuzz: ## every fuzzer for FUZZ_SECONDS (60)
	@tools/deps build
	@cmake --preset fuzz >/dev/null
	@ninja -C build-fuzz -j $(JOBS) fuzzers
	@tools/fuzz $(FUZZ_SECONDS)

hostile: ## hostile peers for HOSTILE_SECONDS (600) on both reactors, with the address and then the thread sanitizer
	@tools/deps test
	@JOBS=$(JOBS) tools/hostile $(HOSTILE_SECONDS)

conformance: build ## h2spec against the release binary
	@tools/deps test
	@$(PYTHON) tests/conformance/run.py

rig: ## experimental: a shell in a Kubernetes cluster of its own, with kubectl and pods; its programs are built once
	@tools/deps test
	@$(PYTHON) tests/kubernetes/shell.py

sim: ## SEEDS (100000) simulated runs from FIRST (1) on, SANITIZED (10000) of them with sanitizers; a quarter of an hour
	@tools/deps build
	@cmake --preset sim >/dev/null
	@ninja -C build-sim -j $(JOBS) ebbsim
	@build-sim/ebbsim --seeds $(SEEDS) --start $(FIRST) --jobs $(JOBS)
	@cmake --preset asan >/dev/null
	@ninja -C build-asan -j $(JOBS) ebbsim
	@build-asan/ebbsim --seeds $(SANITIZED) --start $(FIRST) --jobs $(JOBS)

walk: ## how many functions and files one request passes; WALK="--list http1-http1" names them in order
	@tools/deps test
	@cmake --preset walk >/dev/null
	@ninja -C build-walk -j $(JOBS) ebbgate
	@$(PYTHON) tools/walk $(WALK)

format: ## clang-format over all C++
	@tools/deps build
	@git ls-files -co --exclude-standard '*.h' '*.cc' | xargs clang-format-19 -i

tidy: ## the rules of the tree: include direction, bans, links
	@tools/deps build
	@$(PYTHON) tools/tidy

lint: ## clang-tidy over all C++ (minutes)
	@tools/deps build
	@cmake --preset debug >/dev/null
	@run-clang-tidy-19 -quiet -j $(JOBS) -p build-debug '/(src|sim)/'

clean: ## remove everything that was built
	@rm -rf build build-* run
