# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Workers of the test run; every worker is single-threaded.
WORKERS ?= 2
# Percent of lines and branches. The fast tests reached 92, with the benchmark data at hand and without a GPU.
COVERAGE_FLOOR ?= 90

# One thread per worker; SciPy's array API switch lets scikit-learn run all of its estimator checks.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 SCIPY_ARRAY_API=1

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test quick lint coverage oldest newest core docs dist notes clean

demo: $(VENV)/.tables
	$(BIN)/driftfit demo

test: $(VENV)/.all
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --doctest-modules src tests

quick: $(VENV)/.all
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) -m "not slow" tests

lint: $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The share of lines and branches that the fast tests run, with a floor.
coverage: $(VENV)/.coverage
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) -m "not slow" --cov --cov-report=term --cov-fail-under=$(COVERAGE_FLOOR) tests

# The fast tests with the lowest and with the newest versions of the dependencies, each in an environment of its own.
oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/pip install --quiet -c constraints-oldest.txt -e '.[check]'
	$(TEST_ENV) $(VENV)-oldest/bin/python -m pytest -n $(WORKERS) -m "not slow" tests

newest:
	$(PYTHON) -m venv $(VENV)-newest
	$(VENV)-newest/bin/pip install --quiet --upgrade --upgrade-strategy eager -c constraints-newest.txt -e '.[test]'
	$(TEST_ENV) $(VENV)-newest/bin/python -m pytest -n $(WORKERS) -m "not slow" tests

# The site, warnings as errors: build/site/index.html. Tables, figures and names are compared with records and code.
docs: $(VENV)/.docs
	$(BIN)/python docs/tables.py --check
	$(BIN)/python docs/check_figures.py
	$(BIN)/python docs/check_pages.py
	$(TEST_ENV) MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going -b html -d build/doctrees docs build/site
	$(BIN)/python docs/check_links.py build/site
	@echo "build/site/index.html"

# The core without any extra, built and installed as a user gets it: its size, its speed, and that it works.
core:
	rm -rf $(VENV)-core
	$(PYTHON) -m venv $(VENV)-core
	$(VENV)-core/bin/pip install --quiet -c constraints.txt .
	$(VENV)-core/bin/python tests/core_alone.py

# Source distribution and wheel; the wheel alone in a clean environment must run the demonstration.
dist:
	rm -rf dist $(VENV)-dist
	$(PYTHON) -m venv $(VENV)-dist
	$(VENV)-dist/bin/pip install --quiet build
	$(VENV)-dist/bin/python -m build --outdir dist .
	rm -rf $(VENV)-dist
	$(PYTHON) -m venv $(VENV)-dist
	$(VENV)-dist/bin/pip install --quiet -c constraints.txt "$$(ls dist/*.whl)[tables]"
	cd $(VENV)-dist && bin/driftfit demo
	ls -l dist

# The notes of a release: what CHANGELOG.md says about the version of pyproject.toml.
notes:
	@awk '/^## /{shown = ($$2 == "'$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)'")} shown' CHANGELOG.md

clean:
	rm -rf $(VENV) $(VENV)-core $(VENV)-dist $(VENV)-oldest $(VENV)-newest docs/api docs/auto_examples docs/made docs/sg_execution_times.rst build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# One rule makes the environment; everything is pinned by constraints.txt.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.tables: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet -c constraints.txt -e '.[tables]'
	touch $@

$(VENV)/.all: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet -c constraints.txt -e '.[test]'
	touch $@ $(VENV)/.tables

$(VENV)/.coverage: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet -c constraints.txt -e '.[coverage]'
	touch $@ $(VENV)/.all $(VENV)/.tables

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet -c constraints.txt -e '.[docs]'
	touch $@
