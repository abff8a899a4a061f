# `make run` and `make test` work in a fresh clone: they make .venv and install what they need.
PYTHON ?= python3
VENV := .venv
# What is installed: EXTRAS=dev,ray,slurm,postgres,optuna also tests the engines of many machines, and studies.
EXTRAS ?= dev
INSTALLED := $(VENV)/installed-$(EXTRAS)
BIN := $(VENV)/bin

.PHONY: run test lint figures clean

run: $(INSTALLED)
	$(BIN)/bakeoff $(ARGS)

test: $(INSTALLED)
	SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(ARGS)

lint: $(INSTALLED)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

figures: $(INSTALLED)
	$(BIN)/python docs/figures.py

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
