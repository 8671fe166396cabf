# Every target does its own set-up: it needs Python 3.11 or newer, pip and make, nothing else.
# make                     what there is
# make demo                an agent at work, offline
# make test                what a user runs, without servers
# PYTHON=/path/to/python   uses that interpreter for .venv

SHELL := /bin/bash
# Tests start many processes, and each would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
RUN_STAMP := $(VENV)/.run-stamp
DEV_STAMP := $(VENV)/.dev-stamp
WORKERS ?= auto
# Most tests that need servers, browsers or processes of their own wait for these.
CHECK_WORKERS ?= $(shell expr 2 \* $$(nproc))
PYTEST_ARGS ?=
MUTANTS_ARGS ?=
KILLS ?= 10000
STORE ?= sqlite
CASES ?= 50000
STEPS ?= 100000
MINUTES ?= 60
SEED ?= 1
REPLAY ?=
ONLY ?=
MATRIX_ARGS ?=
PACKAGES_ARGS ?=
RELEASE_ARGS ?=
BENCH_ARGS ?=
SCALE_ARGS ?=
SOAK_SECONDS ?= 600

PAGE := src/ostinato/server/page/index.html
PAGE_SOURCES := $(shell find page -path page/node_modules -prune -o -type f -print)

DEMO_AGENT := examples/travel_desk
DEMO_QUESTION := I want to fly from Berlin to Lisbon on Friday; find me a flight.
DEMO_ARGS ?=

LINTED := src tests bench examples docs conftest.py
SPELLED := src page/src bench examples docs $(wildcard *.md)

.DEFAULT_GOAL := help
.PHONY: help demo test check coverage page wheel matrix packages wire lint format types bench scale soak spec mutants fuzz \
  crash model jepsen docs docs-site release clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	  while IFS=$$'\t' read -r name text; do printf '  make %-9s %s\n' "$$name" "$$text"; done

demo: $(RUN_STAMP) ## Watch an agent call tools, hand over to another agent and answer (offline)
	@mkdir -p .ostinato
	$(BIN)/ostinato run $(DEMO_AGENT) "$(DEMO_QUESTION)" $(DEMO_ARGS)

test: $(DEV_STAMP) ## Run the tests that need no server (less than 2 minutes on two cores)
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not service and not long" $(PYTEST_ARGS)

check: $(DEV_STAMP) page ## Run every test, those that need services too; nothing may skip
	$(if $(wildcard $(GOLDEN)),$(check_golden))
	$(BIN)/python tests/wire/environments.py
	$(BIN)/python -m tests.fuzz.run --cases 5000 --seed $(SEED)
	OSTINATO_NO_SKIPS=1 $(BIN)/python -m pytest -q -n $(CHECK_WORKERS) $(PYTEST_ARGS)

coverage: $(DEV_STAMP) ## Measure the branch coverage of the core by the tests that need no server
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -q -n $(WORKERS) -m "not service" $(PYTEST_ARGS)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report --fail-under=95

page: $(PAGE) ## Build the page that `ostinato web` shows (needs Node 20 or newer)

wheel: $(DEV_STAMP) page ## Build the wheel into dist, and check that the page is in it
	$(BIN)/python -m tests.page.wheel dist

matrix: $(DEV_STAMP) ## Run the tests on every other Python of this machine, from 3.11 on
	$(BIN)/python -m tests.install.matrix -n $(WORKERS) $(MATRIX_ARGS)

packages: $(DEV_STAMP) page ## Install the wheel as users do, in clean environments, and run it
	$(BIN)/python -m tests.install.run $(PACKAGES_ARGS)

wire: $(DEV_STAMP) ## Run the wire tests of SDK versions that need an environment of their own
	$(BIN)/python tests/wire/environments.py $(WIRE_ARGS)

lint: $(DEV_STAMP) ## Check style (ruff check, ruff format) and spelling (codespell)
	$(BIN)/ruff check $(wildcard $(LINTED))
	$(BIN)/codespell $(wildcard $(SPELLED))
	$(BIN)/ruff format --check $(wildcard $(LINTED))

format: $(DEV_STAMP) ## Put the code into the project's format
	$(BIN)/ruff check --fix $(wildcard $(LINTED))
	$(BIN)/ruff format $(wildcard $(LINTED))

types: $(DEV_STAMP) ## Check types (pyright: strict on src, basic on tests)
	$(BIN)/pyright

bench: $(DEV_STAMP) ## Measure beside google-adk in 2 minutes (QUICK=1), beside all peers in 20
	$(BIN)/python bench/setup_peers.py $(if $(QUICK),adk,all)
	$(BIN)/python bench/bench.py run $(if $(QUICK),--quick) $(BENCH_ARGS)
	$(if $(QUICK),,$(BIN)/python bench/report.py)

scale: $(DEV_STAMP) ## Measure how our own cost grows (its workers need PostgreSQL installed)
	$(BIN)/python bench/scale.py $(SCALE_ARGS)
	$(BIN)/python bench/report.py

soak: $(DEV_STAMP) ## Store a million events in one process; it goes on where it stopped
	$(BIN)/python bench/scale.py soak --seconds $(SOAK_SECONDS) $(SCALE_ARGS)
	$(BIN)/python bench/report.py

spec: $(DEV_STAMP) ## Print which rows of the specification are covered by tests, and which are open
	$(BIN)/python -m tests.spec.report $(SPEC_ARGS)

mutants: $(DEV_STAMP) ## Change the core in small ways and list the changes that no test notices (long)
	@test -d .venvs/mutation/mutmut || $(PIP) install -q --target .venvs/mutation mutmut==3.8.1
	$(BIN)/python -m tests.mutation.run $(MUTANTS_ARGS)

fuzz: $(DEV_STAMP) ## Send the server 50,000 requests made from its OpenAPI document
	$(BIN)/python -m tests.fuzz.run --cases $(CASES) --seed $(SEED)

crash: $(DEV_STAMP) ## Kill 10,000 processes in the middle of their work and check what they leave
	$(BIN)/python -m tests.crash.run --store $(STORE) --kills $(KILLS) --seed $(SEED) \
	  $(if $(ONLY),--only '$(ONLY)') \
	  $(if $(REPLAY),--replay $(foreach trial,$(REPLAY),'$(trial)'))

model: $(DEV_STAMP) ## Take 100,000 steps with two owners of one session, simulated from a seed (STEPS, SEED, REPLAY)
	$(BIN)/python -m tests.model.run --steps $(STEPS) --seed $(SEED) $(if $(REPLAY),--replay '$(REPLAY)')

jepsen: $(DEV_STAMP) ## Check histories of concurrent clients under faults for an hour (STORE, MINUTES, SEED)
	$(BIN)/python -m tests.jepsen.run --store $(STORE) --minutes $(MINUTES) --seed $(SEED)

docs: $(DEV_STAMP) ## Check that the documents' links and code references exist
	$(BIN)/python docs/check.py

release: $(DEV_STAMP) page ## Build and check wheel and sdist on every Python; upload nothing
	$(BIN)/python -m tests.install.release dist $(RELEASE_ARGS)

docs-site: $(DEV_STAMP) ## Build the documentation site into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean: ## Remove the environments and caches (sessions under .ostinato stay)
	rm -rf $(VENV) .venvs .pytest_cache .ruff_cache .hypothesis

# The golden traces are what google-adk does: each release plays its own again and must not differ.
# Its public surface is recorded too, that of 2.3.0.
GOLDEN := tests/golden/record.py
SURFACE := tests/surface/record.py
define check_golden
$(BIN)/python bench/setup_peers.py adk23 adk
check() { "$$($(BIN)/python bench/setup_peers.py --python $$1)" $$2 --check; }; \
	  check adk23 $(GOLDEN) & first=$$!; check adk $(GOLDEN) & second=$$!; failed=0; \
	  check adk23 $(SURFACE) || failed=1; wait $$first || failed=1; wait $$second || failed=1; \
	  exit $$failed
endef

$(PAGE): $(PAGE_SOURCES)
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || \
	  { echo 'The page is built with Node 20 or newer: install it and npm.' >&2; exit 1; }
	cd page && npm ci --silent && npm run --silent build
	@touch $@

# -- set-up: made once, again when pyproject.toml or constraints.txt change ------------------------

$(RUN_STAMP): pyproject.toml constraints.txt
	$(make_venv)
	$(PIP) install -q -c constraints.txt -e .
	@touch $@

$(DEV_STAMP): pyproject.toml constraints.txt
	$(make_venv)
	$(PIP) install -q -c constraints.txt -e '.[dev]'
	@touch $(RUN_STAMP) $@

# Some systems ship Python without ensurepip; their own pip then fills the environment.
define make_venv
@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
  found=; \
  for python in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3 python; do \
    if "$$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
    then found=$$python; break; fi; \
  done; \
  if [ -z "$$found" ]; then \
    echo 'Ostinato needs Python 3.11 or newer, and none was found on PATH.' >&2; \
    echo 'Install one, or name it: make $(firstword $(MAKECMDGOALS)) PYTHON=/path/to/python3.11' >&2; \
    exit 1; \
  fi; \
  echo "Setting up $(VENV) with $$("$$found" -V) ..."; \
  if "$$found" -c 'import ensurepip' >/dev/null 2>&1; then "$$found" -m venv --clear $(VENV); \
  else "$$found" -m venv --clear --without-pip $(VENV) && \
    "$$found" -m pip --disable-pip-version-check --python $(BIN)/python install -q pip; fi; \
fi
endef
