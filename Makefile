# `make run` and `make test` work in a fresh clone: they make .venv and install what they need.
PYTHON ?= python3
VENV ?= .venv
# What is installed. VENV=.venv-extras EXTRAS=dev,ray,slurm,postgres,optuna also tests the engines of many machines,
# and studies, and leaves the environment of `make test` as it is.
EXTRAS ?= dev
INSTALLED := $(VENV)/installed-$(EXTRAS)
BIN := $(VENV)/bin

# Tests run in three processes at once, which keep two processors busy while some wait for a server or a child process.
PROCESSES ?= 3
PYTEST := SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(PROCESSES)

.PHONY: run check lint unit test fuzz coverage figures docs site clean

run: $(INSTALLED)
	$(BIN)/bakeoff $(ARGS)

# Before each commit, in less than a minute.
check: lint unit

lint: $(INSTALLED)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/actionlint

unit: $(INSTALLED)
	$(PYTEST) --dist worksteal -m "not slow and not external" --ignore=tests/integration $(ARGS)

# Everything that the environment and the machine have packages and servers for; each test that is skipped says what it
# needs. Properties are tried on the same examples each time.
test: $(INSTALLED)
	$(PYTEST) --dist loadscope --no-loadscope-reorder $(ARGS)

# Properties on random examples, other ones at each call and ten times as many.
fuzz: $(INSTALLED)
	$(PYTEST) --dist worksteal -m hypothesis --hypothesis-profile=random $(ARGS)

coverage: $(INSTALLED)
	$(PYTEST) --dist loadscope --no-loadscope-reorder --cov --cov-report=term:skip-covered --cov-report=html $(ARGS)

figures: $(INSTALLED)
	$(BIN)/python docs/figures.py

# The documentation, in site/: open site/index.html. It needs packages that nothing else needs.
docs:
	$(MAKE) --no-print-directory site EXTRAS=$(if $(findstring docs,$(EXTRAS)),$(EXTRAS),$(EXTRAS),docs)

site: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@

clean:
	rm -rf $(VENV) .venv-extras site build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* htmlcov
