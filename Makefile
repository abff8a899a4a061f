# `make run` and `make test` work in a fresh clone: they make .venv and install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test lint figures clean

run: $(VENV)/installed
	$(BIN)/bakeoff $(ARGS)

test: $(VENV)/installed
	SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/installed
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

figures: $(VENV)/installed
	$(BIN)/python docs/figures.py

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
