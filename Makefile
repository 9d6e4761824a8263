# Every target sets up its own .venv; nothing has to be installed by hand.
PYTHON ?= python3
CONSTRAINTS ?= constraints.txt
VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
RUN := $(BIN)/python -m
PEERS := $(subst $(VENV),$(VENV)-peers,$(BIN))
PRE := $(subst $(VENV),$(VENV)-pre,$(RUN))
PEER_PACKAGES ?= pyagrum pgmpy dask-ml
# two test processes share two cores: one thread of linear algebra each
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# the tests start many a Python: what is compiled once serves them all
unexport PYTHONDONTWRITEBYTECODE
# stealing leaves the tests of a file, and what they share, to one process
PYTEST := $(RUN) pytest --numprocesses=2 --dist=worksteal
PIP := $(RUN) pip --quiet --disable-pip-version-check

.PHONY: help demo test coverage test-slow test-pre lint bench docs wheel clean

help:
	@echo "make demo       compare our methods with strong baselines on a bundled dataset"
	@echo "make test       the tests and doctests"
	@echo "make coverage   the same, with branch coverage of at least 90 %"
	@echo "make test-slow  the statistical and heavy tests"
	@echo "make test-pre   the tests with pre-releases of NumPy, SciPy, scikit-learn and Numba"
	@echo "make lint       style, types, import rules, docstrings, spelling"
	@echo "make bench      speed, side by side with the peers: a table in build/bench"
	@echo "make docs       the documentation, in docs/_build/html"
	@echo "make wheel      wheel and sdist in dist, the wheel tried alone in an empty environment"

$(VENV)/made: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "pip>=25.1"
	@touch $@

$(VENV)/core: $(VENV)/made
	$(PIP) install --constraint $(CONSTRAINTS) --editable .
	@touch $@

$(VENV)/test: $(VENV)/core
	$(PIP) install --constraint $(CONSTRAINTS) --editable ".[all]" --group test
	@touch $@

$(VENV)/lint: $(VENV)/test
	$(PIP) install --constraint $(CONSTRAINTS) --group lint
	@touch $@

$(VENV)/docs: $(VENV)/test
	$(PIP) install --constraint $(CONSTRAINTS) --group docs
	@touch $@

demo: $(VENV)/core
	$(BIN)/ensemblage compare --output demo.csv

test: $(VENV)/test
	$(PYTEST)

coverage: $(VENV)/test
	$(PYTEST) --cov --cov-report=term

test-slow: $(VENV)/test
	$(PYTEST) -m slow

# the newest versions that go together, pre-releases of the four below included
$(VENV)-pre/made: pyproject.toml
	$(PYTHON) -m venv $(VENV)-pre
	$(PRE) pip install --quiet "pip>=25.1"
	$(PRE) pip install --quiet --editable ".[all]" --group test
	$(PRE) pip install --quiet --upgrade --pre numpy scipy scikit-learn numba
	@touch $@

test-pre: $(VENV)-pre/made
	$(subst $(RUN),$(PRE),$(PYTEST))

lint: $(VENV)/lint
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/check_docstrings.py
	$(RUN) codespell_lib src tests docs benchmarks studies examples changes README.md CONTRIBUTING.md
	$(RUN) towncrier build --draft --version next > $(VENV)/changelog.txt

# packages to compare with have an environment of their own; those that cannot be had are skipped
$(VENV)-peers/made: $(VENV)/test
	$(PYTHON) -m venv $(VENV)-peers
	$(PEERS)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable ".[all]"
	for peer in $(PEER_PACKAGES); do $(PEERS)/python -m pip install --quiet $$peer || echo "$$peer: not installed"; done
	@touch $@

bench: $(VENV)/test
	-$(MAKE) $(VENV)-peers/made
	$(BIN)/python benchmarks/all_benchmarks.py --peers $(PEERS)/python $(BENCHMARKS)

docs: $(VENV)/docs
	rm -rf docs/generated docs/gallery  # pages of names that are gone
	$(RUN) sphinx --fail-on-warning --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py

wheel: $(VENV)/made
	rm -rf dist $(VENV)-wheel
	$(PIP) install build twine
	$(RUN) build --outdir dist .
	$(RUN) twine check --strict dist/*
	$(PYTHON) -m venv $(VENV)-wheel
	$(subst $(VENV),$(VENV)-wheel,$(PIP)) install --constraint $(CONSTRAINTS) dist/*.whl
	cd dist && ../$(subst $(VENV),$(VENV)-wheel,$(BIN))/python ../.ci/smoke.py

clean:
	rm -rf $(VENV) $(VENV)-wheel $(VENV)-peers $(VENV)-pre docs/_build docs/gallery docs/generated build dist demo.csv .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache
