# `make run` and `make test` work in a fresh clone: they make .venv and install what they need.
PYTHON ?= python3
VENV := .venv
# What is installed: EXTRAS=dev,stats,ray,slurm,postgres,optuna also tests the engines of many machines, and studies.
EXTRAS ?= dev,stats
INSTALLED := $(VENV)/installed-$(EXTRAS)
BIN := $(VENV)/bin

# Tests run in three processes at once, which keep two processors busy while some wait for a server or a child process.
PROCESSES ?= 3
PYTEST := SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(PROCESSES)

.PHONY: run check lint unit test coverage figures docs site clean

run: $(INSTALLED)
	$(BIN)/bakeoff $(ARGS)

# Before each commit, in less than a minute.
check: lint unit

lint: $(INSTALLED)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

unit: $(INSTALLED)
	$(PYTEST) --dist worksteal -m "not slow and not external" --ignore=tests/integration $(ARGS)

# Everything, with what the machine has: servers, databases, clusters, a browser.
test: $(INSTALLED)
	$(PYTEST) --dist loadscope --no-loadscope-reorder $(ARGS)

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
	rm -rf $(VENV) site build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* htmlcov
