# On a machine with python3, pip and make: `make demo` or `make test`. Nothing else is needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Data sets that are not part of octavo; claims and tests that need one say so when it is absent.
export OCTAVO_DATA ?= $(firstword $(wildcard data ../shared/data))
# One BLAS thread a process: the suite runs one process a core.
# Compiled Python is kept: hundreds of modules are imported by every process of a demo or a test.
export PYTHONDONTWRITEBYTECODE :=
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
JOBS ?= auto
BENCH ?=
CHECK ?=

.PHONY: demo test test-all fuzz bench claims docs lint sync new clean clean-cache

# A stamp a set of extras: installed once, again when the requirements change.
$(VENV)/.stamp-%: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling editables setuptools wheel
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		--no-build-isolation --editable ".$(if $(filter-out core,$*),[$*],)"
	touch $@

# Of every paper, or of some: make demo PAPERS="libol fastclime"
demo: $(VENV)/.stamp-core
	$(BIN)/octavo reproduce --fetch $(PAPERS) --report octavo-report.html

test: $(VENV)/.stamp-test
	$(THREADS) $(BIN)/python -m pytest -n $(JOBS) -m "not slow"

# The scripted newcomer of tests/test_newcomer.py walks through the built pages.
test-all: $(VENV)/.stamp-test docs
	$(THREADS) $(BIN)/python -m pytest -n $(JOBS)

# Hostile input of every kind to everything public, and FUZZ rounds of two kinds at once: an hour.
FUZZ ?= 20
fuzz: $(VENV)/.stamp-test
	OCTAVO_FUZZ=$(FUZZ) $(THREADS) $(BIN)/python -m pytest -n $(JOBS) tests/conformance/test_hostile.py

# All benchmarks, or a room, a family or one: make bench BENCH="ranking svm/minimax". CHECK=1 records nothing and
# names the ratios that fell below the spread on record.
bench: $(VENV)/.stamp-bench
	$(BIN)/python -m benchmarks $(if $(CHECK),--check) $(BENCH)

# Full measurements of claims, kept for the documentation: make claims PAPERS="libol fastclime"
PAPERS ?=
claims: $(VENV)/.stamp-bench
	$(BIN)/python tools/claims.py --full $(PAPERS)

docs: $(VENV)/.stamp-docs
	$(THREADS) $(BIN)/python -m sphinx -j auto -W --keep-going -q -b html docs docs/_build/html
	@echo "documentation: $(CURDIR)/docs/_build/html/index.html"

lint: $(VENV)/.stamp-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/sync.py --check
	$(BIN)/python tools/claims.py --check

sync: $(VENV)/.stamp-core
	$(BIN)/python tools/sync.py

# The files of a new method: make new NAME=OnlineRanker ROOM=ranking FAMILY=ratings
new: $(VENV)/.stamp-core
	$(BIN)/python tools/new_method.py $(NAME) --room $(ROOM) --family $(FAMILY)

clean-cache:
	rm -rf "$$($(BIN)/python -c "from octavo.engine.compilation.kernel_cache import kernel_folder; print(kernel_folder())")"

clean: clean-cache
	rm -rf $(VENV) docs/_build docs/gallery docs/generated octavo-report.html
