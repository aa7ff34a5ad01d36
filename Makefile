# Every target sets up what it needs by itself: only make and Python >= 3.11 are assumed.
#   make demo       the whole journey on built-in data     make lint     ruff, mypy --strict, import-linter
#   make test       the test suite                         make bench    the benchmarks, beside other LDP libraries
#   make test-fast  unit and contract, within a minute     make lock     write the hashed lock files anew
#   make format     let ruff tidy the code                 make package  what operators get, in dist/, tried out
#   make docs       the documentation site, in site/
#   make pages      write the generated pages of docs/ anew
#   make fuzz       a million hostile cases, given to both clients
#   make chaos      ten minutes in which a collector loses its disk, its files, its clock and its life
#   make lowest     a few tests with the lowest versions that pyproject.toml allows
# Another Python: make PYTHON=python3.12 test. Newer versions of everything: make UPGRADE=1 lock.

PYTHON ?= python3
VENV := .venv
DEMO := .venv-demo
BENCH := .venv-bench
LOCK := .venv-lock
LOWEST := .venv-lowest
PIP_INSTALL := python -m pip install -qq --disable-pip-version-check --no-input

.DELETE_ON_ERROR:
.PHONY: demo test test-fast fuzz chaos lowest lint format docs pages package bench lock clean
.DEFAULT_GOAL := test

# In an environment of its own: what a user installs, without what a developer needs.
demo: $(DEMO)/ready
	@$(DEMO)/bin/deniable demo

test: $(VENV)/ready
	@$(VENV)/bin/python -m pytest -q

test-fast: $(VENV)/ready
	@$(VENV)/bin/python -m pytest -q -p no:schemathesis -m "not slow" tests/unit tests/contract

# Other cases each time; CASES=20000 for fewer.
fuzz: $(VENV)/ready
	@$(VENV)/bin/python tests/clients/fuzzing.py $(if $(CASES),--cases $(CASES))

# Old versions warn of what newer ones mend, so that a warning is no error here.
lowest: $(LOWEST)/ready
	@$(LOWEST)/bin/python -m pytest -q -W default tests/lowest tests/vectors $(addprefix tests/unit/test_,engines.py report.py tree.py wire.py)

lint: $(VENV)/ready
	@$(VENV)/bin/ruff check --quiet
	@$(VENV)/bin/ruff format --check --quiet || { echo "These files are not tidy; 'make format' mends them:"; $(VENV)/bin/ruff format --check; exit 1; }
	@$(VENV)/bin/mypy --no-error-summary
	@$(VENV)/bin/lint-imports --no-logo

format: $(VENV)/ready
	@$(VENV)/bin/ruff check --fix --quiet
	@$(VENV)/bin/ruff format --quiet

# Material warns of a MkDocs 2 that the lock does not let in; any other warning is an error (not so with --quiet).
docs: $(VENV)/ready
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict
	@echo "The site is in site/: open site/index.html."

pages: $(VENV)/ready
	@for page in api_reference architecture_page cli_reference mechanisms_page; do $(VENV)/bin/python scripts/make_$$page.py || exit 1; done

# All that an operator needs, and a test that the image's steps work where nothing else is installed.
package: $(VENV)/ready
	@rm -rf dist
	@$(VENV)/bin/hatchling build
	@$(VENV)/bin/python scripts/make_release_files.py
	@$(VENV)/bin/python -m pytest -q -n0 tests/plain

chaos: $(VENV)/ready
	@$(VENV)/bin/python tests/server/chaos.py $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

bench: $(BENCH)/ready
	@$(BENCH)/bin/python -m benchmarks.run

# First the locked packages, into an empty environment, so that nothing of an older lock stays behind ...
define new_environment
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "deniable needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version 2>&1 | head -n 1); name another one, as in 'make PYTHON=python3.12 $(or $(firstword $(MAKECMDGOALS)),test)'." >&2; exit 1; }
@echo "Installing $< into $(@D) (about $(or $(WAIT),two minutes)) ..."
@$(PYTHON) -m venv --clear $(@D)
@$(@D)/bin/$(PIP_INSTALL) $(PIP_OPTIONS) --require-hashes --requirement $<
@touch $@
endef

$(VENV)/locked: requirements.lock
	$(new_environment)

# Python compiles what the demo imports when it does; to compile all of it first takes longer.
$(DEMO)/locked: WAIT := half a minute
$(DEMO)/locked: PIP_OPTIONS := --no-compile
$(DEMO)/locked: requirements-demo.lock
	$(new_environment)

$(BENCH)/locked: benchmarks/requirements.lock
	$(new_environment)

$(LOWEST)/locked: tests/lowest/requirements.lock
	$(new_environment)

# ... then the package itself, in place.
%/ready: %/locked pyproject.toml
	@$*/bin/$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

# The locks name no registry, so they install from whichever one pip is set up for. The lowest versions
# are those of Python 3.11: a lock for every Python would hold higher ones, which newer Pythons need.
COMPILE = $(LOCK)/bin/uv pip compile --quiet --no-config --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) pyproject.toml
EXTRAS := --extra demo --extra forms --extra server
SERVER_LOCK := src/deniable/server/deploy/requirements.lock
LOCKS := requirements.lock requirements-demo.lock $(SERVER_LOCK) benchmarks/requirements.lock tests/lowest/requirements.lock

lock:
	@test -x $(LOCK)/bin/uv || { $(PYTHON) -m venv $(LOCK) && $(LOCK)/bin/$(PIP_INSTALL) uv; }
	@$(COMPILE) --universal $(EXTRAS) --extra dev --extra docs --output-file requirements.lock
	@$(COMPILE) --universal --extra build --constraint requirements.lock --output-file requirements-demo.lock
	@$(COMPILE) --universal --extra server --constraint requirements.lock --output-file $(SERVER_LOCK)
	@$(COMPILE) --universal $(EXTRAS) --extra dev --extra docs --extra peers --constraint requirements.lock --output-file benchmarks/requirements.lock
	@$(COMPILE) --resolution lowest-direct $(EXTRAS) tests/lowest/requirements.in --output-file tests/lowest/requirements.lock
	@! grep -nE '://|index-url' $(LOCKS)

clean:
	@rm -rf $(VENV) $(DEMO) $(BENCH) $(LOCK) $(LOWEST) dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
